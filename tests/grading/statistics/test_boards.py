"""What a board says: mean and standard error, correlation with another board, and what a change moves."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from grading.statistics.influence import Move, moves, ranks, swapped_pairs, tie_changes
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_correlation import ALL_TIED, TOO_FEW, Correlation, from_ranks, kendall, spearman

NAN = float("nan")
few_values = st.sampled_from([0.0, 0.25, 0.5, 0.75])


def test_mean_and_standard_error_leave_out_nan():
    summary = mean_and_stderr(np.array([[1.0, 2.0, 3.0, NAN], [4.0, NAN, NAN, NAN], [NAN] * 4]))
    np.testing.assert_allclose(summary.mean, [2.0, 4.0, NAN])
    np.testing.assert_allclose(summary.stderr, [1 / np.sqrt(3), NAN, NAN])
    assert summary.n_topics.tolist() == [3, 1, 0]


@given(arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 9)), elements=st.floats(0, 1)))
def test_standard_error_is_scipy_s(scores):
    summary = mean_and_stderr(scores)
    np.testing.assert_allclose(
        summary.stderr, np.std(scores, axis=1, ddof=1) / np.sqrt(scores.shape[1]), atol=1e-12
    )
    np.testing.assert_allclose(summary.mean, scores.mean(axis=1), atol=1e-12)


def test_no_topics_at_all():
    summary = mean_and_stderr(np.zeros((2, 0)))
    assert np.isnan(summary.mean).all()
    assert summary.n_topics.tolist() == [0, 0]


@given(st.lists(st.tuples(few_values, few_values), min_size=3, max_size=12))
def test_correlations_are_scipy_s(pairs):
    x, y = map(np.array, zip(*pairs, strict=True))
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert spearman(x, y) == kendall(x, y) == Correlation(None, len(x), ALL_TIED)
        return
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert kendall(x, y).value == pytest.approx(stats.kendalltau(x, y).statistic)


def test_average_ranks_for_ties():
    """Ranks (1, 2.5, 2.5, 4) against (1, 2, 3, 4): rho = 4.5 / sqrt(4.5 * 5)."""
    value = spearman([0.9, 0.5, 0.5, 0.1], [0.9, 0.5, 0.4, 0.1]).value
    assert value == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_only_runs_in_both_boards_count():
    official = {"a": 0.9, "b": 0.8, "c": 0.7, "x": 0.1, "nan": 0.5}
    ours = {"c": 0.1, "b": 0.2, "a": 0.3, "y": 9.0, "nan": NAN}
    assert spearman(official, ours) == Correlation(pytest.approx(1.0), 3)
    assert kendall(official, ours) == Correlation(pytest.approx(1.0), 3)


def test_official_ranks_are_better_when_lower():
    ours = {"a": 0.9, "b": 0.5, "c": 0.1}
    assert kendall(from_ranks({"a": 1, "b": 2, "c": 3}), ours).value == pytest.approx(1.0)
    assert kendall({"a": 1, "b": 2, "c": 3}, ours).value == pytest.approx(-1.0)


def test_void_correlations_say_why():
    assert spearman({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}) == Correlation(None, 2, TOO_FEW)
    assert kendall({}, {}) == Correlation(None, 0, TOO_FEW)
    assert kendall([1, 1, 1], [1, 2, 3]) == Correlation(None, 3, ALL_TIED)
    with pytest.raises(ValueError, match="expected the same runs"):
        spearman([1, 2, 3], [1, 2])
    with pytest.raises(TypeError, match="expected two of a kind"):
        spearman({"a": 1}, [1])


def test_ties_share_the_better_rank():
    assert ranks(np.array([0.1, 0.5, 0.9, 0.5, NAN])).tolist() == [4, 2, 1, 2, 5]
    assert ranks(np.array([0.1 + 0.2, 0.3])).tolist() == [1, 1], "rounding of sums is a tie"


@given(arrays(np.float64, st.integers(0, 8), elements=few_values))
def test_ranks_are_scipy_s_minimum_ranks(scores):
    assert ranks(scores).tolist() == stats.rankdata(-scores, method="min").astype(int).tolist()


def test_a_change_moves_runs():
    before, after = np.array([0.9, 0.8, 0.7, 0.1]), np.array([0.6, 0.8, 0.7, 0.1])
    assert moves(before, after, ["a", "b", "c", "d"]) == [Move("b", 2, 1), Move("c", 3, 2), Move("a", 1, 3)]
    assert swapped_pairs(before, after) == [(0, 1), (0, 2)]
    assert moves(before, before, ["a", "b", "c", "d"]) == []


@given(st.lists(st.tuples(few_values, few_values), max_size=8))
def test_pairs_are_what_a_plain_loop_says(pairs):
    before, after = np.array([b for b, _ in pairs]), np.array([a for _, a in pairs])
    every = [(i, j) for i in range(len(pairs)) for j in range(i + 1, len(pairs))]
    swapped = [(i, j) for i, j in every if (before[i] - before[j]) * (after[i] - after[j]) < 0]
    tied = [(i, j) for i, j in every if before[i] != before[j] and after[i] == after[j]]
    untied = [(i, j) for i, j in every if before[i] == before[j] and after[i] != after[j]]
    assert swapped_pairs(before, after) == swapped
    assert tie_changes(before, after) == {"became_tied": tied, "ceased_tied": untied}
