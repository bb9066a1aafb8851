"""Boards and agreement, from labels that fit on one hand."""

import math

import numpy as np
import pytest

from grading.support import Support, SupportRule
from grading.types import FAILED
from rubricweb.exports.support import score_rows
from rubricweb.support import actions
from rubricweb.support.board import Counting, board, find, score_column
from rubricweb.support.board_page import agreement
from rubricweb.support.labels import labels_by, raters
from rubricweb.support.models import SupportEvent, SupportJudge, SupportLabel
from tests.factories import RunFactory
from tests.rubricweb.support.conftest import BREAD, MOON, SUN, answered

ALL, POOLED, FIRST = (Counting(rule) for rule in (SupportRule.ALL, SupportRule.POOLED, SupportRule.FIRST))


@pytest.fixture
def labelled(sea, cite):
    """By a model: full of the moon by d1, none by d2; partial of the sun; no label of bread."""
    judge = SupportJudge.objects.create(collection=sea, backend="x", llm="m", prompt_id="P@1")
    for place, label in {
        cite("s1", MOON, "d1"): 2,
        cite("s1", MOON, "d2"): 0,
        cite("s1", SUN, "d2"): 1,
        cite("s2", BREAD, "d3"): None,
    }.items():
        SupportLabel.objects.create(judge=judge, label=label, reply="r", **place._asdict())
    return judge


def rows(collection, rule, key=0):
    found = board(collection, raters(collection)[key], rule)
    return {row.run_tag: row for row in found.rows}


def test_all_citations_of_a_sentence_share_one_best_credit(sea, labelled):
    """alpha: credits 1, 0, 0.5 of 3 citations; best 1, 0.5, and 0 for the uncited sentence."""
    alpha = rows(sea, POOLED)["alpha"]
    assert (alpha.precision.value, alpha.recall.value) == (0.5, 0.5)
    assert (alpha.answers, alpha.sentences, alpha.judged, alpha.missing, alpha.failed) == (1, 3, 3, 0, 0)


def test_all_citations_of_a_sentence_have_their_mean(sea, labelled):
    """alpha: credits (1 + 0) / 2 and 0.5 of 2 sentences that cite, and of 3."""
    alpha = rows(sea, ALL)["alpha"]
    assert (alpha.precision.value, alpha.recall.value) == (0.5, pytest.approx(1 / 3))


def test_a_missing_topic_is_left_out_where_asked(sea, labelled):
    SupportLabel.objects.filter(label=None).update(label=2)
    alpha = rows(sea, Counting(SupportRule.FIRST, lacking_is_zero=False))["alpha"]
    assert (alpha.precision.value, alpha.precision.topics) == (0.75, 1)


def test_the_first_citation_of_each_sentence(sea, labelled):
    """alpha: credits 1 and 0.5 of 2 citations, and of 3 sentences."""
    alpha = rows(sea, FIRST)["alpha"]
    assert (alpha.precision.value, alpha.recall.value) == (0.75, 0.5)
    assert not alpha.precision.has_interval


def test_missing_and_failed_labels_are_counted_and_no_0(sea, labelled):
    """beta: 0.5 on s1; on s2 a failed and a missing label, so no score."""
    beta = rows(sea, ALL)["beta"]
    assert (beta.precision.value, beta.recall.value, beta.precision.topics) == (0.5, 0.5, 1)
    assert (beta.judged, beta.missing, beta.failed) == (1, 1, 1)
    assert board(sea, raters(sea)[0], ALL).unreadable == 1


def test_runs_without_a_score_come_last_and_say_so(sea, labelled):
    quiet = RunFactory(collection=sea, run_tag="quiet")
    answered(quiet, sea.topics.get(query_id="s2"), [(BREAD, ["d9"])])
    found = board(sea, raters(sea)[0], ALL)
    assert [row.run_tag for row in found.rows] == ["alpha", "beta", "quiet"]
    assert not found.rows[2].precision.is_defined
    assert math.isnan(found.rows[2].recall.value)


def test_a_response_whose_file_says_no_citations_is_left_out(sea, labelled):
    plain = RunFactory(collection=sea, run_tag="plain")
    answered(plain, sea.topics.get(query_id="s1"), [(MOON, None)])
    found = board(sea, raters(sea)[0], ALL)
    assert "plain" not in {row.run_tag for row in found.rows}
    assert found.unsaid == 1


