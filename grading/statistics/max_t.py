"""What can be called clear: one rule for all comparisons.

Many differences are looked at together: all pairs of runs of a board, all runs before and after an edit, all
groups of a table. A difference is clear if its mean is larger than what chance makes the largest of all that
are not clear yet. Then all that is called clear is right together, with a chance of 1 - ALPHA (Romano and
Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100; Westfall and
Young 1993). The ranks that stay possible for runs are those of Mogstad, Romano, Shaikh and Wilhelm,
"Inference for Ranks" (Review of Economic Studies 2024).

What chance makes is found by a step-down max-T test of one of two kinds:

- SIGN_FLIPS: both sides of a difference change places on a topic, for all differences jointly. This is exact
  where runs of equal mean are exchangeable. All flips are counted for up to EXACT_TOPICS topics; for more,
  `n_resamples` flips are drawn with a fixed seed, and p-values have a Monte-Carlo error.
- STUDENTISED: each difference is in units of its own standard error, and topics are resampled. It assumes no
  exchangeable runs, and tells little apart by a dozen topics.

docs/certainty.md has what was found of both in simulations.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from math import inf, sqrt
from statistics import NormalDist

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from grading.arrays import divide_or_zero
from grading.statistics.mean_intervals import SEED, mean_intervals, n_resamples, resamples

ALPHA = 0.05
POWER = 0.8
EXACT_TOPICS = 14
"""Up to so many topics all 2^(topics - 1) flips are counted: a flip and its opposite are as extreme."""
MIN_TOPICS = 6
"""The fewest topics for a clear difference: of five, 1 flip in 16 is as extreme as the most extreme."""
_HALVINGS = 20
"""After them an end of an interval is known to a millionth of the range of the differences."""
_ROUNDING = 1e-9
_BLOCK = 100
"""Differences at a time, so that their values in all draws take 8 MB."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PairedTest(StrEnum):
    SIGN_FLIPS = "sign_flips"
    STUDENTISED = "studentised"

    @classmethod
    def _missing_(cls, value: object) -> PairedTest | None:
        """Return what boards that were saved before call it."""
        return {"randomisation": cls.SIGN_FLIPS, "t": cls.STUDENTISED}.get(str(value))


def adjusted_p(differences: Floats, test: PairedTest = PairedTest.SIGN_FLIPS) -> Floats:
    """Return an array of shape (differences,): the p-value of each mean, adjusted for all that are tested.

    `differences` has shape (differences, topics); topics that are NaN are left out of their row. With fewer
    than MIN_TOPICS topics nothing is tested, and all are 1; by STUDENTISED as well where fewer topics differ.

    >>> grows = np.array([0.5, 0.4, 0.6, 0.5, 0.5, 0.5, 0.4])
    >>> adjusted_p(np.array([grows, grows / 2, [0.1, -0.1, 0.1, 0.0, 0.2, -0.2, 0.1]])).round(3).tolist()
    [0.016, 0.016, 0.781]
    """
    differences = differences[:, ~np.isnan(differences).all(axis=0)]
    counted = ~np.isnan(differences)
    is_tested = _can_be_clear(differences, test)
    p = np.ones(len(differences))
    if is_tested.any():
        tested = _Family(np.where(counted, differences, 0.0)[is_tested], counted[is_tested], test)
        p[is_tested] = step_down(tested.observed, tested.under_chance)
    return p


def pairwise_p(scores: Floats, test: PairedTest = PairedTest.SIGN_FLIPS) -> Floats:
    """Return the p-values of all pairs of rows of scores (runs, topics), adjusted for being many.

    The matrix has the shape (runs, runs) with 1 on its diagonal.

    >>> good, bad = [0.9, 0.8, 0.7, 0.9, 0.8, 0.9, 0.8], [0.1, 0.2, 0.3, 0.2, 0.1, 0.2, 0.3]
    >>> pairwise_p(np.array([good, bad, [0.8] * 7]))[0].round(3).tolist()
    [1.0, 0.016, 0.625]
    """
    first, second = np.triu_indices(len(scores), k=1)
    matrix = np.ones((len(scores), len(scores)))
    matrix[first, second] = matrix[second, first] = adjusted_p(scores[first] - scores[second], test)
    return matrix


def p_error(p: float, topics: int, test: PairedTest = PairedTest.SIGN_FLIPS) -> float:
    """Return the Monte-Carlo standard error of a p-value; 0 where all flips were counted.

    >>> round(p_error(0.05, 25), 4), p_error(0.05, 10)
    (0.0022, 0.0)
    """
    is_exact = test is PairedTest.SIGN_FLIPS and topics <= EXACT_TOPICS
    return 0.0 if is_exact else sqrt(p * (1 - p) / n_resamples(topics))


