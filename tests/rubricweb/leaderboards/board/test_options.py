"""The options of a board by hand: definitions, policies, weights, subtopics, versions, whose ratings."""

from dataclasses import replace

import numpy as np
import pytest

from grading.statistics.max_t import MIN_TOPICS, PairedTest
from grading.statistics.mean_intervals import mean_intervals
from grading.types import Importance, ItemKind, item_id
from rubricweb.banks import actions
from rubricweb.banks.models import ItemRevision
from rubricweb.banks.versions import name_version
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, MissingTopic, Top, provenance, selectors
from rubricweb.leaderboards.board.certainty import certainty, top
from rubricweb.leaderboards.board.sentences import headline, resolution
from tests import factories
from tests.worked import RANKED

QUESTIONS = frozenset({ItemKind.QUESTION})


@pytest.fixture
def spec(made):
    return BoardSpec(made.collection, made.config, made.bank, QUESTIONS, MeasureSpec())


def scores(spec):
    return {row.run_tag: row.score for row in selectors.board(spec).rows}


def test_a_lacking_topic_may_be_left_out(spec):
    """`lacks` has only t1, of which it covers one of two."""
    board = selectors.board(replace(spec, missing=MissingTopic.SKIP))
    row = next(row for row in board.rows if row.run_tag == "lacks")

    assert (row.score, row.n_topics, row.n_answered, row.stderr) == (0.5, 1, 1, None)
    assert (row.low, row.high) == (None, None), "one topic has no interval"
    assert "is left out of its mean" in provenance.denominator(board)


def test_normalised_cover_leaves_0_by_0_out_and_says_so(made, spec):
    """From grade 5 on the pool of t1 reaches one of its two items, that of t2 none."""
    board = selectors.board(replace(spec, measure=MeasureSpec("normalised_cover", min_grade=5)))

    assert {row.run_tag: row.score for row in board.rows} == {"both": 1, "first": 1, "lacks": 0, "stray": 0}
    assert (board.n_topics, board.n_undefined, board.n_left_out) == (1, 1, 2)
    assert "1 where it is 0 / 0 are left out" in provenance.denominator(board)


def test_weights_are_the_bank_s(made, spec):
    """t1: the first item weighs 1, the second is to be avoided."""
    item = made.items["t1"][1]
    actions.weigh_item(item, importance=Importance.AVOID, seen=item.version, by=None)
    weighted = replace(spec, measure=MeasureSpec("weighted_cover"))

    assert scores(weighted) == {"both": 0.5, "first": 0.5, "lacks": -0.5, "stray": 0.5}
    assert scores(spec)["both"] == 1, "plain cover counts every item alike"


def test_nugget_scores_take_half_the_grade_as_partial_support(spec):
    """d3 has 3 of 5 for the first item of t1, and e1 has 2 for that of t2: partial from grade 2 on."""
    found = scores(replace(spec, measure=MeasureSpec("nuggets_all")))
    strict = scores(replace(spec, measure=MeasureSpec("nuggets_strict_all")))

    assert found == pytest.approx({"both": 1, "stray": 0.625, "first": 0.5, "lacks": 0.25})
    assert strict == pytest.approx(scores(spec))


def test_alpha_ndcg_of_the_board(spec):
    """Every item is covered once, so that order alone matters: `both` is ideal, `first` half of t1."""
    found = scores(replace(spec, measure=MeasureSpec("alpha_ndcg")))
    gain = 1 / (1 + 1 / 1.584962500721156)
    assert found == pytest.approx({"both": 1, "stray": 0.5, "first": gain / 2, "lacks": gain / 2})


def test_the_workbench_definition(made, spec):
    """Its denominator is the items rated on any passage, of any bank; a lacking topic is skipped."""
    other = factories.BankFactory(collection=made.collection, name="other")
    extra = factories.ItemFactory(bank=other, topic=made.topics["t1"], text="Extra?")
    factories.grade(made.config, extra, made.passages["d3"], 1)
    found = scores(replace(spec, measure=MeasureSpec(definition=Definition.WORKBENCH)))

    assert found == pytest.approx({"both": (2 / 3 + 1) / 2, "first": 1 / 6, "lacks": 1 / 3, "stray": 0.5})


def test_the_workbench_takes_one_passage_more_of_ranks_from_0(spec):
    at_one = MeasureSpec(cutoff=1, definition=Definition.WORKBENCH)
    from_0 = MeasureSpec(cutoff=1, definition=Definition.WORKBENCH_0)

    assert scores(replace(spec, measure=at_one))["both"] == 0.75
    assert scores(replace(spec, measure=from_0))["both"] == 1


