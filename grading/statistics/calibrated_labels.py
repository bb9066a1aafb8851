"""What a grade is worth as a relevance label, learned from cells that people rated too.

The highest grade of a passage is a heuristic for its label, to be calibrated where people's ratings are at
hand (TREMA-UNH at TREC RAG, Farzi and Dietz 2024, 6.3.2). Here a grade becomes the rating that people give
such cells: their mean, rounded. It is fitted by isotonic regression on the grade, so that a higher grade is
never worth less. A topic's own ratings never make its own labels: its map is fitted on the other topics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.errors import GradingError
from grading.statistics.agreement import contingencies
from grading.statistics.calibration import LEVELS, Estimate, RatedCells
from grading.statistics.mean_intervals import UNDEFINED, ConfidenceInterval, statistic_interval
from grading.types import MAX_RATING

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
LabelMap = tuple[int, ...]
"""The label of each grade, 0 to MAX_RATING."""
ENOUGH_CELLS = 50
"""Fewer rated cells say too little of six grades."""
ENOUGH_TOPICS = 10
"""With fewer topics the intervals are too short; docs/certainty.md has what they hold."""
ENOUGH_OF_GRADE = 10
"""The interval of a grade with fewer cells is taken with its neighbours."""


class TooFewRatings(GradingError):
    """Raised where too few cells, or cells of too few topics, were rated by people and the grader."""


@dataclass(frozen=True, slots=True)
class LabelMaps:
    """The map from grades to labels of each topic."""

    usual: LabelMap
    """Fitted on all topics; for topics without ratings, and for those whose own ratings change nothing."""
    others: tuple[tuple[int, LabelMap], ...] = ()
    """The topics whose map, fitted without their own ratings, differs."""
    cells: int = 0
    """Cells rated by people and the grader that the maps are fitted on."""
    topics: int = 0

    def of(self, topic: int) -> LabelMap:
        return dict(self.others).get(topic, self.usual)

    def labels(self, topic: int, grades: NDArray[np.int16]) -> NDArray[np.int16]:
        """Return the labels of a topic's grades, any shape; those below 0 (no grade) stay as they are.

        >>> LabelMaps((0, 0, 1, 1, 3, 4)).labels(7, np.array([5, 4, -1], dtype=np.int16)).tolist()
        [4, 3, -1]
        """
        by_grade = np.array(self.of(topic), dtype=np.int16)
        return np.where(grades < 0, grades, by_grade[np.maximum(grades, 0)])


@dataclass(frozen=True, slots=True)
class LabelRow:
    """What one grade is worth, fitted on all topics."""

    grade: int
    cells: int
    """How many rated cells have it; without any it lies between its neighbours."""
    label: int
    expected: Estimate
    """The mean of people's ratings."""
    reached: Estimate
    """The chance that people rate such a cell at or above the threshold."""


def isotonic(sums: Floats, weights: Floats) -> Floats:
    """Return the non-decreasing means closest to sums / weights, shape (..., levels), by weighted squares.

    By the min-max formulas (Robertson, Wright and Dykstra 1988, 1.4), so that many tables are one call. A
    level of weight 0 lies in the middle of its neighbours; NaN where all weights are 0.

    >>> isotonic(np.array([0.0, 3.0, 1.0, 0.0, 4.0]), np.array([2.0, 2.0, 2.0, 0.0, 1.0])).tolist()
    [0.0, 1.0, 1.0, 2.5, 4.0]
    """
    levels = sums.shape[-1]
    low = np.full(sums.shape, -np.inf)
    high = np.full(sums.shape, np.inf)
    means = _block_means(sums, weights)
    first, last = np.arange(levels)[:, np.newaxis], np.arange(levels)
    for level in range(levels):
        is_around = (first <= level) & (last >= level)
        around = np.where(is_around, means, np.nan)
        least = np.fmin.reduce(around, axis=-1)
        greatest = np.fmax.reduce(around, axis=-2)
        low[..., level] = np.fmin.reduce(greatest, axis=-1)
        high[..., level] = np.fmax.reduce(least, axis=-1)
    return np.asarray((low + high) / 2)


def _block_means(sums: Floats, weights: Floats) -> Floats:
    """Return the mean of the levels from one to another, shape (..., from, to); NaN for no weight."""
    empty = np.zeros((*sums.shape[:-1], 1))
    total = np.concatenate([empty, sums.cumsum(axis=-1)], axis=-1)
    weight = np.concatenate([empty, weights.cumsum(axis=-1)], axis=-1)
    return divide(
        total[..., np.newaxis, 1:] - total[..., :-1, np.newaxis],
        weight[..., np.newaxis, 1:] - weight[..., :-1, np.newaxis],
    )