def interval(differences: Floats, test: PairedTest = PairedTest.SIGN_FLIPS) -> tuple[float, float]:
    """Return the ends of the 95 % interval of one mean difference.

    The values by topic have the shape (topics,); NaN is left out.

    Both are infinite where there is none: with fewer than MIN_TOPICS topics, and where all values are equal,
    which would claim to be certain.

    By SIGN_FLIPS it has all differences, constant over topics, that the test of this difference alone keeps,
    so that interval and test never disagree (inversion of a test: Lehmann and Romano 2005, 3.5).

    >>> low, high = interval(np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.3]))
    >>> round(low, 3), round(high, 3)
    (0.1, 0.3)
    """
    defined = differences[~np.isnan(differences)]
    if len(defined) < MIN_TOPICS or np.ptp(defined) <= _ROUNDING:
        return -inf, inf
    if test is PairedTest.SIGN_FLIPS:
        return _kept_by_flips(defined)
    of_mean = mean_intervals(defined[np.newaxis])
    has_interval = not np.isnan(of_mean.low[0])
    return (float(of_mean.low[0]), float(of_mean.high[0])) if has_interval else (-inf, inf)


def _kept_by_flips(differences: Floats) -> tuple[float, float]:
    """Find both ends by halving, between a difference that is rejected and the mean, which is not.

    Whether 0 is rejected is known before: no step may find anything else.
    """
    mean, margin = float(differences.mean()), 1e-9
    rejected = np.array([differences.min() - margin, differences.max() + margin])
    kept = np.array([mean, mean])
    end = 0 if mean > 0 else 1
    if _p_by_flips(differences[np.newaxis])[0] <= ALPHA:
        rejected[end] = 0.0
    elif rejected[end] * mean < 0:
        kept[end] = 0.0
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        is_kept = _p_by_flips(differences - middle[:, np.newaxis]) > ALPHA
        kept, rejected = np.where(is_kept, middle, kept), np.where(is_kept, rejected, middle)
    return float(rejected[0]), float(rejected[1])


def _p_by_flips(differences: Floats) -> Floats:
    """Return the p-value of each row (rows, topics), as if it were tested alone."""
    drawn = np.abs(differences @ _flips(differences.shape[1]))
    return np.asarray((drawn >= drawn[:, :1] * (1 - _ROUNDING)).mean(axis=1))


def step_down(observed: Floats, under_chance: Callable[[Ints], Floats]) -> Floats:
    """Return p-values, adjusted for being many, of statistics that are large where something differs.

    The array has the shape (tests,).

    `under_chance(tests)` has the shape (tests, draws): what chance makes of these tests, jointly for all
    tests; what was seen is among the draws.

    >>> draws = np.array([[3.0, 0.1, 0.2, 0.3], [0.5, 0.6, 0.1, 0.2]])
    >>> step_down(draws[:, 0], draws.__getitem__).tolist()
    [0.25, 0.5]
    """
    ascending = np.argsort(observed, kind="stable")
    p, largest = np.empty_like(observed), np.float64(-inf)
    for start in range(0, len(ascending), _BLOCK):
        tests = ascending[start : start + _BLOCK]
        drawn = under_chance(tests)
        drawn[0] = np.maximum(drawn[0], largest)
        np.maximum.accumulate(drawn, axis=0, out=drawn)
        largest = drawn[-1].copy()
        p[tests] = (drawn >= observed[tests, np.newaxis] * (1 - _ROUNDING)).mean(axis=1)
    descending = ascending[::-1]
    p[descending] = np.maximum.accumulate(p[descending])
    return p


def critical_value(drawn: Floats) -> float:
    """Return what the largest of several statistics exceeds by chance with at most ALPHA.

    `drawn` has the shape (tests, draws).

    >>> critical_value(np.array([np.arange(100.0), np.zeros(100)]))
    95.0
    """
    return float(np.quantile(drawn.max(axis=0), 1 - ALPHA, method="higher"))


