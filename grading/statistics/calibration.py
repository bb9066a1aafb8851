"""How far a grader's ratings are those of people: agreement, what each rating is worth, and bias by group.

Intervals and tests are over topics: cells of one topic are not independent. Groups are compared with the
other cells all at once: `bias_p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, divide_or_zero, none_if_nan
from grading.statistics import max_t
from grading.statistics.agreement import COEFFICIENT, contingencies, weighted_kappa
from grading.statistics.mean_intervals import MIN_TOPICS, UNDEFINED, ConfidenceInterval, statistic_interval
from grading.types import MAX_RATING

LEVELS = tuple(range(MAX_RATING + 1))
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Group = tuple[str, Mask]
"""A name, and which cells are of the group, shape (cells,); groups may overlap."""
_SHARE = (0.0, 1.0)
_RATING = (0.0, float(MAX_RATING))
_BIAS = (-float(MAX_RATING), float(MAX_RATING))


@dataclass(frozen=True, eq=False)
class RatedCells:
    """Cells that people and the grader rated. Each array has shape (cells,); ratings are 0 to 5."""

    grader: Ints
    human: Ints
    topics: Ints
    """Any number that is the same for cells of one topic."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """NaN without cells; the interval needs MIN_TOPICS topics, and topics that differ."""

    value: float
    interval: ConfidenceInterval

    @property
    def as_json(self) -> dict[str, float | None]:
        """Return the value and both ends; None for NaN."""
        ends = {"value": self.value, "low": self.interval.low, "high": self.interval.high}
        return {name: none_if_nan(number) for name, number in ends.items()}


@dataclass(frozen=True, slots=True)
class RatingRow:
    """What one rating of the grader is worth."""

    rating: int
    cells: int
    human_rating: Estimate
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
    p: float
    """The p-value of `beyond_others`, adjusted for all groups of the table; NaN if not compared."""

    @property
    def is_clear(self) -> bool:
        return self.p <= max_t.ALPHA


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
    >>> [(row.rating, row.cells, row.human_rating.value, row.reached.value) for row in found.by_rating]
    [(0, 1, 0.0, 0.0), (2, 1, 1.0, 0.0), (4, 1, 2.0, 0.0), (5, 1, 5.0, 1.0)]
    """
    difference = (cells.grader - cells.human).astype(np.float64)
    whole, size = np.ones(len(difference), dtype=np.bool_), np.abs(difference)
    means = _Means(cells.topics)
    return Calibration(
        cells=len(difference),
        topics=means.n_topics,
        same=means.of(size == 0, whole, _SHARE),
        near=means.of(size <= 1, whole, _SHARE),
        kappa=_kappa(cells),
        bias=means.of(difference, whole, _BIAS),
        by_rating=tuple(
            RatingRow(
                rating,
                int(rated.sum()),
                means.of(cells.human, rated, _RATING),
                means.of(cells.human >= min_grade, rated, _SHARE),
            )
            for rating in LEVELS
            if (rated := cells.grader == rating).any()
        ),
    )


def biases(cells: RatedCells, groups: Sequence[Group]) -> tuple[Bias, ...]:
    """Return the bias of each group, in their order, and whether it is clearly another than elsewhere."""
    difference, means = (cells.grader - cells.human).astype(np.float64), _Means(cells.topics)
    return tuple(
        Bias(
            name,
            int(mask.sum()),
            means.of(difference, mask, _BIAS),
            means.contrast(difference, mask),
            float(p),
        )
        for (name, mask), p in zip(groups, bias_p(cells, groups), strict=True)
    )


