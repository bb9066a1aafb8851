"""Measures of the items that a run's first passages cover.

Rubric-Cover@k: the share of a topic's items that a run's first k passages cover.

|{items rated >= t on at least one of the first k passages}| / |items of the bank|. Passages that are not
graded or not pooled cover nothing. With k = 20 and t = 4 in TREMA-UNH at TREC RAG (Farzi and Dietz 2024),
6.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, take_rows
from grading.measures.base import (
    CUTOFF,
    MIN_GRADE,
    CellCredits,
    Floats,
    Formula,
    GradedTopic,
    ItemMeasure,
    Mask,
    Rows,
    ShortName,
)
from grading.types import MIN_RATING, MISSING, Ratings


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
