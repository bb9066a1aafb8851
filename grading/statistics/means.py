"""Means over topics: their standard errors, and what they would be over other topics.

Bootstrap over topics: what the means would be had other topics of the same kind been drawn.

Resamples are drawn once a number of topics and kept, so that every measure of a board sees the same ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng  # loads with the module, not with the first board
from numpy.typing import NDArray

from grading.arrays import divide, percentiles


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
    """Of the means of all runs (TREMA-UNH at TREC RAG, 6.3.3 and 7); NaN without runs."""

    minimum: float
    median: float
    maximum: float
    upper_quarter: float
    """The 75th percentile, between two runs by their distance."""
    upper_15: float
    """The 85th percentile."""


def marks(means: NDArray[np.float64]) -> Marks:
    """Where a run stands among all: least, middle and best mean, and the marks of very good runs.

    >>> marks(np.array([0.1, 0.2, 0.3, 0.4, np.nan, 0.5]))
    Marks(minimum=0.1, median=0.3, maximum=0.5, upper_quarter=0.4, upper_15=0.44)
    """
    if not len(means):
        return Marks(*[float("nan")] * 5)
    return Marks(*percentiles(means[np.newaxis], (0, 50, 100, 75, 85))[:, 0].round(12).tolist())


RESAMPLES = 10_000
SEED = 20240717
LEVEL = 0.95
_BLOCK = 50_000
"""Draws at a time: few enough for the cache."""


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
