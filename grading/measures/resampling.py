"""Bootstrap over topics: how often each resample takes each topic, and the interval of what it makes of them.

Efron and Tibshirani 1993, percentile intervals. Topics are resampled, never passages or cells: those of one
topic are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_240_713
LEVEL = 0.95
MIN_DEFINED = 0.5
"""An interval needs at least this share of resamples with a defined value."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends; NaN where it is undefined."""

    low: float
    high: float

    @property
    def is_defined(self) -> bool:
        return not np.isnan(self.low)


UNDEFINED = Interval(float("nan"), float("nan"))


def topic_counts(n_topics: int, *, resamples: int = RESAMPLES, seed: int = SEED) -> NDArray[np.int64]:
    """Shape (resamples, topics): how often a resample with replacement takes each topic; rows sum to
    `n_topics`.

    >>> topic_counts(4, resamples=2, seed=1).sum(axis=1).tolist()
    [4, 4]
    """
    if n_topics == 0:
        return np.zeros((resamples, 0), dtype=np.int64)
    generator = np.random.default_rng(seed)
    return generator.multinomial(n_topics, np.full(n_topics, 1 / n_topics), size=resamples)


def interval(values: NDArray[np.float64], *, level: float = LEVEL) -> Interval:
    """The percentile interval of resampled values; undefined ones are left out, unless they are too many.

    >>> interval(np.arange(101.0), level=0.5)
    Interval(low=25.0, high=75.0)
    >>> interval(np.array([1.0, np.nan, np.nan])).is_defined
    False
    """
    defined = values[~np.isnan(values)]
    if not values.size or defined.size < MIN_DEFINED * values.size:
        return UNDEFINED
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Interval(float(low), float(high))
