"""Bootstrap over topics: what the means would be had other topics of the same kind been drawn.

Resamples are drawn once a number of topics and kept, so that every measure of a board sees the same ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng  # loads with the module, not with the first board
from numpy.typing import NDArray

from grading.arrays import divide, percentiles

RESAMPLES = 10_000
SEED = 20240717
LEVEL = 0.95
_BLOCK = 50_000
"""Draws at a time: few enough for the cache."""


class RunIntervals(NamedTuple):
    """One value a run; NaN with fewer than two topics, which say nothing about others."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    error: NDArray[np.float64]
    """Monte-Carlo standard error of the end that is the less certain of the two."""


@lru_cache(maxsize=4)
def resamples(topics: int, n: int = RESAMPLES, seed: int = SEED) -> NDArray[np.float32]:
    """Return an array of shape (n, topics): how often each topic is drawn; rows sum to the number of topics.

    >>> resamples(3, n=2).sum(axis=1).tolist()
    [3.0, 3.0]
    """
    random = default_rng(seed)
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


def resampled_means(
    scores: NDArray[np.float64], *, n: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """Return an array of shape (n, runs): means of scores (runs, topics) over resampled topics; NaN scores
    are left out.

    Topics that count for no run are not drawn.
    """
    counted = ~np.isnan(scores)
    drawn = counted.any(axis=0)
    values, counted = scores[:, drawn], counted[:, drawn]
    weights = resamples(values.shape[1], n, seed)
    sums = np.where(counted, values, 0.0) @ weights.T  # runs first: twice as fast as resamples first
    if counted.all():
        sums /= max(1, values.shape[1])
        return np.asarray(sums.T)
    return divide(sums, counted.astype(np.float32) @ weights.T).T


def intervals(
    scores: NDArray[np.float64], *, level: float = LEVEL, n: int = RESAMPLES, seed: int = SEED
) -> RunIntervals:
    """Return the percentile interval of each run's mean (Efron and Tibshirani 1993, 13.3).

    >>> found = intervals(np.array([[0.0, 1.0, 0.0, 1.0], [0.5] * 4]))
    >>> found.low.tolist(), found.high.tolist()
    ([0.0, 0.5], [1.0, 0.5])
    """
    topics = (~np.isnan(scores)).sum(axis=1)
    bounds = np.full((3, len(scores)), np.nan)
    known = topics >= 2
    if known.any():
        means = resampled_means(scores[known], n=n, seed=seed)
        tail = (1 - level) / 2
        spread = np.sqrt(tail * (1 - tail) / n)  # one standard error of the share of resamples below an end
        shares = (tail, 1 - tail, tail - spread, tail + spread, 1 - tail - spread, 1 - tail + spread)
        at = percentiles(means.T, 100 * np.clip(shares, 0, 1))
        bounds[:, known] = at[0], at[1], np.maximum(at[3] - at[2], at[5] - at[4]) / 2
    return RunIntervals(*bounds)
