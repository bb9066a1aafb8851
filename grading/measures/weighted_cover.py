"""Weighted cover@k: Rubric-Cover with the weights of the bank's items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grading.arrays import divide
from grading.measures.base import CUTOFF, MIN_GRADE, Floats, ItemMeasure, Rows
from grading.measures.covered import covered_items
from grading.types import Ratings


def weighted_cover(
    ratings: Ratings,
    ranked: Rows,
    weights: Sequence[float],
    *,
    cutoff: int = CUTOFF.default,
    min_grade: int = MIN_GRADE.default,
) -> Floats:
    """Return weights of the covered items / sum of the weights above 0, shape (runs,); NaN without any such.

    `weights` has one number an item. An item to avoid has a weight below 0: covering it costs, so a score may
    be below 0, and 1 is to cover all that is asked and nothing to avoid.

    >>> ratings = np.array([[4, 4, 5]], dtype=np.int8)
    >>> ranked = np.array([[0], [-1]], dtype=np.int32)
    >>> weighted_cover(ratings, ranked, [1.0, 0.5, -1.0]).round(4).tolist()
    [0.3333, 0.0]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered @ np.asarray(weights, dtype=np.float64), _whole(weights))


def _whole(weights: Sequence[float]) -> float:
    each = np.asarray(weights, dtype=np.float64)
    return float(each[each > 0].sum())


WEIGHTED_COVER = ItemMeasure(
    name="weighted_cover",
    label="Weighted cover",
    denominator="weight of covered items / sum of the weights above 0",
    citation="weights: Pradeep et al. 2024 (AutoNuggetizer); of items to avoid: ours",
    scores=lambda topic: weighted_cover(topic.ratings, topic.ranked, topic.weights, **topic.reach),
    worths=lambda topic: divide(topic.weights, _whole(topic.weights)),
    suggested=("weighted_cover",),
)
