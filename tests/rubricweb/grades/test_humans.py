"""What people say of cells: events in turn, and the matrices that they make."""

from uuid import uuid4

import numpy as np
import pytest
from django.db import IntegrityError

from grading.types import MISSING
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.human_matrices import RatingSource, corrected, human_matrices, ratings_by
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import (
    Cell,
    RatedMeanwhile,
    ShownRating,
    UnfitRating,
    _saved_once,
    latest,
    latest_by,
    rate_cell,
    record_verdict,
    undo,
)
from tests.factories import gradable, grade, lexical_config

pytestmark = pytest.mark.django_db
How, Verdict = HumanGrade.How, HumanGrade.Verdict


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=1, passages=3, items=2)


@pytest.fixture
def topic(bank):
    return bank.items.first().topic


@pytest.fixture
def cells(bank, topic):
    """By (row, column)."""
    passages = [pooled.passage for pooled in topic.pool.order_by("position")]
    return {
        (row, column): Cell.of(item, passage)
        for row, passage in enumerate(passages)
        for column, item in enumerate(bank.items.all())
    }


@pytest.fixture
def shown(bank, topic):
    """The lexical baseline said 4 of every cell."""
    config = lexical_config()
    for item in bank.items.all():
        for pooled in topic.pool.all():
            grade(config, item, pooled.passage, 4)
    return ShownRating(config, 4)


def _ratings(bank, grades):
    uids = tuple(item.revision.uid for item in bank.items.all())
    return next(iter(grades.values())).matrix.columns(uids).ratings.tolist()


def test_a_change_of_mind_is_a_second_event(cells, assessor):
    cell = cells[0, 0]
    rate_cell(cell, rating=2, by=assessor, seen=0)
    rate_cell(cell, rating=3, by=assessor, seen=1)
    assert list(HumanGrade.objects.values_list("number", "rating")) == [(1, 2), (2, 3)]
    assert [event.rating for event in latest(cell)] == [3]


def test_of_two_windows_the_second_sees_what_the_first_said(cells, assessor):
    cell = cells[0, 0]
    rate_cell(cell, rating=2, by=assessor, seen=0)
    with pytest.raises(RatedMeanwhile) as refused:
        rate_cell(cell, rating=5, by=assessor, seen=0)
    assert refused.value.now.rating == 2
    assert HumanGrade.objects.count() == 1


def test_only_a_second_saying_is_said_meanwhile(cells, assessor):
    cell = cells[0, 0]
    event = rate_cell(cell, rating=2, by=assessor, seen=0)
    with pytest.raises(RatedMeanwhile), _saved_once(cell, by=assessor, seen=0):
        copied(event, rating=3)
    off_the_scale = pytest.raises(IntegrityError, match="human_rating_within_scale")
    with off_the_scale, _saved_once(cell, by=assessor, seen=1):
        copied(event, number=2, rating=9)


def copied(event: HumanGrade, **other: object) -> None:
    names = ("topic_id", "revision_id", "passage_id", "by_id", "number", "how")
    HumanGrade.objects.create(**{name: getattr(event, name) for name in names} | other)


def test_what_is_sent_twice_is_saved_once(cells, assessor):
    uid = uuid4()
    first = rate_cell(cells[0, 0], rating=2, by=assessor, seen=0, uid=uid)
    assert rate_cell(cells[0, 0], rating=2, by=assessor, seen=0, uid=uid) == first
    assert HumanGrade.objects.count() == 1


def test_undo_goes_back_to_what_was_said_before(cells, assessor):
    cell = cells[0, 0]
    rate_cell(cell, rating=2, by=assessor, seen=0)
    rate_cell(cell, rating=3, by=assessor, seen=1)
    undo(cell, by=assessor, seen=2)
    assert latest_by(assessor, cell).rating == 2
    assert latest_by(assessor, cell).number == 3


def test_undo_of_the_first_word_takes_it_back(cells, assessor):
    cell = cells[0, 0]
    with pytest.raises(UnfitRating, match="Nothing to undo"):
        undo(cell, by=assessor, seen=0)
    rate_cell(cell, rating=2, by=assessor, seen=0)
    undo(cell, by=assessor, seen=1)
    assert latest_by(assessor, cell).is_withdrawn
    assert latest(cell) == []


