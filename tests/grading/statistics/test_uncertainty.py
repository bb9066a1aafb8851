"""Intervals, tests and ranks: beside scipy, beside plain loops, and by simulation."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from grading.statistics.bootstrap import intervals, resampled_means, resamples
from grading.statistics.paired_tests import PairedTest, p_of_differences, p_values, smallest_p, topics_needed
from grading.statistics.rank_intervals import adjusted, brackets, holm, more_topics, order
from grading.statistics.uncertainty import marks

RANDOM = np.random.default_rng(11)
SCORES = RANDOM.random((6, 30)) + np.linspace(0, 0.5, 6)[:, np.newaxis]
NAN = float("nan")


def test_resamples_draw_as_many_topics_as_there_are():
    drawn = resamples(30)
    assert drawn.shape == (10_000, 30)
    assert (drawn.sum(axis=1) == 30).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(30), abs=0.05)
    assert drawn.var(axis=0) == pytest.approx(np.full(30, 29 / 30), abs=0.1), "multinomial"


def test_bootstrap_intervals_agree_with_scipy():
    found = intervals(SCORES)
    for run, scores in enumerate(SCORES):
        theirs = stats.bootstrap(
            (scores,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(5)
        ).confidence_interval
        assert found.low[run] == pytest.approx(theirs.low, abs=0.006)
        assert found.high[run] == pytest.approx(theirs.high, abs=0.006)


def test_the_same_seed_gives_the_same_interval():
    assert intervals(SCORES).low.tolist() == intervals(SCORES.copy()).low.tolist()
    assert intervals(SCORES, seed=1).low.tolist() != intervals(SCORES).low.tolist()


def test_topics_that_a_run_does_not_count_are_left_out():
    scores = np.array(
        [[0.2, 0.4, NAN, 0.6, 0.9], [0.2, 0.4, NAN, NAN, 0.9], [NAN] * 5, [NAN, 0.5] + [NAN] * 3]
    )
    found = intervals(scores)
    assert np.isnan(found.low).tolist() == [False, False, True, True], "one topic has no interval"
    means = resampled_means(scores[:2])
    weights = resamples(4)
    expected = (weights[:, [0, 1, 3]] @ np.array([0.2, 0.4, 0.9])) / np.maximum(
        weights[:, [0, 1, 3]].sum(axis=1), 1
    )
    known = ~np.isnan(means[:, 1])
    assert means[known, 1] == pytest.approx(expected[known], abs=1e-6)


def test_t_is_scipy_s_paired_t():
    found = p_values(SCORES, PairedTest.T)
    for i, j in product(range(6), repeat=2):
        expected = 1.0 if i == j else stats.ttest_rel(SCORES[i], SCORES[j]).pvalue
        assert found[i, j] == pytest.approx(expected, rel=1e-6)


def test_randomisation_with_few_topics_tries_every_flip():
    scores = SCORES[:4, :9]
    found = p_values(scores, PairedTest.RANDOMISATION)
    for i, j in ((0, 1), (0, 3), (2, 3)):
        theirs = stats.permutation_test(
            (scores[i], scores[j]),
            lambda x, y: np.mean(x - y),
            permutation_type="samples",
            n_resamples=np.inf,
        )
        assert found[i, j] == pytest.approx(theirs.pvalue)


def counted(differences):
    """The p-value as a fraction: every sum of signed differences with the number of flips that have it."""
    sums = {Fraction(0): 1}
    for value in differences:
        after = {}
        for total, n in sums.items():
            for signed in (total + value, total - value):
                after[signed] = after.get(signed, 0) + n
        sums = after
    seen = abs(sum(differences))
    return Fraction(sum(n for total, n in sums.items() if abs(total) >= seen), 2 ** len(differences))


@pytest.mark.parametrize("topics", [2, 16, 25, 60])
def test_randomisation_counts_every_flip(topics):
    """Scores are shares of ten items, or of nine where one was retired, so that many sums are equal."""
    random = np.random.default_rng(topics)
    items = [Fraction(1, 10 if topic % 7 else 9) for topic in range(topics)]
    whole = [
        [n * share for n, share in zip(random.integers(-3, 6, topics).tolist(), items, strict=True)]
        for _ in range(4)
    ]
    differences = np.array([[float(value) for value in row] for row in whole])
    expected = [float(counted(row)) for row in whole]
    assert p_of_differences(differences, PairedTest.RANDOMISATION).tolist() == pytest.approx(
        expected, rel=1e-9
    )


def test_randomisation_of_any_numbers_is_exact_but_for_their_rounding():
    """Beside all sums of two halves of the topics."""
    differences = np.random.default_rng(3).normal(0.08, 0.1, (6, 24))
    differences[:, 20] = NAN
    found = p_of_differences(differences, PairedTest.RANDOMISATION)
    for row, p in zip(differences[:, ~np.isnan(differences[0])], found.tolist(), strict=True):
        halves = [np.array(list(product((1, -1), repeat=len(half)))) @ half for half in (row[:11], row[11:])]
        ascending, seen = np.sort(halves[1]), abs(row.sum()) - 1e-12
        above = len(ascending) - np.searchsorted(ascending, seen - halves[0])
        assert p == pytest.approx(2 * above.sum() / 2 ** len(row), rel=0.05)


def test_rank_intervals_depend_on_nothing_but_the_scores():
    """Neither on a seed nor on the order of topics and runs, which give sampled flips other signs."""
    random = np.random.default_rng(5)
    scores = np.linspace(0.3, 0.6, 20)[:, np.newaxis] + random.normal(0, 0.12, (20, 25))
    first = ends(scores)
    for _ in range(5):
        runs, topics = random.permutation(20), random.permutation(25)
        assert ends(scores[np.ix_(runs, topics)])[:, np.argsort(runs)].tolist() == first.tolist()


def ends(scores):
    found = order(scores.mean(axis=1).round(12), holm(p_values(scores, PairedTest.RANDOMISATION)))
    return np.stack([found.first_possible, found.last_possible])


def test_equal_runs_are_told_apart_on_no_more_boards_than_alpha():
    """All 45 pairs of a board together; scores by topic are skewed, as covers are."""
    random = np.random.default_rng(9)
    wrong = 0
    for _ in range(150):
        scores = random.beta(2, 5, 25) + random.gamma(1, 0.1, (10, 25))
        wrong += bool((ends(scores)[0] > 1).any())
    assert wrong / 150 <= 0.08, "two standard errors above 0.05"


def test_the_smallest_p_value_is_that_of_one_sign():
    for topics in (2, 5, 12, 40):
        assert p_of_differences(np.ones((1, topics)), PairedTest.RANDOMISATION)[0] == pytest.approx(
            smallest_p(topics, PairedTest.RANDOMISATION)
        )
    for pairs in (1, 45, 105, 1770):
        needed = topics_needed(pairs)
        assert smallest_p(needed, PairedTest.RANDOMISATION) <= 0.05 / pairs
        assert smallest_p(needed - 1, PairedTest.RANDOMISATION) > 0.05 / pairs
    assert (smallest_p(1, PairedTest.T), smallest_p(3, PairedTest.T)) == (1, 0)


def test_the_monte_carlo_error_of_an_interval_is_its_spread_over_seeds():
    lows = np.array([intervals(SCORES[:1], n=1000, seed=seed).low[0] for seed in range(60)])
    said = intervals(SCORES[:1], n=1000).error[0]
    assert said == pytest.approx(lows.std(ddof=1), rel=0.6)
    assert np.isnan(intervals(np.array([[0.5, NAN]])).error[0])


def test_randomisation_with_many_topics_agrees_with_sampled_flips():
    found = p_values(SCORES, PairedTest.RANDOMISATION)
    for i, j in ((0, 1), (0, 2), (0, 5), (3, 4)):
        theirs = stats.permutation_test(
            (SCORES[i], SCORES[j]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=40_000,
            vectorized=True,
            rng=np.random.default_rng(1),
        )
        assert found[i, j] == pytest.approx(theirs.pvalue, rel=0.2, abs=0.002)
    assert (found == found.T).all()


@pytest.mark.parametrize("test", list(PairedTest))
def test_equal_runs_cannot_be_told_apart(test):
    scores = np.array([[0.1, 0.5, 0.3] * 8, [0.1, 0.5, 0.3] * 8, [0.5, 0.1, 0.3] * 8])
    assert p_values(scores, test)[0].tolist() == pytest.approx([1, 1, 1])


def test_two_topics_never_tell_runs_apart_by_randomisation():
    scores = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert p_values(scores, PairedTest.RANDOMISATION)[0, 1] == 0.5


@pytest.mark.parametrize("test", list(PairedTest))
def test_one_topic_or_none_says_nothing(test):
    for scores in (np.array([[0.9], [0.1]]), np.zeros((2, 0)), np.array([[0.9, NAN], [0.1, NAN]])):
        assert p_values(scores, test).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("test", list(PairedTest))
def test_pairs_go_over_the_topics_that_both_count(test):
    scores = SCORES[:3].copy()
    scores[1, :4] = NAN
    found = p_values(scores, test)
    alone = p_values(SCORES[:2, 4:], test)
    assert found[0, 1] == pytest.approx(alone[0, 1], rel=0.1, abs=0.002)
    assert found[0, 2] == pytest.approx(p_values(SCORES[[0, 2]], test)[0, 1], rel=0.1, abs=0.002)


@pytest.mark.parametrize("test", list(PairedTest))
def test_p_values_of_equal_systems_are_right(test):
    """Under the null, a share of alpha of the pairs has p <= alpha."""
    random = np.random.default_rng(2)
    found = np.array([p_values(random.random((2, 25)), test)[0, 1] for _ in range(400)])
    assert np.mean(found <= 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(found <= 0.5) == pytest.approx(0.5, abs=0.08)


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_holm_is_what_its_definition_says(values):
    pairs = np.ones((4, 4))
    first, second = np.triu_indices(4, k=1)
    pairs[first, second] = pairs[second, first] = values
    ascending = sorted(range(6), key=lambda n: values[n])
    expected, largest = [0.0] * 6, 0.0
    for place, n in enumerate(ascending):
        largest = max(largest, min(1.0, (6 - place) * values[n]))
        expected[n] = largest
    assert holm(pairs)[first, second].tolist() == pytest.approx(expected)
    assert adjusted(np.array(values)).tolist() == pytest.approx(expected)


def test_rank_intervals_count_who_is_surely_better_and_worse():
    adjusted = np.ones((4, 4))
    for i, j in ((0, 3), (1, 3)):
        adjusted[i, j] = adjusted[j, i] = 0.01
    found = order(np.array([0.9, 0.8, 0.7, 0.1]), adjusted)
    assert list(zip(found.first_possible.tolist(), found.last_possible.tolist(), strict=True)) == [
        (1, 3),
        (1, 3),
        (1, 4),
        (3, 4),
    ]
    assert found.top_group == [0, 1, 2]


def test_rank_intervals_hold_the_true_ranks():
    """All intervals of a board at once, in at least 95 % of the boards that a simulation makes."""
    random = np.random.default_rng(8)
    quality = np.array([0.6, 0.5, 0.5, 0.3, 0.2])
    true_low = np.array([1, 2, 2, 4, 5])
    true_high = np.array([1, 3, 3, 4, 5])
    held = 0
    for _ in range(200):
        scores = quality[:, np.newaxis] + random.normal(0, 0.25, (5, 20)) + random.normal(0, 0.2, 20)
        pairs = holm(p_values(scores, PairedTest.RANDOMISATION))
        found = order(scores.mean(axis=1), pairs)
        held += bool(((found.first_possible <= true_high) & (found.last_possible >= true_low)).all())
    assert held / 200 >= 0.93


@settings(max_examples=60)
@given(st.integers(0, 7), st.randoms(use_true_random=False))
def test_brackets_are_the_widest_groups_without_a_difference(runs, random):
    better = np.zeros((runs, runs), dtype=np.bool_)
    for i in range(runs):
        for j in range(i + 1, runs):
            better[i, j] = random.random() < 0.3
    whole = {
        (i, j) for i in range(runs) for j in range(i + 1, runs) if not better[i : j + 1, i : j + 1].any()
    }
    widest = {
        pair for pair in whole if not any(a <= pair[0] and pair[1] <= b and (a, b) != pair for a, b in whole)
    }
    assert set(brackets(better)) == widest


def test_more_topics_is_the_power_formula():
    """With so many topics of the same kind in all, a z test has about 80 % power."""
    differences = np.array([0.25, -0.2] * 20)
    more = more_topics(differences)
    n = len(differences) + more
    shift = abs(differences.mean()) / (differences.std(ddof=1) / np.sqrt(n))
    assert stats.norm.sf(stats.norm.isf(0.025) - shift) == pytest.approx(0.8, abs=0.02)
    assert more == 600
    assert more_topics(np.array([0.5, 0.49, 0.51] * 9)) == 0
    assert more_topics(np.array([0.2, -0.2])) is None
    assert more_topics(np.array([0.2, NAN])) is None


def test_marks_are_numpy_s_percentiles_without_undefined_means():
    found = marks(np.array([0.5, 0.1, NAN, 0.3]))
    assert (found.minimum, found.median, found.maximum) == (0.1, 0.3, 0.5)
    assert (found.upper_quarter, found.upper_15) == (0.4, 0.44)
    assert np.isnan(marks(np.array([NAN]))).all()
