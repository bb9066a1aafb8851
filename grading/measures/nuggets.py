"""Nugget scores of an answer: how much of the vital nuggets, and of all, it supports.

Pradeep et al. 2024, "AutoNuggetizer" (arXiv 2411.09607), for assignments support, partial_support and
not_support. An answer of several passages supports what its best passage supports.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grading.measures.rubric_cover import Rows
from grading.types import Importance, Ratings

Weighed = tuple[Importance, float]
"""A nugget's importance, and its weight."""


class NuggetScore(StrEnum):
    """STRICT counts full support only; the others give half a credit for partial support."""

    STRICT_VITAL = "strict_vital"
    STRICT_ALL = "strict_all"
    VITAL = "vital"
    ALL = "all"
    WEIGHTED = "weighted"
    """All nuggets by their weights: vital 1, okay 0.5."""
    STRICT_WEIGHTED = "strict_weighted"


def nugget_score(
    supported: NDArray[np.float64], nuggets: Sequence[Weighed], score: NuggetScore
) -> NDArray[np.float64]:
    """Shape (runs,): credit of the nuggets that `score` looks at / their number or weight; 0 without any.

    `supported` is of shape (runs, nuggets), as `support` makes it. A nugget to avoid belongs to the weighted
    scores only, where its weight is below 0. A failed assignment is no credit and stays in the denominator.

    >>> supported = np.array([[1.0, 0.5, 1.0, 0.0]])
    >>> nuggets = [(Importance.VITAL, 1.0)] * 2 + [(Importance.OKAY, 0.5)] * 2
    >>> [nugget_score(supported, nuggets, score).round(4).item() for score in NuggetScore]
    [0.5, 0.5, 0.75, 0.625, 0.6667, 0.5]
    """
    given = np.where(supported == 1, 1.0, 0.0) if score.startswith("strict") else supported
    each = np.array([_worth(importance, weight, score) for importance, weight in nuggets], dtype=np.float64)
    whole = float(each[each > 0].sum())
    return np.asarray(given @ each / whole) if whole else np.zeros(len(supported))


def _worth(importance: Importance, weight: float, score: NuggetScore) -> float:
    if score in (NuggetScore.WEIGHTED, NuggetScore.STRICT_WEIGHTED):
        return weight
    if score in (NuggetScore.VITAL, NuggetScore.STRICT_VITAL):
        return float(importance is Importance.VITAL)
    return float(importance is not Importance.AVOID)


def support(
    ratings: Ratings, ranked: Rows, *, cutoff: int = 20, full: int = 2, partial: int = 1
) -> NDArray[np.float64]:
    """Shape (runs, nuggets): 1 where one of the first `cutoff` passages is rated `full` or more, 0.5 where
    one is rated `partial` or more, else 0.

    >>> ratings = np.array([[2, 1, 0], [0, 0, -2]], dtype=np.int8)
    >>> support(ratings, np.array([[0, 1]], dtype=np.int32), cutoff=2).tolist()
    [[1.0, 0.5, 0.0]]
    """
    with_outside = np.concatenate([ratings, np.full((1, ratings.shape[1]), -1, dtype=np.int8)])
    top = with_outside[ranked[:, :cutoff]]
    best = top.max(axis=1) if top.shape[1] else np.full((len(ranked), ratings.shape[1]), -1)
    return np.where(best >= full, 1.0, np.where(best >= partial, 0.5, 0.0))
