"""Means over topics, their standard errors and intervals, and intervals from resampled topics.

Intervals of means, and of numbers of the sums of topics, are one function: the symmetric bootstrap-t. Topics
are resampled, never cells or passages: those of one topic are not independent. Resamples are drawn once for a
number of topics and kept, so that every measure of a board sees the same ones.

A mean may be off by as many of its standard errors as the resampled means are off from it by theirs (Hall
1988, "On symmetric bootstrap confidence intervals", JRSS B 50; Efron and Tibshirani 1993, 12.5). A percentile
interval takes the spread of the resamples as it is, and is too short for few topics: of 95 % it held .87 with
5 topics. docs/certainty.md has what these hold.

A number of sums (a ratio, kappa, alpha) is taken for the mean of its pseudo-values: what each topic adds to
it, by leaving the topic out (Tukey 1958; Efron and Tibshirani 1993, 11.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng  # loads with the module, not with the first board
from numpy.typing import NDArray

from grading.arrays import divide, percentiles

RESAMPLES = 10_000
FEWEST_RESAMPLES = 2_000
MOST_DRAWN = 20_000_000
"""Topics that all resamples draw together, at most where this leaves FEWEST_RESAMPLES."""
SEED = 20240717
LEVEL = 0.95
_BLOCK = 50_000
"""Draws at a time: few enough for the cache."""
MIN_DEFINED = 0.5
"""An interval needs at least this share of resamples with a defined value."""
Z = 1.959963984540054
"""The normal quantile of an interval of LEVEL."""
MIN_TOPICS = 5
"""Fewer say nothing of other topics."""
KEPT_INTERVALS = 1_000
"""Intervals of numbers of sums that are kept, each by the tables it is of: a page asks for the same again."""
_ROUNDING = 1e-9
_LEAST_SPREAD = 0.3
"""The least spread of a resample, in standard deviations of the sample.

Without it the interval would be endless where nearly equal values are drawn again and again.
"""
Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From a stack of tables, shape (..., *table), to a number each, shape (...); NaN where it is undefined."""


class Summary(NamedTuple):
    """One value a run; `mean` is NaN without topics, `stderr` with fewer than two."""

    mean: NDArray[np.float64]
    stderr: NDArray[np.float64]
    n_topics: NDArray[np.int64]


def mean_and_stderr(scores: NDArray[np.float64]) -> Summary:
    """Summarise scores of shape (runs, topics); NaN is left out.

    The standard error is the sample standard deviation / sqrt(topics), as TREMA-UNH at TREC RAG
    (Farzi and Dietz 2024), 6.3.3, reports it.

    >>> summary = mean_and_stderr(np.array([[0.2, 0.4, 0.9], [0.5, np.nan, np.nan]]))
    >>> summary.mean.round(4).tolist(), summary.stderr.round(4).tolist(), summary.n_topics.tolist()
    ([0.5, 0.5], [0.2082, nan], [3, 1])
    """
    counted = ~np.isnan(scores)
    n_topics = counted.sum(axis=1)
    mean = divide(np.where(counted, scores, 0.0).sum(axis=1), n_topics)
    deviations = np.where(counted, scores - mean[:, np.newaxis], 0.0)
    variance = divide((deviations**2).sum(axis=1), n_topics - 1)
    return Summary(mean, np.sqrt(divide(variance, n_topics)), n_topics)


class Marks(NamedTuple):
    """Marks of the means of all runs (TREMA-UNH at TREC RAG, 6.3.3 and 7); NaN without runs."""

    minimum: float
    median: float
    maximum: float
    upper_quarter: float
    """The 75th percentile, between two runs by their distance."""
    upper_15: float
    """The 85th percentile."""


def marks(means: NDArray[np.float64]) -> Marks:
    """Return the least, middle and best mean of all runs, and the marks of very good runs.

    >>> marks(np.array([0.1, 0.2, 0.3, 0.4, np.nan, 0.5]))
    Marks(minimum=0.1, median=0.3, maximum=0.5, upper_quarter=0.4, upper_15=0.44)
    """
    if not len(means):
        return Marks(*[float("nan")] * 5)
    return Marks(*percentiles(means[np.newaxis], (0, 50, 100, 75, 85))[:, 0].round(12).tolist())


