"""Intervals of means over topics, by one function: the symmetric bootstrap-t.

Topics are resampled; a mean may be off by as many of its standard errors as the resampled means are off from
it by theirs (Hall 1988, "On symmetric bootstrap confidence intervals", JRSS B 50; Efron and Tibshirani 1993,
12.5). A percentile interval takes the spread of the resamples as it is, and is too short for few topics: of
95 % it held .87 with 5 topics. docs/certainty.md has what these hold.

Topics are resampled, never cells or passages: those of one topic are not independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grading.arrays import percentiles
from grading.statistics.bootstrap import LEVEL, RESAMPLES, resamples

MIN_TOPICS = 5
"""Fewer say nothing of other topics."""
_ROUNDING = 1e-9
_LEAST_SPREAD = 0.3
"""Of a resample, in standard deviations of the sample: where nearly equal values are drawn again and again,
the interval would be endless.
"""

Floats = NDArray[np.float64]


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
    >>> found = mean_intervals(np.array([[0.2, 0.4, 0.9, 0.4, 0.6], [0.5] * 5, [0.1, 0.3, *few]]))
    >>> found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.09, nan, nan], [0.91, nan, nan])
    """
    bounds = np.full((3, len(values)), np.nan)
    n_topics = (~np.isnan(values)).sum(axis=1)
    for n in np.unique(n_topics[n_topics >= MIN_TOPICS]).tolist():
        rows = np.flatnonzero(n_topics == n)
        known = values[rows][~np.isnan(values[rows])].reshape(len(rows), n)
        means, errors = known.mean(axis=1), known.std(axis=1, ddof=1) / np.sqrt(n)
        factors, spreads = _factors(known - means[:, np.newaxis], level)
        found = np.stack([means - factors * errors, means + factors * errors, spreads * errors])
        bounds[:, rows] = np.where(errors > _ROUNDING, found, np.nan)
    return Intervals(*bounds)


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