def resolution(scores: Floats, test: PairedTest = PairedTest.SIGN_FLIPS) -> float:
    """Return the difference of two means that so many topics tell apart with a power of POWER.

    It is among all pairs of rows of scores (runs, topics); NaN where no difference can be clear, or nothing
    differs by chance.

    It is the critical value of the largest difference plus z(POWER) standard errors, for a pair of middling
    spread; the scores are first centred, so that what truly differs does not count as noise.

    >>> wave = np.sin(np.arange(24.0))
    >>> round(resolution(np.array([wave, -wave, np.cos(np.arange(24.0))]) / 10), 2)
    0.07
    """
    centred = (
        scores - divide_or_zero(np.nansum(scores, axis=1), (~np.isnan(scores)).sum(axis=1))[:, np.newaxis]
    )
    first, second = np.triu_indices(len(scores), k=1)
    differences = centred[first] - centred[second]
    counted = ~np.isnan(differences)
    enough = _can_be_clear(scores[first] - scores[second], test)
    if not enough.any():
        return float("nan")
    family = _Family(np.where(counted, differences, 0.0)[enough], counted[enough], test)
    errors = family.errors
    largest = np.full(family.n_draws, -inf)
    for start in range(0, len(errors), _BLOCK):
        drawn = family.under_chance(np.arange(start, min(start + _BLOCK, len(errors))))
        np.maximum(largest, drawn.max(axis=0), out=largest)
    critical, error = critical_value(largest[np.newaxis]), float(np.median(errors))
    if test is PairedTest.STUDENTISED:
        critical *= error
    else:
        n = float(np.median(counted.sum(axis=1)))
        critical *= sqrt(n / (n - 1))  # what is centred varies less
    resolved = critical + NormalDist().inv_cdf(POWER) * error
    return resolved if _ROUNDING < resolved < inf else float("nan")


def _can_be_clear(differences: Floats, test: PairedTest) -> NDArray[np.bool_]:
    """Return which rows (differences, topics) have MIN_TOPICS topics, by STUDENTISED so many that differ.

    Where a pair differs on a few topics, many resamples have none of these, and so a mean without an error:
    in the family of all pairs it would keep every other one from being clear.
    """
    counted = ~np.isnan(differences)
    if test is PairedTest.STUDENTISED:
        counted &= np.abs(differences) > _ROUNDING
    return np.asarray(counted.sum(axis=1) >= MIN_TOPICS)


class _Family:
    """Differences that are tested together.

    Arrays have the shape (tests, topics), 0 where a topic is not counted.
    """

    def __init__(self, differences: Floats, counted: NDArray[np.bool_], test: PairedTest) -> None:
        self._test = test
        self._counted = counted.astype(np.float64)
        n = self._counted.sum(axis=1, keepdims=True)
        self._means = differences.sum(axis=1, keepdims=True) / n
        self._centred = (differences - self._means) * self._counted
        self.errors = np.sqrt((self._centred**2).sum(axis=1) / (n[:, 0] * (n[:, 0] - 1)))
        self._shares = differences / n
        if test is PairedTest.SIGN_FLIPS:
            self._drawn = _flips(differences.shape[1])
            self.observed = np.abs(self._means[:, 0])
        else:
            self._drawn = resamples(differences.shape[1]).T.astype(np.float64)
            self.observed = _studentised(np.abs(self._means[:, 0]), self.errors)
        self.n_draws = self._drawn.shape[1]

    def under_chance(self, tests: Ints) -> Floats:
        """Return the statistics of these tests in all draws, of shape (tests, draws)."""
        if self._test is PairedTest.SIGN_FLIPS:
            return np.asarray(np.abs(self._shares[tests] @ self._drawn))
        centred, drawn = self._centred[tests], self._drawn
        n = self._counted[tests] @ drawn
        means = divide_or_zero(centred @ drawn, n)
        variances = divide_or_zero((centred**2) @ drawn, n) - means**2
        errors = np.sqrt(np.maximum(divide_or_zero(variances, n - 1), 0.0))
        statistics = _studentised(np.abs(means), errors)
        statistics[:, 0] = self.observed[tests]
        return statistics


def _studentised(means: Floats, errors: Floats) -> Floats:
    """Return means / errors: infinite where equal values have no error, but 0 where they are all 0."""
    none = errors <= _ROUNDING
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = np.where(none, np.where(means <= _ROUNDING, 0.0, inf), means / errors)
    return np.asarray(statistics, dtype=np.float64)


@lru_cache(maxsize=4)
def _flips(topics: int) -> Floats:
    """Return signs of shape (topics, draws); the first draw flips nothing: what was seen is one of them."""
    if topics <= EXACT_TOPICS:
        bits = np.arange(2 ** (topics - 1)) >> np.arange(topics)[:, np.newaxis]
        signs = np.where(bits & 1, -1.0, 1.0)
    else:
        signs = np.where(default_rng(SEED).integers(2, size=(topics, n_resamples(topics))), -1.0, 1.0)
        signs[:, 0] = 1.0
    signs.setflags(write=False)
    return signs
