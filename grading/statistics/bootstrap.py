"""Bootstrap over topics: what the means would be had other topics of the same kind been drawn.

Resamples are drawn once a number of topics and kept, so that every measure of a board sees the same ones.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.random import default_rng  # loads with the module, not with the first board
from numpy.typing import NDArray

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