def label_maps(cells: RatedCells) -> LabelMaps:
    """Return each topic's map, fitted on the cells of the other topics.

    Raises TooFewRatings with fewer than ENOUGH_CELLS cells or ENOUGH_TOPICS topics.

    >>> topics = np.repeat(np.arange(10), 6)
    >>> maps = label_maps(RatedCells(np.tile([0, 4, 5], 20), np.where(topics, 3, 0), topics))
    >>> maps.of(0), maps.of(1)
    ((3, 3, 3, 3, 3, 3), (3, 3, 3, 3, 3, 3))
    """
    tables = _tables(cells)
    total = tables.sum(axis=0)
    if total.sum() < ENOUGH_CELLS or len(tables) < ENOUGH_TOPICS:
        raise TooFewRatings(
            f"people rated {total.sum()} pairs that the grader graded, of {len(tables)} topics: calibrated "
            f"labels take {ENOUGH_CELLS} pairs of {ENOUGH_TOPICS} topics"
        )
    usual, *others = _maps(np.stack([total, *(total - tables)]))
    topics = np.unique(cells.topics).tolist()
    return LabelMaps(
        usual,
        tuple((topic, of) for topic, of in zip(topics, others, strict=True) if of != usual),
        cells=int(total.sum()),
        topics=len(tables),
    )


def label_rows(cells: RatedCells, *, min_grade: int) -> tuple[LabelRow, ...]:
    """Return what each grade is worth, fitted on all topics, with intervals over topics.

    `min_grade` is the threshold of `LabelRow.reached`.
    """
    tables = _tables(cells)
    (labels,) = _maps(tables.sum(axis=0)[np.newaxis])
    expected = _estimates(tables, np.array(LEVELS), (0.0, float(MAX_RATING)))
    reached = _estimates(tables, (np.array(LEVELS) >= min_grade).astype(np.int64), (0.0, 1.0))
    rows = zip(LEVELS, tables.sum(axis=(0, 2)).tolist(), labels, expected, reached, strict=True)
    return tuple(LabelRow(*row) for row in rows)


def _tables(cells: RatedCells) -> Counts:
    """Return by topic how many cells have each grade and rating, shape (topics, grades, ratings)."""
    return contingencies(cells.grader, cells.human, cells.topics, levels=LEVELS)


def _maps(tables: Counts) -> list[LabelMap]:
    """Return the map of each table, of shape (tables, grades, ratings)."""
    sums, weights = (tables @ np.array(LEVELS)).astype(np.float64), tables.sum(axis=-1).astype(np.float64)
    return [tuple(labels) for labels in np.floor(isotonic(sums, weights) + 0.5).astype(int).tolist()]


def _estimates(tables: Counts, values: Counts, bounds: tuple[float, float]) -> list[Estimate]:
    """Return by grade the fitted mean of `values` of the ratings, with its interval over topics."""
    each = np.stack([(tables * values).sum(axis=-1), tables.sum(axis=-1)], axis=-1).astype(np.float64)
    fitted = _fitted(each.sum(axis=0))
    return [Estimate(value, _interval(each, grade, bounds)) for grade, value in enumerate(fitted.tolist())]


def _fitted(sums: Floats) -> Floats:
    return isotonic(sums[..., 0], sums[..., 1])


def _interval(each: Floats, grade: int, bounds: tuple[float, float]) -> ConfidenceInterval:
    """Return the interval of the fit at one grade; `each` is of shape (topics, grades, 2): sum and number.

    Resampled topics take a rare grade for the frequent one beside it, whose ratings the fit lends to it: that
    interval alone held .69 of .95. But a mean that never falls from grade to grade is no lower than the mean
    over this grade and lower ones, and no higher than that over it and higher ones. The ends are the outer
    ones of both; such means are of this grade alone where it has ratings enough, else with its neighbours.
    """
    of_fit = statistic_interval(each, lambda sums: _fitted(sums)[..., grade], bounds=bounds)
    below = (_of_grades(each[:, first : grade + 1], bounds) for first in range(grade, -1, -1))
    above = (_of_grades(each[:, grade : last + 1], bounds) for last in range(grade, MAX_RATING + 1))
    fallback = ConfidenceInterval(*bounds)
    low = next((block for block in below if block.is_defined), fallback).low
    high = next((block for block in above if block.is_defined), fallback).high
    if not of_fit.is_defined:
        return ConfidenceInterval(low, high)
    return ConfidenceInterval(min(low, of_fit.low), max(high, of_fit.high))


def _of_grades(each: Floats, bounds: tuple[float, float]) -> ConfidenceInterval:
    """Return the interval of the mean over some grades; undefined for too few ratings."""
    of_topics = each.sum(axis=1)
    if of_topics[:, 1].sum() < ENOUGH_OF_GRADE:
        return UNDEFINED
    return statistic_interval(of_topics, lambda sums: divide(sums[..., 0], sums[..., 1]), bounds=bounds)