def test_topics_that_a_run_does_not_answer_count_0_as_on_the_leaderboard(sea, labelled):
    """beta: 0.5 on s1, 1 on s2; alpha answers s1 only."""
    SupportLabel.objects.filter(label=None).update(label=2)
    found = rows(sea, FIRST)
    assert (found["beta"].precision.value, found["alpha"].precision.value) == (0.75, 0.75 / 2)
    assert (found["alpha"].scored, found["alpha"].precision.topics) == (1, 2)
    runs, topics = (list(rows.values_list("pk", flat=True)) for rows in (sea.runs, sea.topics))
    column = score_column(sea, find(sea, "support", "precision"), runs, topics)
    means = dict(zip(runs, np.nanmean(column, axis=1), strict=True))
    assert {row.run_id: row.precision.value for row in found.values()} == means


def test_score_file_has_the_topics_that_its_means_count(sea, labelled):
    SupportLabel.objects.filter(label=None).update(label=2)
    lines = [line for line in score_rows(sea, raters(sea)[0], FIRST) if line.measure == "support_precision"]
    alpha = {line.query_id: line.value for line in lines if line.run_tag == "alpha"}
    assert alpha == {"s1": 0.75, "s2": 0.0, "all": 0.375}


def test_means_of_few_topics_have_no_interval(sea, labelled):
    SupportLabel.objects.filter(label=None).update(label=2)
    assert not any(row.precision.has_interval for row in rows(sea, FIRST).values())


def test_kappa_of_few_topics_has_no_interval(sea, labelled, owner, cite):
    """Two topics: of 95 % a bootstrap held .36."""
    for place, label in (
        (cite("s1", MOON, "d1"), 2),
        (cite("s1", SUN, "d2"), 0),
        (cite("s2", BREAD, "d3"), 2),
    ):
        actions.label_citation(place, label=Support(label), by=owner)
    SupportLabel.objects.filter(label=None).update(label=2)
    (found,) = agreement(sea)
    assert (found.from_scratch.pairs, found.from_scratch.topics) == (3, 2)
    assert (found.from_scratch.is_too_few, found.from_scratch.has_kappa) == (True, False)
    assert not found.from_scratch.interval.is_defined


def test_of_several_people_the_majority_counts_and_of_one_the_latest(sea, owner, assessor, viewer, cite):
    sun = cite("s1", SUN, "d2")
    for person, label in ((owner, 2), (assessor, 0), (viewer, 0), (owner, 1)):
        actions.label_citation(sun, label=Support(label), by=person)
    people = raters(sea)[-1]
    assert labels_by(sea, people) == {sun: 0}
    actions.take_back(sea, by=viewer)
    assert labels_by(sea, people) == {sun: 0}  # 1 and 0: the lower one
    actions.take_back(sea, by=assessor)
    assert labels_by(sea, people) == {sun: 1}
    actions.take_back(sea, by=owner)
    assert labels_by(sea, people) == {}
    assert actions.take_back(sea, by=owner) is None
    assert SupportEvent.objects.count() == 7


def test_a_failed_label_is_no_0(sea, labelled, cite):
    assert labels_by(sea, raters(sea)[0])[cite("s2", BREAD, "d3")] == FAILED


def test_from_scratch_and_post_edited_agreement_stay_apart(sea, labelled, owner, assessor, cite):
    moon, far, sun = cite("s1", MOON, "d1"), cite("s1", MOON, "d2"), cite("s1", SUN, "d2")
    shown = {place: SupportLabel.objects.get(**place._asdict()) for place in (moon, far)}
    for place, label in ((moon, 2), (far, 1), (sun, 1)):
        actions.label_citation(place, label=Support(label), by=owner)
    for place, label in ((moon, 2), (far, 0)):
        actions.label_citation(place, label=Support(label), by=assessor, seen=shown[place])
    actions.label_citation(cite("s2", BREAD, "d3"), label=Support.FULL, by=owner)  # the model's failed

    (found,) = agreement(sea)
    assert found.from_scratch.counts == ((0, 0, 0), (1, 1, 0), (0, 0, 1))
    assert found.from_scratch.exact == pytest.approx(2 / 3)
    assert found.from_scratch.kappa == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
    assert (found.post_edited.pairs, found.post_edited.exact, found.post_edited.kappa) == (2, 1.0, 1.0)
    assert found.from_scratch.topics == 1
    assert not found.from_scratch.interval.is_defined


def test_who_saw_another_models_label_is_in_neither_condition(sea, labelled, owner, cite):
    other = SupportJudge.objects.create(collection=sea, backend="x", llm="n", prompt_id="P@1")
    place = cite("s1", SUN, "d2")
    seen = SupportLabel.objects.create(judge=other, label=0, reply="r", **place._asdict())
    actions.label_citation(place, label=Support.PARTIAL, by=owner, seen=seen)
    of_first, of_other = agreement(sea)
    assert (of_first.from_scratch.pairs, of_first.post_edited.pairs) == (0, 0)
    assert (of_other.post_edited.pairs, of_other.post_edited.exact) == (1, 0.0)
