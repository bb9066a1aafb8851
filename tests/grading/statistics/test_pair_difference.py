"""The difference of two runs: its interval covers, agrees with its test, and its share of noise is honest."""

import numpy as np
import pytest
from scipy import stats

from grading.statistics.pair_difference import interval, pair_difference
from grading.statistics.paired_tests import ALPHA, PairedTest, p_of_differences, p_values

RANDOMISATION, T = PairedTest.RANDOMISATION, PairedTest.T


def test_the_interval_by_t_is_scipys():
    differences = np.random.default_rng(3).normal(0.05, 0.2, 17)
    expected = stats.ttest_1samp(differences, 0).confidence_interval(1 - ALPHA)
    assert interval(differences, T) == pytest.approx(tuple(expected))


def test_the_interval_by_randomisation_has_what_scipys_test_does_not_reject():
    differences = np.random.default_rng(5).normal(0.05, 0.2, 9)
    low, high = interval(differences, RANDOMISATION)

    def p(difference: float) -> float:
        shifted = (differences - difference,)
        return float(stats.permutation_test(shifted, np.mean, permutation_type="samples").pvalue)

    step = 0.004
    assert [p(low - step) > ALPHA, p(low + step) > ALPHA] == [False, True]
    assert [p(high - step) > ALPHA, p(high + step) > ALPHA] == [True, False]


@pytest.mark.parametrize("test", [RANDOMISATION, T])
def test_it_excludes_zero_exactly_where_the_test_finds_a_difference(test):
    random = np.random.default_rng(11)
    clear = 0
    for _ in range(30):
        differences = random.choice([-0.2, -0.1, 0.0, 0.1, 0.2, 0.3], size=random.integers(6, 30))
        low, high = interval(differences, test)
        is_clear = bool(p_of_differences(differences[np.newaxis], test)[0] <= ALPHA)
        assert (low > 0 or high < 0 or 0 in (low, high)) == is_clear
        clear += is_clear
    assert 0 < clear < 30


def test_the_same_difference_on_every_topic_is_all_that_is_left():
    assert interval(np.full(8, 0.1), RANDOMISATION) == pytest.approx((0.1, 0.1), abs=1e-6)
    assert interval(np.full(8, 0.1), T) == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize("topics", [8, 20, 54])
@pytest.mark.parametrize("shape", ["normal", "uniform", "rare"])
def test_it_covers_the_true_difference(topics, shape):
    random, tables = np.random.default_rng([topics, len(shape)]), 1_000
    drawn = {
        "normal": lambda: random.normal(0.03, 0.15, (tables, topics)),
        "uniform": lambda: random.uniform(-0.27, 0.33, (tables, topics)),
        "rare": lambda: 0.03 + 0.2 * random.choice([-1, 0, 1], (tables, topics), p=[0.2, 0.6, 0.2]),
    }[shape]()
    for test in (RANDOMISATION, T):
        covered = (p_of_differences(drawn - 0.03, test) > ALPHA).mean()
        assert covered >= 0.935  # 0.95 less two standard errors


def test_few_topics_exclude_no_difference():
    found = difference(np.array([[0.9] * 5, [0.1] * 5]))
    assert (found.low, found.high, found.has_interval, found.is_clear) == (-np.inf, np.inf, False, False)
    assert difference(np.array([[0.9] * 5, [0.1] * 5]), T).has_interval
    assert not difference(np.full((2, 3), np.nan)).has_interval


def test_topics_that_one_of_them_lacks_are_left_out():
    scores = np.array([[0.5, 0.4, 0.6, 0.9, np.nan], [0.1, 0.2, 0.3, np.nan, 0.9]])
    found = difference(scores, T)
    assert (found.n_topics, found.mean) == (3, pytest.approx(0.3))


def test_what_it_says_of_noise_holds_on_average():
    """Runs 0 to 7 are equally good, 8 to 11 better; how many pairs of equal ones are as clear as (8, 0)?"""
    random = np.random.default_rng(42)
    false, said = [], []
    for _ in range(300):
        topics = random.normal(0, 0.2, 30)
        scores = 0.4 + topics + random.normal(0, 0.1, (12, 30))
        scores[8:] += 0.04
        p = p_values(scores, T)
        found = pair_difference(scores, p, 8, 0, T)
        equal = p[:8, :8][np.triu_indices(8, k=1)]
        false.append((equal <= found.p).sum() + (p[8:, 8:][np.triu_indices(4, k=1)] <= found.p).sum())
        said.append(found.by_chance)
    assert np.mean(false) <= np.mean(said) <= 3 * np.mean(false)


def difference(scores, test=RANDOMISATION):
    return pair_difference(scores, p_values(scores, test), 0, 1, test)
