"""Agreement of two or more who labelled the same things, and of people with the grader.

Agreement of two or more who labelled the same things: contingency tables, kappa, Krippendorff's alpha.

All functions take stacks: shape (..., categories, categories) gives shape (...), so that the tables without
each topic are one call (`mean_intervals.statistic_interval`).

Whether people agree with the grader as often on some passages as on others, over a sample of cells.

An estimate of people's scores from sampled cells assumes that they do, within the strata that it knows. A
score test looks for a trend: of what people say in a stratum and topic, is there more at or above the
threshold where a covariate of the passage is larger? The score of a covariate is the sum over the cells of
(verdict - mean of the stratum) x (covariate - mean of the stratum and topic). Topics are independent, cells
of a topic are not, so that chance is found by flipping the signs of the topics' sums (Canay, Romano and
Shaikh 2017, "Randomization Tests under an Approximate Symmetry Assumption", Econometrica 85), and several
covariates are tested together by `max_t.step_down`.

It can miss much: with 400 cells a mild trend more often than not, and any that is no trend in what it looks
at. `bench/estimated_cover.py` has how often it warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from grading.arrays import divide, divide_or_zero, take_rows
from grading.statistics.cover_estimate import NOT_RATED, Unit
from grading.statistics.max_t import MIN_TOPICS, step_down
from grading.statistics.mean_intervals import RESAMPLES, SEED

ENOUGH_CELLS = 10
"""A coefficient of fewer says nothing: "too few" is printed instead."""
COEFFICIENT = (-1.0, 1.0)
"""The range of kappa and alpha."""
Counts = NDArray[np.int64]
"""Shape (rows, columns): how often the first said the row's category and the second the column's."""
Labels = Sequence[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]
Floats = NDArray[np.float64]
FIXED_PAIRINGS = {
    2: {5: 3, 4: 3, 3: 2, 2: 2, 1: 2, 0: 0},
    1: {5: 2, 4: 2, 3: 1, 2: 1, 1: 1, 0: 0},
}
"""By the first relevant judgment: which judgment the papers pair each label of the 0 to 5 scale with.

