"""Intervals of means over topics, and of numbers of the sums of topics, by one function: the symmetric
bootstrap-t.

Topics are resampled; a mean may be off by as many of its standard errors as the resampled means are off from
it by theirs (Hall 1988, "On symmetric bootstrap confidence intervals", JRSS B 50; Efron and Tibshirani 1993,
12.5). A percentile interval takes the spread of the resamples as it is, and is too short for few topics: of
95 % it held .87 with 5 topics. docs/certainty.md has what these hold.

A number of sums (a ratio, kappa, alpha) is taken for the mean of its pseudo-values: what each topic adds to
it, by leaving the topic out (Tukey 1958; Efron and Tibshirani 1993, 11.5).

Topics are resampled, never cells or passages: those of one topic are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grading.arrays import percentiles
from grading.statistics.means import LEVEL, RESAMPLES, resamples
from grading.statistics.resampling import UNDEFINED, ConfidenceInterval

MIN_TOPICS = 5
"""Fewer say nothing of other topics."""
_ROUNDING = 1e-9
_LEAST_SPREAD = 0.3
"""Of a resample, in standard deviations of the sample: where nearly equal values are drawn again and again,
the interval would be endless.
"""

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From a stack of tables, shape (..., *table), to a number each, shape (...); NaN where it is undefined."""


class Intervals(NamedTuple):
    """One value a row; NaN with fewer than MIN_TOPICS topics, and where all values are equal: resamples of
    equal values would claim to be certain.
    """

    low: Floats
    high: Floats
    error: Floats
    """Monte-Carlo standard error of an end."""


def mean_intervals(values: Floats, *, level: float = LEVEL) -> Intervals:
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
        factors, spreads = _factors(defined - means[:, np.newaxis], level)
        ends = np.stack([means - factors * errors, means + factors * errors, spreads * errors])
        bounds[:, rows] = np.where(errors > _ROUNDING, ends, np.nan)
    return Intervals(*bounds)


def statistic_interval(
    tables: Floats | NDArray[np.int64],
    statistic: Statistic,
    *,
    bounds: tuple[float, float] = (-inf, inf),
    level: float = LEVEL,
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
    counted = tables[tables.any(axis=tuple(range(1, tables.ndim)))].astype(np.float64)
    n, total = len(counted), counted.sum(axis=0)
    if n < MIN_TOPICS:
        return UNDEFINED
    value = statistic(total[np.newaxis])
    pseudo_values = n * value - (n - 1) * statistic(total - counted)
    if np.isnan(pseudo_values).any():
        return UNDEFINED
    of_mean = mean_intervals(pseudo_values[np.newaxis], level=level)
    if np.isnan(of_mean.low[0]):
        return UNDEFINED
    half = (of_mean.high[0] - of_mean.low[0]) / 2
    return ConfidenceInterval(float(max(value[0] - half, bounds[0])), float(min(value[0] + half, bounds[1])))


def _factors(centred: Floats, level: float) -> tuple[Floats, Floats]:
    """Return how many standard errors each mean may be off, and the Monte-Carlo errors of these numbers."""
    n = centred.shape[1]
    drawn = resamples(n).T
    means = centred @ drawn / n
    least = _LEAST_SPREAD**2 * (centred**2).mean(axis=1, keepdims=True)
    variances = np.maximum(centred**2 @ drawn / n - means**2, np.maximum(least, _ROUNDING**2))
    statistics = np.abs(means) / np.sqrt(variances / (n - 1))
    spread = np.sqrt(level * (1 - level) / RESAMPLES)
    low, factors, high = percentiles(statistics, 100 * np.array([level - spread, level, level + spread]))
    return factors, (high - low) / 2
