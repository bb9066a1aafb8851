"""How far a grader's ratings are those of people: agreement, what each rating is worth, and bias by group.

Intervals are percentiles over resampled topics: cells of one topic are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.agreement import ENOUGH_TOPICS, contingencies, over_topics, weighted_kappa
from grading.statistics.bootstrap import resamples
from grading.statistics.resampling import UNDEFINED, ConfidenceInterval, interval
from grading.types import MAX_RATING

LEVELS = tuple(range(MAX_RATING + 1))
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RatedCells:
    """Cells that people and the grader rated. Each array has shape (cells,); ratings are 0 to 5."""

    grader: Ints
    people: Ints
    topics: Ints
    """Any number that is the same for cells of one topic."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """NaN without cells; the interval needs ENOUGH_TOPICS topics, and cells that differ: a bootstrap of equal
    values would claim to be certain.
    """

    value: float
    interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class RatingRow:
    """What one rating of the grader is worth."""

    rating: int
    cells: int
    people: Estimate
    """The mean of people's ratings of these cells."""
    reached: Estimate
    """The share of these cells that people rate at or above the threshold."""


@dataclass(frozen=True, slots=True)
class Bias:
    """The mean of grader minus people over some of the cells, and that less the mean over the others."""

    name: str
    cells: int
    bias: Estimate
    beyond_others: Estimate


@dataclass(frozen=True, slots=True)
class Calibration:
    """A grader beside people on a sample of cells."""

    cells: int
    topics: int
    same: Estimate
    """The share of equal ratings."""
    near: Estimate
    """The share of ratings that differ by at most 1."""
    kappa: Estimate
    """Cohen's kappa with squared weights."""
    bias: Estimate
    """The mean of grader minus people."""
    by_rating: tuple[RatingRow, ...]


def calibration(cells: RatedCells, *, min_grade: int) -> Calibration:
    """Compare the ratings, 0 to 5; people's count as positive from `min_grade` on.

    >>> found = calibration(
    ...     RatedCells(np.array([5, 4, 0, 2]), np.array([5, 2, 0, 1]), np.array([1, 1, 2, 2])), min_grade=4
    ... )
    >>> found.same.value, found.near.value, found.bias.value, round(found.kappa.value, 3)
    (0.5, 0.75, 0.75, 0.839)
    >>> [(row.rating, row.cells, row.people.value, row.reached.value) for row in found.by_rating]
    [(0, 1, 0.0, 0.0), (2, 1, 1.0, 0.0), (4, 1, 2.0, 0.0), (5, 1, 5.0, 1.0)]
    """
    difference = (cells.grader - cells.people).astype(np.float64)
    whole, size = np.ones(len(difference), dtype=np.bool_), np.abs(difference)
    means = _Means(cells.topics)
    return Calibration(
        cells=len(difference),
        topics=means.n_topics,
        same=means.of(size == 0, whole),
        near=means.of(size <= 1, whole),
        kappa=_kappa(cells),
        bias=means.of(difference, whole),
        by_rating=tuple(
            RatingRow(
                rating,
                int(rated.sum()),
                means.of(cells.people, rated),
                means.of(cells.people >= min_grade, rated),
            )
            for rating in LEVELS
            if (rated := cells.grader == rating).any()
        ),
    )


def biases(cells: RatedCells, groups: Mapping[str, Mask]) -> tuple[Bias, ...]:
    """The bias by group; `groups` has the cells of each, shape (cells,), which may overlap."""
    difference, means = (cells.grader - cells.people).astype(np.float64), _Means(cells.topics)
    return tuple(
        Bias(name, int(mask.sum()), means.of(difference, mask), means.contrast(difference, mask))
        for name, mask in groups.items()
        if mask.any()
    )


class _Means:
    """Means over some of the cells, with intervals over resampled topics."""

    def __init__(self, topics: Ints) -> None:
        names, self._topic = np.unique(topics, return_inverse=True)
        self.n_topics = len(names)

    def of(self, values: NDArray[np.generic], mask: Mask) -> Estimate:
        value, sums = self._mean(values, mask)
        is_told = self._is_enough(mask) and len(np.unique(values[mask])) > 1
        return Estimate(value, interval(self._resampled(sums)) if is_told else UNDEFINED)

    def contrast(self, values: NDArray[np.generic], mask: Mask) -> Estimate:
        """The mean over the cells of the mask less that over the others; NaN where there are no others."""
        (inside, own), (outside, other) = self._mean(values, mask), self._mean(values, ~mask)
        if not (self._is_enough(mask) and self._is_enough(~mask)):
            return Estimate(inside - outside, UNDEFINED)
        return Estimate(inside - outside, interval(self._resampled(own) - self._resampled(other)))

    def _mean(self, values: NDArray[np.generic], mask: Mask) -> tuple[float, Floats]:
        """With the sums of values and of cells by topic, shape (2, topics)."""
        chosen = self._topic[mask]
        weights = values[mask].astype(np.float64)
        sums = np.bincount(chosen, weights=weights, minlength=self.n_topics)
        counts = np.bincount(chosen, minlength=self.n_topics).astype(np.float64)
        return float(divide(sums.sum(), counts.sum())), np.stack([sums, counts])

    def _resampled(self, sums: Floats) -> Floats:
        drawn = resamples(self.n_topics)
        return divide(drawn @ sums[0], drawn @ sums[1])

    def _is_enough(self, mask: Mask) -> bool:
        return len(np.unique(self._topic[mask])) >= ENOUGH_TOPICS


def _kappa(cells: RatedCells) -> Estimate:
    tables = contingencies(cells.grader, cells.people, cells.topics, levels=LEVELS)
    return Estimate(float(weighted_kappa(tables.sum(axis=0))), over_topics(tables, weighted_kappa))


def thirds(values: Floats) -> dict[str, Mask]:
    """Cells by size: "short", "middle", "long"; equal values stay together, so thirds may differ.

    >>> {name: mask.sum() for name, mask in thirds(np.array([1.0, 2, 3, 4, 5, 6])).items()}
    {'short': np.int64(2), 'middle': np.int64(2), 'long': np.int64(2)}
    """
    if not len(values):
        return {}
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    parts = {"short": values <= low, "middle": (values > low) & (values <= high), "long": values > high}
    return {name: mask for name, mask in parts.items() if mask.any()}