Farzi and Dietz 2024 (RUBRIC), Table 5, boxes 4 with 3 and 0 with 0 on DL 2020, where judgments are relevant
from 2; the other pairs, and those of TREC CAR, are of the published Workbench's table of graded agreement.
"""


def contingency(
    first: Labels,
    second: Labels,
    *,
    rows: Sequence[int],
    columns: Sequence[int],
) -> Counts:
    """Count pairs of labels; a pair with a label that is neither in `rows` nor in `columns` is left out.

    >>> contingency([5, 0, 0], [1, 1, 0], rows=[5, 0], columns=[1, 0]).tolist()
    [[1, 0], [1, 1]]
    """
    left, right = np.asarray(first), np.asarray(second)
    if left.shape != right.shape:
        raise ValueError(f"{left.size} labels against {right.size}, expected a pair of each thing")
    is_row = left[np.newaxis, :] == np.asarray(rows)[:, np.newaxis]
    is_column = right[:, np.newaxis] == np.asarray(columns)[np.newaxis, :]
    counts: Counts = is_row.astype(np.int64) @ is_column.astype(np.int64)
    return counts


def contingencies(first: Labels, second: Labels, topics: Labels, *, levels: Sequence[int]) -> Counts:
    """Return `contingency` of each topic, shape (topics, levels, levels); `topics` names that of each pair.

    >>> contingencies([1, 0, 1], [1, 1, 0], [7, 7, 8], levels=[0, 1]).tolist()
    [[[0, 1], [0, 1]], [[0, 0], [1, 0]]]
    """
    left, right, of = np.asarray(first), np.asarray(second), np.asarray(topics)
    tables = [
        contingency(left[of == topic], right[of == topic], rows=levels, columns=levels)
        for topic in np.unique(of)
    ]
    return np.array(tables, dtype=np.int64).reshape(-1, len(levels), len(levels))


def binarised(counts: NDArray[np.int64], *, n_rows: int, n_columns: int) -> Counts:
    """Collapse to 2 x 2: the first `n_rows` rows and `n_columns` columns against the others.

    >>> binarised(np.array([[1, 2, 3], [4, 5, 6]]), n_rows=1, n_columns=2).tolist()
    [[3, 3], [9, 6]]
    """
    by_row = np.stack([counts[..., :n_rows, :].sum(axis=-2), counts[..., n_rows:, :].sum(axis=-2)], axis=-2)
    collapsed: Counts = np.stack(
        [by_row[..., :n_columns].sum(axis=-1), by_row[..., n_columns:].sum(axis=-1)], axis=-1
    )
    return collapsed


def cohen_kappa(counts: NDArray[np.int64] | Floats) -> Floats:
    """Return Cohen's kappa (1960), (po - pe) / (1 - pe), of square tables.

    It is NaN without pairs and where pe = 1.

    Farzi and Dietz 2024 (RUBRIC, questions on DL 2020, grades 4-5 against judgments 2-3):

    >>> cohen_kappa(np.array([[998, 2377], [668, 7343]])).round(2).item()
    0.25
    """
    categories = counts.shape[-1]
    return weighted_kappa(counts, 1.0 - np.eye(categories))


def weighted_kappa(counts: NDArray[np.int64] | Floats, weights: Floats | None = None) -> Floats:
    """Return weighted kappa (Cohen 1968): 1 - disagreement / disagreement expected.

    `weights` are of disagreement.

    Without `weights` they are squared distances of the categories' places, for ordered categories.

    >>> weighted_kappa(np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]])).round(4).item()
    0.8049
    """
    table = np.asarray(counts, dtype=np.float64)
    categories = table.shape[-1]
    if weights is None:
        places = np.arange(categories, dtype=np.float64)
        weights = (places[:, np.newaxis] - places[np.newaxis, :]) ** 2
    total = table.sum(axis=(-2, -1))
    seen = (table * weights).sum(axis=(-2, -1)) * total
    expected = np.einsum("...i,ij,...j->...", table.sum(axis=-1), weights, table.sum(axis=-2))
    return 1.0 - divide(seen, expected)


def cell_kappas(counts: NDArray[np.int64]) -> Floats:
    """Return kappa of each cell, its row and column each against all others: the shape of `counts`.

    RUBRIC on DL 2020 (its graded table): 0.10 for grade 4 with judgment 3, 0.29 for 0 with 0.

    >>> table = np.array([[64, 87, 80, 276], [325, 522, 720, 1301], [23, 35, 61, 255], [14, 54, 120, 299],
    ...                   [4, 14, 17, 75], [216, 308, 942, 5574]])
    >>> cell_kappas(table)[[1, 5], [0, 3]].round(2).tolist()
    [0.1, 0.29]
    """
    rows, columns = counts.sum(axis=1)[:, np.newaxis], counts.sum(axis=0)[np.newaxis, :]
    total = counts.sum()
    boxes = np.stack([counts, rows - counts, columns - counts, total - rows - columns + counts], axis=-1)
    return cohen_kappa(boxes.reshape(*counts.shape, 2, 2))


def coincidences(ratings: NDArray[np.int_], categories: Sequence[int]) -> Floats:
    """Return Krippendorff's coincidence matrix, shape (categories, categories).

    The ratings have the shape (raters, units).

    A value outside `categories` (such as -1) is missing; a unit with fewer than two ratings does not count.
    The matrices of topics add up to that of the collection.

    >>> coincidences(np.array([[0, 1, -1], [0, 0, 1]]), [0, 1]).tolist()
    [[2.0, 1.0], [1.0, 0.0]]
    """
    return np.asarray(_of_units(ratings, categories).sum(axis=0))


def coincidences_by(ratings: NDArray[np.int_], groups: Labels, categories: Sequence[int]) -> Floats:
    """Return `coincidences` of each group of units, shape (groups, categories, categories).

    `groups` names that of each unit; the groups rise.

    >>> coincidences_by(np.array([[0, 1, -1], [0, 0, 1]]), [8, 7, 7], [0, 1]).tolist()
    [[[0.0, 1.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 0.0]]]
    """
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    matrices = np.zeros((len(names), len(categories), len(categories)))
    np.add.at(matrices, place, _of_units(ratings, categories))
    return matrices


def _of_units(ratings: NDArray[np.int_], categories: Sequence[int]) -> Floats:
    """Return what each unit adds, shape (units, categories, categories)."""
    counts = np.stack([(ratings == value).sum(axis=0) for value in categories], axis=-1).astype(np.float64)
    raters = counts.sum(axis=-1)
    pairs = counts[:, :, np.newaxis] * counts[:, np.newaxis, :]
    pairs -= counts[:, :, np.newaxis] * np.eye(len(categories))
    return np.asarray(divide_or_zero(pairs, np.maximum(raters - 1, 0)[:, np.newaxis, np.newaxis]))


def ordinal_alpha(pairs: Floats) -> Floats:
    """Return Krippendorff's alpha (2004, section 11.3) for ordered categories.

    It is computed from coincidence matrices (..., k, k).

    NaN where all ratings are of one category, or none is paired.

    >>> ordinal_alpha(coincidences(np.array([[0, 1, 2, 2], [0, 1, 2, 1]]), [0, 1, 2])).round(3).item()
    0.79
    """
    marginals = pairs.sum(axis=-1)
    total = marginals.sum(axis=-1)
    distances = _ordinal_distances(marginals)
    seen = (pairs * distances).sum(axis=(-2, -1)) * (total - 1)
    expected = np.einsum("...i,...ij,...j->...", marginals, distances, marginals)
    return 1.0 - divide(seen, expected)


def _ordinal_distances(marginals: Floats) -> Floats:
    """Return, squared, how many ratings lie from one category to the other, half of both ends."""
    middles = np.cumsum(marginals, axis=-1) - marginals / 2
    return np.asarray((middles[..., :, np.newaxis] - middles[..., np.newaxis, :]) ** 2)


FloatArray = NDArray[np.float64]


class Trend(NamedTuple):
    """How people's verdicts go with a covariate of the passage."""

    p: float
    """1 where the cells cannot tell."""
    is_rising: bool
    """People reach the threshold more often where the covariate is larger."""


