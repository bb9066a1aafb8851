"""Whether people agree with the grader as often on some passages as on others, over a sample of cells.

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
from typing import NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from grading.arrays import divide_or_zero, take_rows
from grading.statistics.bootstrap import RESAMPLES, SEED
from grading.statistics.cover_estimate import NOT_RATED, Unit
from grading.statistics.max_t import MIN_TOPICS, step_down

Floats = NDArray[np.float64]


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

    verdicts: Floats
    graded: NDArray[np.intp]
    strata: NDArray[np.intp]
    topics: NDArray[np.intp]


def checks(units: Sequence[Unit], judged: Sequence[Floats], lengths: Sequence[Floats]) -> Checks:
    """Look for trends of people's verdicts; `judged` and `lengths` have, by unit, the shape (passages,), NaN
    where they are not known.
    """
    rated = [np.nonzero(unit.people != NOT_RATED) for unit in units]
    parts = [
        (unit.people[place], unit.reached[place], unit.strata[place], np.full(len(place[0]), number))
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


def passage_worths(units: Sequence[Unit]) -> list[Floats]:
    """Return, by unit, an array of shape (passages,): the mean score by the grader of the runs that rank the
    passage; NaN where none does.
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


def _trends(cells: _Cells, strata: NDArray[np.intp], covariates: Floats) -> list[Trend]:
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


def _centred(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return the values less the mean of their group."""
    if not len(values):
        return values
    return values - divide_or_zero(np.bincount(groups, values), np.bincount(groups))[groups]
