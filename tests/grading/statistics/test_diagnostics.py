"""Items and pools: against scipy, plain loops and tables by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from grading.statistics.diagnostics import (
    Relevance,
    advantage,
    as_answers,
    contributed_alone,
    covered_shares,
    difficulty,
    discrimination,
    redundant_pairs,
    rest_means,
    spurious_items,
    uncovered_passages,
)
from grading.statistics.mean_intervals import mean_intervals

NAN = float("nan")
some_answers = arrays(
    np.float64, st.tuples(st.integers(3, 9), st.integers(2, 4)), elements=st.sampled_from([0.0, 1.0, NAN])
)


@given(some_answers)
def test_discrimination_is_scipy_s_pearson(answers):
    rests = rest_means(answers)
    found = discrimination(answers, rests)
    for item in range(answers.shape[1]):
        others = np.delete(answers, item, axis=1)
        rest = [np.mean(row[~np.isnan(row)]) if (~np.isnan(row)).any() else NAN for row in others]
        np.testing.assert_allclose(rests[:, item], rest)
        known = ~(np.isnan(answers[:, item]) | np.isnan(rest))
        x, y = answers[known, item], np.array(rest)[known]
        if known.sum() < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(found[item])
        else:
            assert found[item] == pytest.approx(stats.pearsonr(x, y).statistic)


def test_difficulty_leaves_out_what_is_missing():
    answers = as_answers(np.array([[5, -1], [4, -2], [1, -1], [0, -1]], dtype=np.int8), 4)
    np.testing.assert_array_equal(difficulty(answers), [0.5, NAN])


def test_redundant_pairs_by_hand():
    """Items 0 and 1 share 3 of 4 passages; item 2 counts for one passage only, like item 3."""
    ratings = np.array(
        [[5, 4, 0, 0], [4, 5, 0, 0], [4, 4, 4, 4], [4, 0, 0, 0], [-1, -2, 0, 0]], dtype=np.int8
    )
    pairs = redundant_pairs(ratings)
    assert [(pair.first, pair.second, pair.overlap) for pair in pairs] == [(0, 1, 0.75)]
    assert (pairs[0].n_both, pairs[0].n_either) == (3, 4)
    assert [(p.first, p.second) for p in redundant_pairs(ratings, min_passages=1)] == [(2, 3), (0, 1)]
    assert redundant_pairs(ratings, min_overlap=0.8) == []


def test_what_only_one_team_found():
    ranked = np.array([[0, 1, 4], [2, 0, 5], [3, 2, -1]], dtype=np.int32)
    alone = contributed_alone(ranked, [0, 0, 1], depth=2, n=6)
    assert [np.flatnonzero(row).tolist() for row in alone] == [[0, 1], [3]]
    assert contributed_alone(ranked[:0], [], depth=2, n=6).shape == (0, 6)


def test_advantage_by_hand():
    """Own minus others: the family gains 0.4 and 0.2 on two topics, other runs 0.1 and 0."""
    own = np.array([[0.9, 0.7, 0.3], [0.6, 0.5, 0.8]])
    others = np.array([[0.5, 0.5, NAN], [0.5, 0.5, NAN]])
    found = advantage(own, others, np.array([True, False]))
    assert found.value == pytest.approx((0.3 + 0.2) / 2)
    assert found.n_topics == 2
    assert not found.interval.is_defined, "two topics say nothing of others"


def test_advantage_interval_is_over_topics_that_count_for_both():
    random = np.random.default_rng(8)
    own, others = random.random((4, 9)), random.random((4, 9))
    own[2, 3] = NAN
    found = advantage(own, others, np.array([True, True, False, False]))
    gains = np.delete(own - others, 3, axis=1)
    expected = mean_intervals((gains[:2].mean(axis=0) - gains[2:].mean(axis=0))[np.newaxis])
    assert (found.interval.low, found.interval.high) == (expected.low[0], expected.high[0])


def test_no_advantage_without_other_runs_or_topics():
    scores = np.ones((2, 3))
    assert advantage(scores, scores, np.array([True, True])).value is None
    assert advantage(scores * NAN, scores, np.array([True, False])).value is None
    assert not advantage(scores[:, :1], scores[:, :1], np.array([True, False])).interval.is_defined


JUDGED = (3, 2, 1, 0, None, 0)
"""Relevant from 2: rows 0 and 1; not relevant: 2, 3 and 5."""
RATED = np.array(
    # item 0  item 1  item 2
    [
        [5, 0, -1],
        [3, 0, -2],
        [4, 0, -1],
        [5, 4, -1],
        [5, 5, 0],
        [-1, 4, -2],
    ],
    dtype=np.int8,
)


def test_spurious_items_by_hand():
    """Item 0: rows 3 and 2 of two rated; item 1: rows 3 and 5 of three; item 2 has no rating there."""
    found = spurious_items(RATED, Relevance.judged(JUDGED, min_relevant=2))
    assert [(one.item, one.passages, one.count, one.n_graded) for one in found] == [
        (0, (3, 2), 2, 2),
        (1, (3, 5), 2, 3),
        (2, (), 0, 0),
    ]
    assert [one.share for one in found] == [1.0, pytest.approx(2 / 3), None]
    strict = spurious_items(RATED, Relevance.judged(JUDGED, min_relevant=2), min_grade=5)
    assert [one.passages for one in strict] == [(3,), (), ()]
    lenient = spurious_items(RATED, Relevance.judged(JUDGED, min_relevant=1))
    assert [one.passages for one in lenient] == [(3,), (3, 5), ()]


def test_uncovered_passages_by_hand():
    """Row 1 has 3 at most; the judgment of row 4 is missing; an item that failed everywhere is no grade."""
    relevance = Relevance.judged(JUDGED, min_relevant=2)
    found = uncovered_passages(RATED, relevance)
    assert (found.uncovered, found.ungraded) == ((1,), ())
    found = uncovered_passages(RATED[:, 2:], relevance)
    assert (found.uncovered, found.ungraded) == ((), (0, 1))
    found = uncovered_passages(RATED[:, :0], relevance)
    assert (found.uncovered, found.ungraded) == ((), (0, 1))
    everything = uncovered_passages(RATED, Relevance.judged(JUDGED, min_relevant=0), min_grade=5)
    assert (everything.uncovered, everything.ungraded) == ((1, 2, 5), ())


def test_relevance_by_ratings_of_people():
    """Any item at the threshold makes a passage relevant; all below make it not; blanks say nothing."""
    by_people = np.array([[-1, 5], [3, 2], [-1, -1], [0, -1], [4, 0]], dtype=np.int8)
    relevance = Relevance.rated(by_people)
    assert relevance.relevant.tolist() == [True, False, False, False, True]
    assert relevance.not_relevant.tolist() == [False, True, False, True, False]
    assert Relevance.rated(by_people, min_grade=3).not_relevant.tolist() == [False, False, False, True, False]


@given(
    arrays(np.int8, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.integers(-2, 5)),
    st.data(),
    st.integers(1, 5),
)
def test_spurious_and_uncovered_are_what_plain_loops_count(ratings, data, min_grade):
    judged = data.draw(st.lists(st.none() | st.integers(0, 3), min_size=len(ratings), max_size=len(ratings)))
    relevance = Relevance.judged(judged, min_relevant=2)
    for found in spurious_items(ratings, relevance, min_grade=min_grade):
        fooled = {r for r, j in enumerate(judged) if j in (0, 1) and ratings[r, found.item] >= min_grade}
        assert set(found.passages) == fooled
        assert found.n_graded == sum(
            j in (0, 1) and ratings[r, found.item] >= 0 for r, j in enumerate(judged)
        )
    shares = [one.share for one in spurious_items(ratings, relevance, min_grade=min_grade)]
    by_item = covered_shares(ratings[relevance.not_relevant], min_grade=min_grade).tolist()
    assert by_item == pytest.approx([NAN if share is None else share for share in shares], nan_ok=True)
    answers = as_answers(ratings, min_grade)
    np.testing.assert_array_equal(covered_shares(ratings, min_grade=min_grade), difficulty(answers))
    left = uncovered_passages(ratings, relevance, min_grade=min_grade)
    for row, judgment in enumerate(judged):
        known = [rating for rating in ratings[row] if rating >= 0]
        is_relevant = judgment in (2, 3)
        assert (row in left.ungraded) == (is_relevant and not known)
        assert (row in left.uncovered) == (is_relevant and bool(known) and max(known) < min_grade)