class Checks(NamedTuple):
    judgment: Trend
    """Within the grades alone: the estimate takes account of it by its strata."""
    length: Trend
    """This and the next within the strata of the estimate, adjusted for being two: it takes no account of
    them.
    """
    quality: Trend
    """By the mean score of the runs that have the passage among their first k."""


class _Cells(NamedTuple):
    """The rated ones; all of shape (cells,)."""

    verdicts: FloatArray
    graded: NDArray[np.intp]
    strata: NDArray[np.intp]
    topics: NDArray[np.intp]


def checks(units: Sequence[Unit], judged: Sequence[FloatArray], lengths: Sequence[FloatArray]) -> Checks:
    """Look for trends of people's verdicts.

    `judged` and `lengths` have, by unit, the shape (passages,), NaN where they are not known.
    """
    rated = [np.nonzero(unit.human != NOT_RATED) for unit in units]
    parts = [
        (unit.human[place], unit.reached[place], unit.strata[place], np.full(len(place[0]), number))
        for number, (unit, place) in enumerate(zip(units, rated, strict=True))
    ]
    cells = _Cells(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    worths = passage_worths(units)
    by_judgment, by_length, by_quality = (
        np.concatenate([each[place[0]] for each, place in zip(covariate, rated, strict=True)])
        for covariate in (judged, lengths, worths)
    )
    (judgment,) = _trends(cells, cells.graded, by_judgment[np.newaxis])
    length, quality = _trends(cells, cells.strata, np.stack([by_length, by_quality]))
    return Checks(judgment, length, quality)


def passage_worths(units: Sequence[Unit]) -> list[FloatArray]:
    """Return, by unit, the mean score by the grader of the runs that rank the passage.

    The arrays have the shape (passages,), with NaN where no run ranks it.
    """
    scores = sum((take_rows(unit.reached, unit.ranked).any(axis=1) * unit.adds).sum(axis=1) for unit in units)
    worths = []
    for unit in units:
        is_ranked = unit.ranked >= 0
        weights = np.broadcast_to(np.asarray(scores)[:, np.newaxis], unit.ranked.shape)[is_ranked]
        sums = np.bincount(unit.ranked[is_ranked], weights, len(unit.reached))
        counts = np.bincount(unit.ranked[is_ranked], minlength=len(unit.reached))
        worths.append(np.where(counts > 0, divide_or_zero(sums, counts), np.nan))
    return worths


def _trends(cells: _Cells, strata: NDArray[np.intp], covariates: FloatArray) -> list[Trend]:
    """Return the trend by each covariate of shape (covariates, cells)."""
    topics, topic = np.unique(cells.topics, return_inverse=True)
    _, stratum = np.unique(strata, return_inverse=True)
    _, group = np.unique(stratum * len(topics) + topic, return_inverse=True)
    sums = np.zeros((len(covariates), len(topics)))
    for number, covariate in enumerate(covariates):
        has = ~np.isnan(covariate)
        verdicts = _centred(cells.verdicts[has], stratum[has])
        sums[number] = np.bincount(topic[has], verdicts * _centred(covariate[has], group[has]), len(topics))
    spread = np.sqrt((sums**2).sum(axis=1, keepdims=True))
    if len(topics) < MIN_TOPICS or not spread.any():
        return [Trend(1.0, is_rising=False)] * len(covariates)
    scaled = divide_or_zero(sums, spread)
    signs = 1.0 - 2.0 * default_rng(SEED).integers(2, size=(len(topics), RESAMPLES))
    signs[:, 0] = 1.0
    observed = scaled.sum(axis=1)
    p = step_down(np.abs(observed), lambda tests: np.abs(scaled[tests] @ signs))
    p = np.where(spread[:, 0] > 0, p, 1.0)
    return [Trend(*each) for each in zip(p.tolist(), (observed > 0).tolist(), strict=True)]


def _centred(values: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """Return the values less the mean of their group."""
    if not len(values):
        return values
    return values - divide_or_zero(np.bincount(groups, values), np.bincount(groups))[groups]
