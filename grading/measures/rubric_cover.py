"""Rubric-Cover@k: the share of a topic's items that a run's first k passages cover.

|{items rated >= t on at least one of the first k passages}| / |items of the bank|. Passages that are not
graded or not pooled cover nothing. Defined in EXAM++ (Farzi and Dietz 2024), 4.3.1, and in the Workbench
(Dietz 2024), 4.5; with k = 20 and t = 4 in TREMA-UNH at TREC RAG (Farzi and Dietz 2024), 6.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grading.types import MIN_RATING, MISSING, Ratings

Rows = NDArray[np.int32]
"""Shape (runs, depth): row numbers of the rating matrix, best rank first; -1 = not in the matrix, or padding.
"""


def covered_items(
    ratings: Ratings, ranked: Rows, *, cutoff: int = 20, min_grade: int = 4
) -> NDArray[np.bool_]:
    """Shape (runs, items): whether one of the run's first `cutoff` passages rates the item `min_grade` or
    more.

    Raises ValueError for a cutoff below 1.

    >>> ratings = np.array([[4, 0], [-1, 5]], dtype=np.int8)
    >>> covered_items(ratings, np.array([[0, -1], [1, 0]], dtype=np.int32)).tolist()
    [[True, False], [True, True]]
    """
    if cutoff < 1:
        raise ValueError(f"cutoff is {cutoff}, expected 1 or more")
    reached = ratings >= min_grade
    # The last row covers nothing: it is what -1 points at.
    with_outside = np.concatenate([reached, np.zeros((1, ratings.shape[1]), dtype=np.bool_)])
    of_top: NDArray[np.bool_] = with_outside[ranked[:, :cutoff]]
    return np.asarray(of_top.any(axis=1))


def deciding_rows(ratings: Ratings, ranked: Rows, *, cutoff: int = 20) -> NDArray[np.int32]:
    """Shape (runs, items): the row of the passage that decides whether a run covers an item, of its first
    `cutoff` passages the one rated highest, the first of several; -1 for one outside the pool.

    >>> ratings = np.array([[4, 0], [4, 5], [1, -1]], dtype=np.int8)
    >>> deciding_rows(ratings, np.array([[0, 1], [2, -1]], dtype=np.int32)).tolist()
    [[0, 1], [2, 2]]
    """
    top = ranked[:, :cutoff]
    if not top.shape[1]:
        return np.full((len(top), ratings.shape[1]), -1, dtype=np.int32)
    outside = np.full((1, ratings.shape[1]), MISSING, dtype=np.int8)
    best = np.concatenate([ratings, outside])[top].argmax(axis=1)
    return np.asarray(np.take_along_axis(top, best, axis=1), dtype=np.int32)


def cover(ratings: Ratings, ranked: Rows, *, cutoff: int = 20, min_grade: int = 4) -> NDArray[np.float64]:
    """Shape (runs,): covered items / all items of the topic (0..1); NaN where the topic has no items.

    Workbench, Figure 1: passages rated (4 4 0 0 4), (5 0 0 4 4) and (0 0 4 0 4) cover 5 of 5 items together
    at t = 4, the first alone 3 of 5.

    >>> ratings = np.array([[4, 4, 0, 0, 4], [5, 0, 0, 4, 4], [0, 0, 4, 0, 4]], dtype=np.int8)
    >>> cover(ratings, np.array([[0, 1, 2], [0, -1, -1]], dtype=np.int32)).tolist()
    [1.0, 0.6]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return _share(covered.sum(axis=1), ratings.shape[1])


def normalised_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = 20, min_grade: int = 4
) -> NDArray[np.float64]:
    """Shape (runs,): covered items / items that any passage of the matrix covers; NaN where none does.

    The normalised cover of the Workbench (Dietz 2024), 6.

    >>> ratings = np.array([[4, 0, 0], [0, 5, 0]], dtype=np.int8)
    >>> normalised_cover(ratings, np.array([[0], [-1]], dtype=np.int32)).tolist()
    [0.5, 0.0]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return _share(covered.sum(axis=1), int((ratings >= min_grade).any(axis=0).sum()))


def weighted_cover(
    ratings: Ratings,
    ranked: Rows,
    weights: Sequence[float],
    *,
    cutoff: int = 20,
    min_grade: int = 4,
) -> NDArray[np.float64]:
    """Shape (runs,): weights of the covered items / sum of the weights above 0; NaN without any such.

    `weights` has one number an item. An item to avoid has a weight below 0: covering it costs, so a score may
    be below 0, and 1 is to cover all that is asked and nothing to avoid.

    >>> ratings = np.array([[4, 4, 5]], dtype=np.int8)
    >>> ranked = np.array([[0], [-1]], dtype=np.int32)
    >>> weighted_cover(ratings, ranked, [1.0, 0.5, -1.0]).round(4).tolist()
    [0.3333, 0.0]
    """
    each = np.asarray(weights, dtype=np.float64)
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return _share(covered @ each, float(each[each > 0].sum()))


def workbench_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = 20, min_grade: int = 4
) -> NDArray[np.float64]:
    """Shape (runs,): covered items / items rated on any passage; 0 where none is.

    The definition of the Autograder Workbench, whose denominator knows no bank.
    Which runs it leaves out is the caller's: a topic that a run lacks is in no mean of that run.

    >>> ratings = np.array([[4, 0, -1]], dtype=np.int8)
    >>> workbench_cover(ratings, np.array([[0]], dtype=np.int32)).tolist()
    [0.5]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    rated = int((ratings >= MIN_RATING).any(axis=0).sum())
    return _share(covered.sum(axis=1), max(rated, 1))


def _share(counts: NDArray[np.int64] | NDArray[np.float64], whole: float) -> NDArray[np.float64]:
    if whole == 0:
        return np.full(counts.shape, np.nan)
    return counts / np.float64(whole)