@pytest.mark.parametrize("rating", [-1, 6])
def test_a_rating_off_the_scale_is_refused(cells, assessor, rating):
    with pytest.raises(UnfitRating, match="between 0 and 5"):
        rate_cell(cells[0, 0], rating=rating, by=assessor, seen=0)


def test_right_makes_the_rating_ones_own(cells, assessor, shown):
    event = record_verdict(cells[0, 0], verdict=Verdict.RIGHT, by=assessor, seen=0, displayed=shown)
    assert (event.rating, event.seen_rating, event.verdict) == (4, 4, "right")
    nothing = ShownRating(shown.config, None)
    with pytest.raises(UnfitRating):
        record_verdict(cells[1, 0], verdict=Verdict.RIGHT, by=assessor, seen=0, displayed=nothing)


def test_people_together_give_the_lower_median_and_an_adjudication_wins(
    bank, collection, cells, assessor, developer, owner
):
    pool = collection_pool(collection)
    for person, rating in ((assessor, 1), (developer, 4)):
        rate_cell(cells[0, 0], rating=rating, by=person, seen=0)
        rate_cell(cells[1, 1], rating=rating, by=person, seen=0)
    rate_cell(cells[1, 1], rating=5, by=owner, seen=0, how=How.ADJUDICATED)
    rate_cell(cells[1, 1], rating=3, by=assessor, seen=1)
    assert _ratings(bank, human_matrices(pool)) == [[1, MISSING], [MISSING, 5], [MISSING, MISSING]]


def test_a_grader_is_corrected_by_people(bank, collection, cells, assessor, developer, shown):
    pool = collection_pool(collection)
    rate_cell(cells[0, 0], rating=1, by=assessor, seen=0)
    record_verdict(cells[1, 0], verdict=Verdict.WRONG, by=assessor, seen=0, displayed=shown)
    record_verdict(cells[2, 0], verdict=Verdict.WRONG, rating=0, by=assessor, seen=0, displayed=shown)
    record_verdict(cells[2, 1], verdict=Verdict.RIGHT, by=developer, seen=0, displayed=shown)

    by_topic = corrected(shown.config, pool)
    assert _ratings(bank, by_topic) == [[1, 4], [MISSING, 4], [0, 4]]
    uids = tuple(item.revision.uid for item in bank.items.all())
    (topic_grades,) = by_topic.values()
    assert topic_grades.checked_in((*uids, "t9/other")).tolist() == [
        [True, False, False],
        [True, False, False],
        [True, True, False],
    ]


def test_a_verdict_of_an_older_rating_does_not_touch_a_newer_one(bank, collection, cells, assessor, shown):
    older = ShownRating(shown.config, 2)
    record_verdict(cells[0, 0], verdict=Verdict.WRONG, by=assessor, seen=0, displayed=older)
    assert _ratings(bank, corrected(shown.config, collection_pool(collection)))[0] == [4, 4]


def test_matrices_move_with_what_is_said_and_are_kept_otherwise(
    collection, cells, assessor, shown, django_assert_num_queries
):
    pool = collection_pool(collection)
    before = corrected(shown.config, pool)
    with django_assert_num_queries(2):  # the two stamps
        assert corrected(shown.config, pool) == before
    rate_cell(cells[0, 0], rating=1, by=assessor, seen=0)
    (was,), (now,) = before.values(), corrected(shown.config, pool).values()
    assert not np.array_equal(was.matrix.ratings, now.matrix.ratings)


def test_ratings_by_each_source(bank, collection, cells, assessor, shown):
    pool = collection_pool(collection)
    rate_cell(cells[0, 0], rating=1, by=assessor, seen=0)
    first = {source: _ratings(bank, ratings_by(source, shown.config, pool))[0] for source in RatingSource}
    assert first == {"grader": [4, 4], "humans": [1, MISSING], "corrected": [1, 4]}