def n_resamples(topics: int) -> int:
    """Return how many resamples of so many topics are drawn: fewer of many, where they would take gigabytes.

    >>> n_resamples(54), n_resamples(5_000), n_resamples(100_000)
    (10000, 4000, 2000)
    """
    return min(RESAMPLES, max(FEWEST_RESAMPLES, MOST_DRAWN // max(1, topics)))


@lru_cache(maxsize=4)
def resamples(topics: int, n: int | None = None) -> NDArray[np.float32]:
    """Return an array of shape (n, topics): how often each topic is drawn; rows sum to the number of topics.

    `n` is by default `n_resamples`.

    >>> resamples(3, n=2).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    n = n or n_resamples(topics)
    random = default_rng(SEED)
    counts = np.empty((n, topics), dtype=np.float32)
    step = max(1, _BLOCK // max(1, topics))
    for start in range(0, n, step):
        size = min(step, n - start)
        drawn = random.integers(topics, size=(size, topics)) + topics * np.arange(size)[:, np.newaxis]
        counts[start : start + size] = np.bincount(drawn.ravel(), minlength=size * topics).reshape(
            size, topics
        )
    counts.setflags(write=False)
    return counts


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """Both ends; NaN where it is undefined."""

    low: float
    high: float

    @property
    def is_defined(self) -> bool:
        return not np.isnan(self.low)


UNDEFINED = ConfidenceInterval(float("nan"), float("nan"))


def interval(values: NDArray[np.float64], *, level: float = LEVEL) -> ConfidenceInterval:
    """Return the percentile interval of resampled values.

    Undefined values are left out, unless they are too many.

    >>> interval(np.arange(101.0), level=0.5)
    ConfidenceInterval(low=25.0, high=75.0)
    >>> interval(np.array([1.0, np.nan, np.nan])).is_defined
    False
    """
    defined = values[~np.isnan(values)]
    if not values.size or defined.size < MIN_DEFINED * values.size:
        return UNDEFINED
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return ConfidenceInterval(float(low), float(high))


def wilson(count: int, n: int, *, z: float = Z) -> ConfidenceInterval:
    """Return Wilson's interval of a share of independent cells; undefined without any.

    Wilson (1927): Probable Inference, the Law of Succession, and Statistical Inference. JASA 22.

    >>> found = wilson(9, 10)
    >>> round(found.low, 3), round(found.high, 3), wilson(0, 0).is_defined
    (0.596, 0.982, False)
    """
    if not n:
        return UNDEFINED
    share, spread = count / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / n + spread / (4 * n)) ** 0.5
    return ConfidenceInterval(middle - half if count else 0.0, middle + half if count < n else 1.0)


class Intervals(NamedTuple):
    """One value a row, with its interval.

    NaN with fewer than MIN_TOPICS topics, and where all values are equal: resamples of equal values would
    claim to be certain.
    """

    low: Floats
    high: Floats
    error: Floats
    """Monte-Carlo standard error of an end."""


def mean_intervals(values: Floats) -> Intervals:
    """Return the interval of the mean of each row of values (rows, topics); NaN is left out.

    >>> few = [np.nan] * 3
    >>> intervals = mean_intervals(np.array([[0.2, 0.4, 0.9, 0.4, 0.6], [0.5] * 5, [0.1, 0.3, *few]]))
    >>> intervals.low.round(2).tolist(), intervals.high.round(2).tolist()
    ([0.09, nan, nan], [0.91, nan, nan])
    """
    bounds = np.full((3, len(values)), np.nan)
    n_topics = (~np.isnan(values)).sum(axis=1)
    for n in np.unique(n_topics[n_topics >= MIN_TOPICS]).tolist():
        rows = np.flatnonzero(n_topics == n)
        defined = values[rows][~np.isnan(values[rows])].reshape(len(rows), n)
        means, errors = defined.mean(axis=1), defined.std(axis=1, ddof=1) / np.sqrt(n)
        factors, spreads = _factors(defined - means[:, np.newaxis])
        ends = np.stack([means - factors * errors, means + factors * errors, spreads * errors])
        bounds[:, rows] = np.where(errors > _ROUNDING, ends, np.nan)
    return Intervals(*bounds)


def statistic_interval(
    tables: Floats | NDArray[np.int64],
    statistic: Statistic,
    *,
    bounds: tuple[float, float] = (-inf, inf),
) -> ConfidenceInterval:
    """Return the interval of `statistic` of the sum of tables, one a topic: shape (topics, *table).

    Topics whose table is all zero do not count. The interval is undefined with fewer than MIN_TOPICS topics,
    where no topic changes the number, and where the number is undefined without one of them. `bounds` are the
    least and the largest value that the number can have.

    >>> shares = np.array([[3, 8], [6, 7], [2, 5], [5, 6], [4, 9], [3, 6], [4, 7], [5, 9]])
    >>> ends = statistic_interval(shares, lambda sums: sums[..., 0] / sums[..., 1], bounds=(0, 1))
    >>> round(ends.low, 2), round(ends.high, 2)
    (0.37, 0.75)
    """
    content = np.asarray(tables, dtype=np.float64)
    return _statistic_interval(content.tobytes(), content.shape, statistic, bounds)


@lru_cache(maxsize=KEPT_INTERVALS)
def _statistic_interval(
    content: bytes, shape: tuple[int, ...], statistic: Statistic, bounds: tuple[float, float]
) -> ConfidenceInterval:
    tables = np.frombuffer(content).reshape(shape)
    counted = tables[tables.any(axis=tuple(range(1, tables.ndim)))]
    n, total = len(counted), counted.sum(axis=0)
    if n < MIN_TOPICS:
        return UNDEFINED
    value = statistic(total[np.newaxis])
    pseudo_values = n * value - (n - 1) * statistic(total - counted)
    if np.isnan(pseudo_values).any():
        return UNDEFINED
    of_mean = mean_intervals(pseudo_values[np.newaxis])
    if np.isnan(of_mean.low[0]):
        return UNDEFINED
    half = (of_mean.high[0] - of_mean.low[0]) / 2
    return ConfidenceInterval(float(max(value[0] - half, bounds[0])), float(min(value[0] + half, bounds[1])))


def _factors(centred: Floats) -> tuple[Floats, Floats]:
    """Return how many standard errors each mean may be off, and the Monte-Carlo errors of these numbers."""
    n = centred.shape[1]
    drawn = resamples(n).T
    means = centred @ drawn / n
    least = _LEAST_SPREAD**2 * (centred**2).mean(axis=1, keepdims=True)
    variances = np.maximum(centred**2 @ drawn / n - means**2, np.maximum(least, _ROUNDING**2))
    statistics = np.abs(means) / np.sqrt(variances / (n - 1))
    spread = np.sqrt(LEVEL * (1 - LEVEL) / n_resamples(n))
    low, factors, high = percentiles(statistics, 100 * np.array([LEVEL - spread, LEVEL, LEVEL + spread]))
    return factors, (high - low) / 2
