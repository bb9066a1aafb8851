"""Nugget scores of an answer: how much of the vital nuggets, and of all, it supports.

Pradeep et al. 2024, "AutoNuggetizer" (arXiv 2411.09607), for assignments support, partial_support and
not_support. An answer of several passages supports what its best passage supports.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from grading.arrays import divide_or_zero, take_rows
from grading.measures.base import CUTOFF, CellCredits, Floats, GradedTopic, ItemMeasure, Rows, Weighed
from grading.types import MISSING, Importance, Ratings


class NuggetScore(StrEnum):
    """STRICT counts full support only; the others give half a credit for partial support."""

    STRICT_VITAL = "strict_vital"
    STRICT_ALL = "strict_all"
    VITAL = "vital"
    ALL = "all"
    WEIGHTED = "weighted"
    """All nuggets by their weights: vital 1, okay 0.5."""
    STRICT_WEIGHTED = "strict_weighted"


def nugget_score(supported: Floats, nuggets: Sequence[Weighed], score: NuggetScore) -> Floats:
    """Return the credit of the nuggets that `score` looks at / their number or weight, shape (runs,); 0
    without any such nugget.

    `supported` is of shape (runs, nuggets), as `support` makes it. A nugget to avoid belongs to the weighted
    scores only, where its weight is below 0. A failed assignment is no credit and stays in the denominator.

    >>> supported = np.array([[1.0, 0.5, 1.0, 0.0]])
    >>> nuggets = [(Importance.VITAL, 1.0)] * 2 + [(Importance.OKAY, 0.5)] * 2
    >>> [nugget_score(supported, nuggets, score).round(4).item() for score in NuggetScore]
    [0.5, 0.5, 0.75, 0.625, 0.6667, 0.5]
    """
    given = np.where(supported == 1, 1.0, 0.0) if score.startswith("strict") else supported
    each = np.array([_worth(importance, weight, score) for importance, weight in nuggets], dtype=np.float64)
    return divide_or_zero(given @ each, float(each[each > 0].sum()))


def _worth(importance: Importance, weight: float, score: NuggetScore) -> float:
    if score in (NuggetScore.WEIGHTED, NuggetScore.STRICT_WEIGHTED):
        return weight
    if score in (NuggetScore.VITAL, NuggetScore.STRICT_VITAL):
        return float(importance is Importance.VITAL)
    return float(importance is not Importance.AVOID)


def support(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, full: int = 2, partial: int = 1
) -> Floats:
    """Return, shape (runs, nuggets), 1 where one of the first `cutoff` passages is rated `full` or more, 0.5
    where one is rated `partial` or more, else 0.

    >>> ratings = np.array([[2, 1, 0], [0, 0, -2]], dtype=np.int8)
    >>> support(ratings, np.array([[0, 1]], dtype=np.int32), cutoff=2).tolist()
    [[1.0, 0.5, 0.0]]
    """
    top = take_rows(ratings, ranked[:, :cutoff], outside=MISSING)
    best = top.max(axis=1) if top.shape[1] else np.full((len(ranked), ratings.shape[1]), MISSING)
    return np.where(best >= full, 1.0, np.where(best >= partial, 0.5, 0.0))


def partial_grade(min_grade: int) -> int:
    """Return the lowest grade that is partial support: half of that of full support, rounded up.

    >>> partial_grade(2), partial_grade(5)
    (1, 3)
    """
    return (min_grade + 1) // 2


_DENOMINATORS = {
    NuggetScore.STRICT_VITAL: "credit / vital nuggets",
    NuggetScore.STRICT_ALL: "credit / vital and okay nuggets",
    NuggetScore.VITAL: "credit / vital nuggets",
    NuggetScore.ALL: "credit / vital and okay nuggets",
    NuggetScore.WEIGHTED: "weighted credit / sum of the weights above 0",
    NuggetScore.STRICT_WEIGHTED: "weighted credit / sum of the weights above 0",
}
_SUPPORT = "support is a grade >= {min_grade}, partial support >= {partial_grade}"


def _measure(score: NuggetScore) -> ItemMeasure:
    def scores(topic: GradedTopic) -> Floats:
        if not topic.items:
            return np.full(len(topic.ranked), np.nan)
        full, partial = topic.min_grade, partial_grade(topic.min_grade)
        supported = support(topic.ratings, topic.ranked, cutoff=topic.cutoff, full=full, partial=partial)
        return nugget_score(supported, topic.items, score)

    def credit(ratings: Ratings, full: int) -> Floats:
        partial = 0.0 if score.startswith("strict") else 0.5
        return np.where(ratings >= full, 1.0, np.where(ratings >= partial_grade(full), partial, 0.0))

    def worths(topic: GradedTopic) -> Floats:
        each = np.array([_worth(importance, weight, score) for importance, weight in topic.items])
        return divide_or_zero(each, float(each[each > 0].sum()))

    name = f"nuggets_{score}"
    return ItemMeasure(
        name=name,
        label=f"Nuggets, {score.replace('_', ' ')}",
        denominator=f"{_DENOMINATORS[score]}; {_SUPPORT}",
        citation="Pradeep et al. 2024 (AutoNuggetizer)",
        scores=scores,
        suggested=(name,),
        cells=CellCredits(credit, worths),
        is_of_vital=score in (NuggetScore.VITAL, NuggetScore.STRICT_VITAL),
    )


NUGGET_SCORES = tuple(_measure(score) for score in NuggetScore)
