"""What is clear: beside plain loops over all flips, and by simulation."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from grading.statistics.max_t import (
    ALPHA,
    MIN_TOPICS,
    PairedTest,
    adjusted_p,
    critical_value,
    interval,
    p_error,
    pairwise_p,
    resolution,
    step_down,
)
from grading.statistics.rank_intervals import order

NAN = float("nan")
FLIPS, STUDENTISED = PairedTest.SIGN_FLIPS, PairedTest.STUDENTISED


def by_definition(differences):
    """Romano and Wolf's steps: what is clear leaves the family, and the rest is looked at again."""
    flips = np.array(list(product([1, -1], repeat=differences.shape[1])))
    drawn = np.abs(flips @ differences.T) / differences.shape[1]
    observed = np.abs(differences.mean(axis=1))
    p, last, left = np.ones(len(differences)), 0.0, list(np.argsort(-observed, kind="stable"))
    while left:
        largest = drawn[:, left].max(axis=1)
        last = max(last, (largest >= observed[left[0]] - 1e-12).mean())
        p[left.pop(0)] = last
    return p


@pytest.mark.parametrize("topics", [6, 9])
def test_p_values_by_sign_flips_are_those_of_the_definition(topics):
    differences = np.random.default_rng(topics).normal(0.3, 0.5, (5, topics))
    assert adjusted_p(differences) == pytest.approx(by_definition(differences))


def test_drawn_flips_agree_with_all_of_them():
    differences = np.random.default_rng(2).normal(0.15, 0.4, (4, 16))
    exact = by_definition(differences)
    spread = [p_error(p, 16) for p in exact]
    assert (np.abs(adjusted_p(differences) - exact) <= 4 * np.array(spread) + 1e-9).all()