def in_subtopics(made):
    """t1 with two items of subtopic a (the worked ones) and one of b, which d1 covers."""
    for item in made.items["t1"]:
        item.facet_id = "a"
        item.save()
    topic, text = made.topics["t1"], "When is peak colour?"
    wording = ItemRevision.objects.create(topic=topic, uid=item_id(topic.query_id, text), text=text)
    item = factories.ItemFactory(bank=made.bank, topic=topic, facet_id="b", revision=wording)
    factories.grade(made.config, item, made.passages["d1"], 5)


def test_topics_are_means_over_subtopics(made, spec):
    """`lacks`: half of a, nothing of b, nothing of t2. As one topic it would be a third."""
    in_subtopics(made)

    assert scores(spec)["lacks"] == pytest.approx((1 / 3) / 2)
    macro = scores(replace(spec, by_subtopic=True))
    assert macro == pytest.approx({"both": 1, "first": 0.75 / 2, "lacks": 0.25 / 2, "stray": 0.5})


def test_the_board_of_a_topic_averages_its_subtopics(made, spec):
    in_subtopics(made)
    board = selectors.board(replace(spec, by_subtopic=True, topic="t1"))
    found = {row.run_tag: (row.score, row.n_topics) for row in board.rows}

    assert found == {"both": (1, 2), "first": (0.75, 2), "lacks": (0.25, 2), "stray": (0, 2)}
    assert "mean over all 2 subtopics" in provenance.denominator(board)


def test_the_board_of_a_subtopic_has_no_interval(made, spec):
    in_subtopics(made)
    board = selectors.board(replace(spec, topic="t1", facet="b"))

    assert {row.run_tag: row.score for row in board.rows} == {"both": 1, "first": 1, "lacks": 0, "stray": 0}
    assert {(row.interval, row.stderr, row.low) for row in board.rows} == {("\N{EN DASH}", None, None)}
    assert (board.top, board.n_items) == (None, 1)


def test_a_board_as_of_a_version(made, spec, developer):
    version = name_version(made.bank, name="First", by=developer)
    before = selectors.board(spec)
    actions.retire_item(made.items["t2"][0], seen=made.items["t2"][0].version, by=None)
    then = selectors.board(replace(spec, version=version))

    assert [(row.run_tag, row.score) for row in then.rows] == [
        (row.run_tag, row.score) for row in before.rows
    ]
    assert then.items_stamp == before.items_stamp != selectors.board(spec).items_stamp
    assert "version 1: First" in provenance.bank(then)
    assert "as of now" in provenance.bank(before)


def cell_of(made, query_id, number, doc_id):
    return Cell.of(made.items[query_id][number], made.passages[doc_id])


def test_ratings_by_people_and_corrected_by_people(made, spec, assessor):
    """The assessor finds d1 no answer to the first question, and e1 an answer to the one of t2."""
    rate_cell(cell_of(made, "t1", 0, "d1"), rating=0, by=assessor, seen=0)
    rate_cell(cell_of(made, "t2", 0, "e1"), rating=5, by=assessor, seen=0)

    assert scores(replace(spec, source=RatingSource.CORRECTED)) == {
        "both": 0.75,
        "first": 0.5,
        "lacks": 0.25,
        "stray": 0.5,
    }
    assert scores(replace(spec, source=RatingSource.HUMANS)) == {
        "both": 0,
        "first": 0.5,
        "lacks": 0,
        "stray": 0,
    }
    rows = {row.run_tag: row.verified for row in selectors.board(spec).rows}
    assert rows == pytest.approx({"both": 1 / 5, "first": 2 / 3, "lacks": 0, "stray": 0})
    assert selectors.board(spec).verified == (2, 8)


@pytest.mark.parametrize("test", list(PairedTest))
def test_rank_intervals_of_many_topics(collection, test):
    """Of three runs over 12 topics one is better on each; the other two are alike."""
    bank = factories.gradable(collection, topics=12, passages=2, items=1)
    config = factories.lexical_config()
    good, *alike = (factories.RunFactory(collection=collection) for _ in range(3))
    for item in bank.items.all():
        first, second = (pooled.passage for pooled in item.topic.pool.all())
        factories.grade(config, item, first, 5)
        factories.grade(config, item, second, 0)
        factories.RankingFactory(run=good, topic=item.topic, doc_ids=[first.doc_id])
        for run in alike:
            factories.RankingFactory(run=run, topic=item.topic, doc_ids=[second.doc_id])
    spec = BoardSpec(collection, config, bank, QUESTIONS, MeasureSpec(), test=test)
    board = selectors.board(spec)

    assert [row.interval for row in board.rows] == ["1", "2\N{EN DASH}3", "2\N{EN DASH}3"]
    assert [row.is_behind for row in board.rows] == [False, True, True]
    assert (board.top.first, board.top.n_not_behind) == ((good.run_tag,), 0)
    assert headline(board.top, board.n_topics) == f"{good.run_tag} is clearly ahead of all others."
    assert (board.marks.minimum, board.marks.median, board.marks.maximum) == (0, 0, 1)


