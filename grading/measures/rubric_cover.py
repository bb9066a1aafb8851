"""Rubric-Cover@k: the share of a topic's items that a run's first k passages cover.

|{items rated >= t on at least one of the first k passages}| / |items of the bank|. Passages that are not
graded or not pooled cover nothing. With k = 20 and t = 4 in TREMA-UNH at TREC RAG (Farzi and Dietz 2024),
6.3.1.
"""

from __future__ import annotations

import numpy as np

from grading.arrays import divide
from grading.measures.base import (
    CUTOFF,
    MIN_GRADE,
    CellCredits,
    Floats,
    Formula,
    GradedTopic,
    ItemMeasure,
    Rows,
    ShortName,
)
from grading.measures.covered import covered_items
from grading.types import MIN_RATING, Ratings


def cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / all items of the topic, shape (runs,); NaN where the topic has no items.

    Workbench, Figure 1: passages rated (4 4 0 0 4), (5 0 0 4 4) and (0 0 4 0 4) cover 5 of 5 items together
    at t = 4, the first alone 3 of 5.

    >>> ratings = np.array([[4, 4, 0, 0, 4], [5, 0, 0, 4, 4], [0, 0, 4, 0, 4]], dtype=np.int8)
    >>> cover(ratings, np.array([[0, 1, 2], [0, -1, -1]], dtype=np.int32)).tolist()
    [1.0, 0.6]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), ratings.shape[1])


def workbench_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / items rated on any passage, shape (runs,); 0 where none is.

    The definition of the Autograder Workbench, whose denominator knows no bank.
    Which runs it leaves out is the caller's: a topic that a run lacks is in no mean of that run.

    >>> ratings = np.array([[4, 0, -1]], dtype=np.int8)
    >>> workbench_cover(ratings, np.array([[0]], dtype=np.int32)).tolist()
    [0.5]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), max(_rated_items(ratings), 1))


def _rated_items(ratings: Ratings) -> int:
    return int((ratings >= MIN_RATING).any(axis=0).sum())


def equal_worths(topic: GradedTopic, n_items: int) -> Floats:
    """Return 1 / `n_items` for each item of the topic, shape (items,); NaN where `n_items` is 0."""
    return divide(np.ones(len(topic.items)), n_items)


RUBRIC_COVER = ItemMeasure(
    name="rubric_cover",
    label="Rubric-Cover",
    denominator="covered items / all items of the topic",
    citation="Farzi and Dietz 2024 (EXAM++), 4.3.1; Dietz 2024 (Workbench), 4.5",
    scores=lambda topic: cover(topic.ratings, topic.ranked, **topic.reach),
    worths=lambda topic: equal_worths(topic, len(topic.items)),
    workbench=Formula(
        scores=lambda topic: workbench_cover(topic.ratings, topic.ranked, **topic.reach),
        denominator="covered items / items rated on any passage of the topic",
        worths=lambda topic: equal_worths(topic, _rated_items(topic.ratings)),
    ),
    short_names={f"cover-{grade}": ShortName("rubric_cover", min_grade=grade) for grade in range(1, 6)},
    suggested=("rubric_cover",),
    has_estimate=True,
    cells=CellCredits(
        credit=lambda ratings, min_grade: (ratings >= min_grade).astype(np.float64),
        worths=lambda topic: equal_worths(topic, len(topic.items)),
    ),
)
