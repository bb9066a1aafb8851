"""Normalised cover@k: covered items as a share of those that the pool can cover at all."""

from __future__ import annotations

import numpy as np

from grading.arrays import divide
from grading.measures.base import CUTOFF, MIN_GRADE, Floats, Formula, GradedTopic, ItemMeasure, Rows
from grading.measures.covered import covered_items
from grading.measures.rubric_cover import equal_worths
from grading.types import Ratings

DENOMINATOR = "covered items / items that any passage of the pool covers"


def normalised_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / items that any passage of the matrix covers, shape (runs,); NaN where none does.

    >>> ratings = np.array([[4, 0, 0], [0, 5, 0]], dtype=np.int8)
    >>> normalised_cover(ratings, np.array([[0], [-1]], dtype=np.int32)).tolist()
    [0.5, 0.0]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), _coverable_items(ratings, min_grade))


def _coverable_items(ratings: Ratings, min_grade: int) -> int:
    return int((ratings >= min_grade).any(axis=0).sum())


def _scores(topic: GradedTopic) -> Floats:
    return normalised_cover(topic.ratings, topic.ranked, **topic.reach)


def _worths(topic: GradedTopic) -> Floats:
    return equal_worths(topic, _coverable_items(topic.ratings, topic.min_grade))


NORMALISED_COVER = ItemMeasure(
    name="normalised_cover",
    label="Normalised cover",
    denominator=DENOMINATOR,
    citation="Dietz 2024 (Workbench), 6",
    scores=_scores,
    worths=_worths,
    workbench=Formula(lambda topic: np.nan_to_num(_scores(topic)), DENOMINATOR, _worths),
    suggested=("normalised_cover",),
)