def bias_p(cells: RatedCells, groups: Sequence[Group]) -> Floats:
    """Return an array of shape (groups,): p-values of each group's bias being that of the other cells.

    All groups that have MIN_TOPICS topics, as their other cells have, are compared by one test, so that with
    a chance of 1 - max_t.ALPHA none is called clear where the grader has no bias (`max_t.adjusted_p`). It
    flips the signs of what topics add to the contrasts: by the scores of a regression on the group in which
    nothing differs, as in the wild cluster bootstrap with the null imposed (Cameron, Gelbach and Miller 2008,
    Review of Economics and Statistics 90), each in units of its own spread. NaN for groups of fewer topics.
    """
    difference, means = (cells.grader - cells.human).astype(np.float64), _Means(cells.topics)
    p = np.full(len(groups), np.nan)
    compared = [place for place, (_, mask) in enumerate(groups) if means.are_enough(mask)]
    if compared and means.n_topics >= max_t.MIN_TOPICS:
        scores = np.array([means.scores(difference, groups[place][1]) for place in compared])
        p[compared] = max_t.adjusted_p(scores)
    return p


class _Means:
    """Means over some of the cells, with intervals over topics."""

    def __init__(self, topics: Ints) -> None:
        names, self._topic = np.unique(topics, return_inverse=True)
        self.n_topics = len(names)

    def of(self, values: NDArray[np.generic], mask: Mask, bounds: tuple[float, float]) -> Estimate:
        sums = self._sums(values, mask)
        return Estimate(float(_mean(sums.sum(axis=0))), statistic_interval(sums, _mean, bounds=bounds))

    def contrast(self, values: NDArray[np.generic], mask: Mask) -> Estimate:
        """Return the mean over the cells of the mask less that over the others; NaN without others."""
        sums = np.stack([self._sums(values, mask), self._sums(values, ~mask)], axis=1)
        value = float(_difference(sums.sum(axis=0)))
        enough = self.are_enough(mask)
        return Estimate(value, statistic_interval(sums, _difference) if enough else UNDEFINED)

    def scores(self, values: Floats, mask: Mask) -> Floats:
        """Return, by topic, what it adds to the contrast where nothing differs; of mean square 1."""
        products = (mask - mask.mean()) * (values - values.mean())
        by_topic = np.bincount(self._topic, weights=products, minlength=self.n_topics)
        return divide_or_zero(by_topic, np.sqrt((by_topic**2).mean()))

    def are_enough(self, mask: Mask) -> bool:
        """Return whether both the cells of the mask and the others have MIN_TOPICS topics."""
        return all(len(np.unique(self._topic[some])) >= MIN_TOPICS for some in (mask, ~mask))

    def _sums(self, values: NDArray[np.generic], mask: Mask) -> Floats:
        """Return, by topic, the sum of values and the number of cells; shape (topics, 2)."""
        topics = self._topic[mask]
        sums = np.bincount(topics, weights=values[mask].astype(np.float64), minlength=self.n_topics)
        return np.stack([sums, np.bincount(topics, minlength=self.n_topics)], axis=1)


def _mean(sums: Floats) -> Floats:
    return divide(sums[..., 0], sums[..., 1])


def _difference(sums: Floats) -> Floats:
    means = _mean(sums)
    return np.asarray(means[..., 0] - means[..., 1])


def _kappa(cells: RatedCells) -> Estimate:
    tables = contingencies(cells.grader, cells.human, cells.topics, levels=LEVELS)
    return Estimate(
        float(weighted_kappa(tables.sum(axis=0))),
        statistic_interval(tables, weighted_kappa, bounds=COEFFICIENT),
    )


def thirds(values: Floats) -> dict[str, Mask]:
    """Return cells by size: "short", "middle", "long"; equal values stay together, so thirds may differ.

    >>> {name: mask.sum() for name, mask in thirds(np.array([1.0, 2, 3, 4, 5, 6])).items()}
    {'short': np.int64(2), 'middle': np.int64(2), 'long': np.int64(2)}
    """
    if not len(values):
        return {}
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    parts = {"short": values <= low, "middle": (values > low) & (values <= high), "long": values > high}
    return {name: mask for name, mask in parts.items() if mask.any()}
