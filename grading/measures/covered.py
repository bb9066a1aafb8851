"""Which items the first passages of a run cover, and by which passage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grading.arrays import take_rows
from grading.measures.base import CUTOFF, MIN_GRADE, Mask, Rows
from grading.types import MISSING, Ratings


def covered_items(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Mask:
    """Return which items each run covers, shape (runs, items): one of its first `cutoff` passages is rated
    `min_grade` or more for the item.

    Raises ValueError for a cutoff below 1.

    >>> ratings = np.array([[4, 0], [-1, 5]], dtype=np.int8)
    >>> covered_items(ratings, np.array([[0, -1], [1, 0]], dtype=np.int32)).tolist()
    [[True, False], [True, True]]
    """
    if cutoff < CUTOFF.lowest:
        raise ValueError(f"cutoff is {cutoff}, expected {CUTOFF.lowest} or more")
    return np.asarray(take_rows(ratings >= min_grade, ranked[:, :cutoff]).any(axis=1))


def deciding_rows(ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default) -> NDArray[np.int32]:
    """Return, shape (runs, items), the row of the passage that decides whether a run covers an item: of its
    first `cutoff` passages the one rated highest, the first of several; -1 for one outside the pool.

    >>> ratings = np.array([[4, 0], [4, 5], [1, -1]], dtype=np.int8)
    >>> deciding_rows(ratings, np.array([[0, 1], [2, -1]], dtype=np.int32)).tolist()
    [[0, 1], [2, 2]]
    """
    top = ranked[:, :cutoff]
    if not top.shape[1]:
        return np.full((len(top), ratings.shape[1]), -1, dtype=np.int32)
    best = take_rows(ratings, top, outside=MISSING).argmax(axis=1)
    return np.asarray(np.take_along_axis(top, best, axis=1), dtype=np.int32)