@pytest.mark.parametrize("test", list(PairedTest))
def test_too_few_topics_for_the_test_are_no_finding(test):
    """Of five topics one flip in 16 is as extreme, even where a run is better on every topic."""
    scores = np.linspace(0, 1, 10)[:, np.newaxis] * np.ones(MIN_TOPICS - 1)
    tags = [f"r{run}" for run in range(10)]
    few = certainty(scores, test)

    assert not few.can_tell
    assert few.possible(9) == (1, 10)
    assert headline(top(tags, scores, few), 5) == "With 5 topics no run can be clearly ahead."
    assert resolution(top(tags, scores, few), 5) == ""
    enough = certainty(np.repeat(scores[:, :1], 12, axis=1), test)
    assert enough.possible(9) == (1, 1)


def test_intervals_of_shares_end_where_shares_do():
    """They hold as often: no true mean lies beyond. Scores that may be negative keep their ends."""
    scores = np.array([[0.0, 0.0, 0.0, 0.0, 0.2, 0.0], [1.0, 1.0, 1.0, 1.0, 0.8, 1.0]])
    whole = mean_intervals(scores)
    assert whole.low[0] < 0
    assert whole.high[1] > 1
    shown = certainty(scores, PairedTest.SIGN_FLIPS).intervals
    assert (shown.low[0], shown.high[0]) == (0, whole.high[0])
    assert (shown.low[1], shown.high[1]) == (whole.low[1], 1)
    shifted = certainty(scores - 0.1, PairedTest.SIGN_FLIPS).intervals
    assert shifted.low[0] == pytest.approx(whole.low[0] - 0.1)


@pytest.mark.parametrize(
    ("first", "not_behind", "expected"),
    [
        (("A",), 0, "A is clearly ahead of all others."),
        (("A",), 1, "A is first; 1 more is not clearly behind."),
        (("A",), 18, "A is first; 18 more are not clearly behind."),
        (("A", "B"), 2, "A and B are first with exactly the same score; 2 more are not clearly behind."),
        (("A", "B"), 0, "A and B have exactly the same score, and are clearly ahead of all others."),
        (
            ("A", "B", "C", "D"),
            1,
            "A, B and 2 more are first with exactly the same score; 1 more is not clearly behind.",
        ),
    ],
)
def test_headline_says_who_is_first_and_who_is_not_clearly_behind(first, not_behind, expected):
    assert headline(Top(True, first, not_behind, 7, 0.09), 25) == expected


def test_headline_speaks_of_no_others_where_there_are_none():
    """All runs may score the same, and all but one may have no score."""
    assert headline(Top(True, ("A", "B"), 0, 0, None), 25) == "A and B have exactly the same score."
    assert headline(Top(True, ("A",), 0, 0, None), 25) == "Only A has a score."


@pytest.mark.parametrize(
    ("difference", "expected"), [(0.091, "0.091"), (137.2, "140"), (0.0000213, "0.000021")]
)
def test_resolution_has_two_digits_and_no_exponent(difference, expected):
    assert f"differences of {expected} apart" in resolution(Top(True, ("A",), 0, 1, difference), 25)


@pytest.mark.parametrize("test", list(PairedTest))
def test_headline_of_runs_that_are_all_equal_and_of_one_without_a_score(test):
    scores = np.full((3, 8), 0.5)
    assert top(["A", "B", "C"], scores, certainty(scores, test)).n_behind == 0
    scores[2], scores[0] = np.nan, np.linspace(0.7, 0.9, 8)
    best = top(["A", "B", "C"], scores, certainty(scores, test))
    assert headline(best, 8) == "A is clearly ahead of all others."


@pytest.fixture
def job(made, spec):
    """Topic t1 is being graded; its first item was reworded, so that none of its cells has a grade."""
    item = made.items["t1"][0]
    actions.revise_item(item, text="Which pigment, then?", seen=item.version, by=None)
    job = GradingJob.objects.create(
        collection=made.collection, config=made.config, scope="1 item", total=3, state="running"
    )
    JobChunk.objects.create(job=job, number=1, topic=made.topics["t1"], cells=[], size=3)
    return job


def test_rows_say_how_current_they_are_while_a_job_runs(made, spec, job):
    """Of the cells of `both` (2 passages by 2 items, 1 by 1) two are missing."""
    found = {row.run_tag: row.current for row in selectors.board(spec).rows}

    assert found == pytest.approx({"both": 3 / 5, "first": 2 / 3, "lacks": 1 / 2, "stray": 2 / 3})
    assert selectors.board(spec).is_grading


def test_nothing_is_greyed_without_a_job(made, spec, job):
    JobChunk.objects.update(state="done")
    assert {row.current for row in selectors.board(spec).rows} == {None}
    assert set(RANKED) == {row.run_tag for row in selectors.board(spec).rows}
