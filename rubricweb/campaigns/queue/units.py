"""What a sample for scores that are sums is drawn from: cells of answers, or passages with all their cells.

Each unit is drawn with a chance that grows with what it adds to the runs' standard errors, half of it by the
chance that people turn what the grader says (`ordering.flip_chances`); `grading.statistics.cover_sample`
has the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grading.statistics.cover_sample import A_RUN, chances_of, expected_half_width, size_for
from rubricweb.campaigns.queue.ordering import Cells, Floats

Place = tuple[int, tuple[int, int]]
"""The number of a topic; a row and a column."""


@dataclass(frozen=True, eq=False)
class SampledUnits:
    cells: tuple[tuple[Place, ...], ...]
    """By unit: the cells that settle it."""
    chances: Floats
    """By unit: of being drawn."""
    size: int
    """How many units are drawn."""
    half_width: float | None
    """Of the interval of the score of a middling run, expected; None without units."""


def sampled_units(
    topics: Sequence[Cells], flips: Sequence[Floats], *, are_passages: bool, n_cells: int | None
) -> SampledUnits:
    """Gather the units of what the runs rank, and how many of them `n_cells` cells are; by default as many as
    give the mean run A_RUN units.

    `flips` has, by topic, the shape (passages, items): the chance that people turn the grader's rating.
    """
    places: list[tuple[Place, ...]] = []
    doubts, weights = [], []
    for number, (cells, flip) in enumerate(zip(topics, flips, strict=True)):
        n_items = flip.shape[1]
        rows = np.flatnonzero(cells.in_top.any(axis=0))
        each = [[(number, (row, column)) for column in range(n_items)] for row in rows.tolist()]
        of_runs = cells.in_top[:, rows] / np.maximum(cells.in_top.sum(axis=1, keepdims=True), 1) / len(topics)
        if are_passages:
            places += [tuple(cells_of) for cells_of in each]
            doubts.append(label_flips(cells.high[rows], flip[rows]))
            weights.append(of_runs)
        else:
            places += [(place,) for cells_of in each for place in cells_of]
            doubts.append(flip[rows].ravel())
            weights.append(np.repeat(of_runs / max(n_items, 1), n_items, axis=1))
    if not places:
        return SampledUnits((), np.zeros(0), 0, None)
    weighed, doubted = np.concatenate(weights, axis=1), np.concatenate(doubts)
    size = size_for(weighed, doubted, A_RUN)
    if n_cells is not None:
        size = min(len(places), max(1, round(n_cells * len(places) / sum(map(len, places)))))
    chances = chances_of(weighed, doubted, size)
    return SampledUnits(tuple(places), chances, size, expected_half_width(weighed, doubted, chances))


def label_flips(high: np.typing.NDArray[np.bool_], flips: Floats) -> Floats:
    """Return an array of shape (passages,): the chance that people turn whether a passage covers any item.

    >>> high = np.array([[True, False], [False, False]])
    >>> label_flips(high, np.array([[0.5, 0.2], [0.5, 0.2]])).round(2).tolist()
    [0.4, 0.6]
    """
    keeps_none = np.where(high, flips, 1 - flips).prod(axis=1)
    return np.asarray(np.where(high.any(axis=1), keeps_none, 1 - keeps_none))