def test_a_single_difference_has_the_p_value_of_scipy():
    first, second = np.random.default_rng(3).normal([[0.8], [0.0]], 1, (2, 10))
    theirs = stats.permutation_test(
        (first, second),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert adjusted_p((first - second)[np.newaxis])[0] == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("test", list(PairedTest))
def test_topics_that_a_pair_lacks_are_left_out_of_it(test):
    scores = np.random.default_rng(4).random((3, 12)) + np.array([[0.5], [0.0], [0.0]])
    scores[1, 3:5] = NAN
    p = pairwise_p(scores, test)
    assert (p == p.T).all()
    assert (np.diag(p) == 1).all()
    alone = pairwise_p(scores[:2, ~np.isnan(scores[1])], test)
    assert p[0, 1] >= alone[0, 1]


@pytest.mark.parametrize("test", list(PairedTest))
@pytest.mark.parametrize("topics", [0, 1, MIN_TOPICS - 1])
def test_few_topics_tell_nothing(test, topics):
    scores = np.repeat([[1.0], [0.0]], topics, axis=1)
    assert pairwise_p(scores, test)[0, 1] == 1
    assert interval(scores[0] - scores[1], test) == (-np.inf, np.inf)
    assert np.isnan(resolution(scores, test))


def test_six_topics_are_enough_for_the_largest_difference():
    assert pairwise_p(np.array([[0.9] * MIN_TOPICS, [0.1] * MIN_TOPICS]))[0, 1] <= ALPHA


@pytest.mark.parametrize("test", list(PairedTest))
def test_equal_runs_are_never_clear(test):
    scores = np.tile(np.random.default_rng(5).random(20), (4, 1))
    assert (pairwise_p(scores, test) == 1).all()


@pytest.mark.parametrize(("runs", "topics"), [(5, 8), (10, 25), (27, 12)])
def test_boards_without_differences_call_nothing_clear(runs, topics):
    random, wrong = np.random.default_rng(6), 0
    for _ in range(100):
        scores = random.binomial(20, random.beta(2, 3, topics), (runs, topics)) / 20
        wrong += bool((pairwise_p(scores) <= ALPHA).any())
    assert wrong <= 11, "5 of 100, and three standard errors"


@pytest.mark.parametrize("test", list(PairedTest))
def test_runs_of_unlike_spread_are_not_called_clear(test):
    """Pair by pair, with Holm's correction, some run is on 15 of 100 such boards."""
    random, wrong = np.random.default_rng(7), 0
    for _ in range(100):
        steady = random.binomial(20, 0.2, (5, 25)) / 20
        scores = np.vstack([steady, random.binomial(1, 0.2, (5, 25))])
        wrong += bool((pairwise_p(scores, test) <= ALPHA).any())
    assert wrong <= 9


def test_more_is_told_than_with_holm_s_correction():
    random, ours, holm = np.random.default_rng(8), 0, 0
    for _ in range(15):
        scores = np.linspace(0, 0.25, 10)[:, np.newaxis] + random.normal(0, 0.12, (10, 12))
        first, second = np.triu_indices(10, k=1)
        ours += int((pairwise_p(scores)[first, second] <= ALPHA).sum())
        p = np.sort(stats.ttest_rel(scores[first], scores[second], axis=1).pvalue)
        holm += int(np.cumprod(p * (len(p) - np.arange(len(p))) <= ALPHA).sum())
    assert ours > 1.2 * holm > 0


def test_rank_intervals_hold_the_true_ranks():
    """All intervals of a board at once, in at least 95 % of the boards that a simulation makes."""
    random, held = np.random.default_rng(8), 0
    quality = np.array([0.6, 0.5, 0.5, 0.3, 0.2])
    true_low, true_high = np.array([1, 2, 2, 4, 5]), np.array([1, 3, 3, 4, 5])
    for _ in range(200):
        scores = quality[:, np.newaxis] + random.normal(0, 0.25, (5, 20)) + random.normal(0, 0.2, 20)
        found = order(scores.mean(axis=1), pairwise_p(scores))
        held += bool(((found.first_possible <= true_high) & (found.last_possible >= true_low)).all())
    assert held / 200 >= 0.93


def test_rank_intervals_count_who_is_clearly_ahead_and_behind():
    p = np.ones((4, 4))
    for i, j in ((0, 3), (1, 3)):
        p[i, j] = p[j, i] = 0.01
    found = order(np.array([0.9, 0.8, 0.7, 0.1]), p)
    assert found.first_possible.tolist() == [1, 1, 1, 3]
    assert found.last_possible.tolist() == [3, 3, 4, 4]
    assert (found.first, found.behind_first.tolist()) == ((0,), [False, False, False, True])


def test_order_without_a_mean_is_neither_behind_nor_not():
    means = np.array([np.nan, 0.9, 0.9, 0.1])
    p = np.ones((4, 4))
    p[1, 3] = p[3, 1] = 0.01
    runs = order(means, p)
    assert (runs.first, runs.not_behind_first.tolist()) == ((1, 2), [False, True, True, True])
    p[2, 3] = p[3, 2] = 0.01
    assert order(means, p).behind_first.tolist() == [False, False, False, True], "behind both that are first"


@pytest.mark.parametrize("test", list(PairedTest))
@pytest.mark.parametrize("constant", [0.0, 0.2])
def test_interval_of_equal_differences_is_none(test, constant):
    """All topics alike would claim to be certain: an interval of no width."""
    assert interval(np.full(8, constant), test) == (-np.inf, np.inf)


@pytest.mark.parametrize("test", list(PairedTest))
def test_resolution_is_a_finite_difference_or_none(test):
    equal, sparse = np.zeros((3, 8)), np.zeros((3, 8))
    sparse[0, 3], sparse[1, 4] = 0.5, 0.2
    assert np.isnan(resolution(equal, test)), "runs that are all equal tell nothing of chance"
    assert not np.isinf(resolution(sparse, test)), "resamples without the one topic have no spread"


@pytest.mark.parametrize("test", list(PairedTest))
def test_an_interval_excludes_zero_where_its_difference_alone_is_clear(test):
    random = np.random.default_rng(9)
    for topics in (7, 12, 25):
        for shift in (0.0, 0.05, 0.1, 0.2):
            differences = random.normal(shift, 0.2, topics)
            low, high = interval(differences, test)
            p = adjusted_p(differences[np.newaxis], test)[0]
            assert low < differences.mean() < high
            if abs(p - ALPHA) > 0.005:  # both are drawn
                assert (low > 0 or high < 0) == (p <= ALPHA)


def test_an_interval_by_flips_has_what_scipy_does_not_reject():
    differences = np.random.default_rng(10).normal(0.2, 0.3, 9)
    for end, inside in zip(interval(differences), (1e-4, -1e-4), strict=True):
        for shift, rejects in ((inside, False), (-inside, True)):
            p = stats.permutation_test(
                (differences - end - shift, np.zeros(9)),
                lambda a, b, axis: (a - b).mean(axis=axis),
                permutation_type="samples",
                n_resamples=np.inf,
            ).pvalue
            assert (p <= ALPHA) == rejects


@pytest.mark.parametrize("test", list(PairedTest))
@pytest.mark.parametrize("topics", [8, 20])
def test_an_interval_holds_the_true_difference(test, topics):
    random = np.random.default_rng(11)
    ends = [interval(random.normal(0.1, 0.2, topics), test) for _ in range(150)]
    assert np.mean([low <= 0.1 <= high for low, high in ends]) >= 0.9


def test_a_difference_of_the_resolution_is_told_with_its_power():
    random, told = np.random.default_rng(12), 0
    for _ in range(150):
        scores = random.beta(2, 3, 25) + random.normal(0, 0.12, (8, 25))
        stated = resolution(scores)
        scores[0] += stated
        told += bool(pairwise_p(scores)[0, 1] <= ALPHA)
    assert 0.68 <= told / 150 <= 0.92


def test_steps_go_on_after_what_is_clear():
    drawn = np.random.default_rng(13).random((3, 400))
    observed = np.array([2.0, 0.96, 0.2])
    p = step_down(observed, lambda tests: drawn[tests])
    assert p[0] == 0
    assert p[1] == pytest.approx((drawn[1:].max(axis=0) >= 0.96).mean())
    assert p[2] == pytest.approx(max(p[1], (drawn[2] >= 0.2).mean()))
    assert (drawn.max(axis=0) > critical_value(drawn)).mean() <= ALPHA


@pytest.mark.parametrize("test", [FLIPS, STUDENTISED])
def test_near_copies_of_a_run_keep_no_other_pair_from_being_clear(test):
    near_copies = np.random.default_rng(7).uniform(0.6, 0.8, (4, 25))
    near_copies[1:] = near_copies[0]
    near_copies[[1, 2, 3], [3, 4, 5]] += [0.1, -0.1, 0.1]
    scores = np.vstack([near_copies, near_copies[0] - np.random.default_rng(8).uniform(0.1, 0.5, 25)])
    p = pairwise_p(scores, test)
    assert (p[4, :4] <= ALPHA).all()
    assert (p[:4, :4] > ALPHA).all()
    assert 0 < resolution(scores, test) < 1
