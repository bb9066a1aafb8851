"""Labels calibrated by people: which cells they are learned from, and whether they order the runs better."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grading.measures.cover import LabelMode
from grading.statistics.calibrated_labels import LabelMaps, LabelRow, TooFewRatings, label_maps, label_rows
from grading.statistics.calibration import Estimate, RatedCells
from grading.statistics.mean_intervals import UNDEFINED, interval, resamples
from grading.statistics.rank_correlation import Coefficient, resampled
from grading.types import MISSING
from rubricweb.banks.models import Bank
from rubricweb.core.formatting import counted
from rubricweb.corpus.pools import collection_pool
from rubricweb.graders.rated_cells import graded_uids, sample, standing_on
from rubricweb.grades.exemplars import NamedCell, exemplar_cells, without_exemplars
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec, score_table

MEASURE = "ndcg_cut_20"
"""Whose order of runs is compared: labels are its gains, as in TREMA-UNH at TREC RAG, 6.3.2."""
DRAWS = 2_000
Floats = NDArray[np.float64]
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Orders:
    """How far labels order the runs as people's own labels of the rated cells do, by Kendall's tau."""

    runs: int
    topics: int
    plain: float
    calibrated: float
    difference: Estimate
    """Calibrated less plain, with the percentile interval over topics."""


def maps(bank: Bank, config: GraderConfig) -> LabelMaps:
    """Return how the grader's grades become labels, by topic. Raises TooFewRatings."""
    return label_maps(_rated(bank, config))


def _rated(bank: Bank, config: GraderConfig) -> RatedCells:
    """Return the cells that a card stands on: those drawn at random where they are enough."""
    return standing_on(sample(bank, config))[0].cells


def document(bank: Bank, config: GraderConfig, cells: RatedCells | None = None, *, min_grade: int) -> Json:
    """Return what each grade is worth, and whether the labels order the runs better than the highest grade.

    Where too few cells are rated, `reason` says so and the rest is absent. `min_grade` is the threshold of
    `reached`.
    """
    rated = _rated(bank, config) if cells is None else cells
    try:
        fitted = label_maps(rated)
    except TooFewRatings as error:
        return {"reason": str(error)}
    compared = orders(bank, config, fitted)
    return {
        "by_grade": [_row(row) for row in label_rows(rated, min_grade=min_grade)],
        "orders": _orders(compared) if compared else None,
    }


def _row(row: LabelRow) -> Json:
    measured = {"people": row.expected.as_json, "reached": row.reached.as_json}
    return {"rating": row.grade, "cells": row.cells, "label": row.label, **measured}


def _orders(compared: Orders) -> Json:
    return {
        "measure": MEASURE,
        "runs": compared.runs,
        "topics": compared.topics,
        "tau": compared.plain,
        "tau_calibrated": compared.calibrated,
        "difference": compared.difference.as_json,
    }


def stated(fitted: LabelMaps) -> str:
    """Return in words how grades become labels.

    >>> stated(LabelMaps((0, 0, 1, 1, 3, 4), cells=240, topics=25))
    'grades 0 to 5 become 0 0 1 1 3 4 (isotonic regression on 240 pairs of 25 topics, none on its own)'
    """
    labels = " ".join(map(str, fitted.usual))
    basis = f"{counted(fitted.cells, 'pair')} of {counted(fitted.topics, 'topic')}, none on its own"
    return f"grades 0 to 5 become {labels} (isotonic regression on {basis})"


def ordered(bank: Bank, config: GraderConfig, fitted: LabelMaps) -> str:
    """Return in a sentence whether the labels order the runs better than the highest grade."""
    compared = orders(bank, config, fitted)
    if compared is None:
        return f"order of runs: none to compare, as {MEASURE} on the rated pairs ties them"
    change, ends = compared.difference, compared.difference.interval
    spread = f" ({ends.low:z.2f} to {ends.high:z.2f})" if ends.is_defined else ""
    topics = counted(compared.topics, "topic")
    runs = f"order of {counted(compared.runs, 'run')} by {MEASURE} on the rated pairs of {topics}"
    taus = f"{compared.plain:z.2f} by the highest grade, {compared.calibrated:z.2f} calibrated"
    return f"{runs}, tau with people's labels: {taus}; difference {change.value:z.2f}{spread}"


def orders(bank: Bank, config: GraderConfig, fitted: LabelMaps) -> Orders | None:
    """Return whether calibrated labels order the runs as people do; None where a board ties all runs.

    All three boards are of the cells that both people and the grader rated, without its exemplars.
    """
    pool = collection_pool(bank.collection)
    items = graded_uids(bank, config, pool)
    human, graded = human_matrices(pool), matrices(config, pool)
    exemplars = exemplar_cells([config])
    by_people = {pk: _only_shared(of, graded[pk], items[pk], exemplars) for pk, of in human.items()}
    by_grader = {pk: _only_shared(of, human[pk], items[pk], exemplars) for pk, of in graded.items()}
    plain = MeasureSpec(MEASURE)
    calibrated = replace(plain, mode=LabelMode.CALIBRATED, label_maps=fitted)
    boards = [
        score_table(pool, grades, items, measure).scores
        for grades, measure in ((by_people, plain), (by_grader, plain), (by_grader, calibrated))
    ]
    return _compared(*boards)


def _only_shared(
    grades: TopicGrades, others: TopicGrades, uids: tuple[str, ...], exemplars: set[NamedCell]
) -> TopicGrades:
    """Return the grades of the cells that the others rated too, without exemplars."""
    matrix = grades.matrix.columns(uids)
    theirs = without_exemplars(others.matrix.columns(uids).ratings, grades.pool, uids, exemplars)
    ratings = np.where(theirs >= 0, matrix.ratings, MISSING).astype(np.int8)
    return TopicGrades(grades.pool, replace(matrix, ratings=ratings))


def _compared(truth: Floats, plain: Floats, calibrated: Floats) -> Orders | None:
    """Return the comparison of scores of shape (runs, topics)."""
    is_given = ~np.isnan(truth).all(axis=0)
    boards = [scores[:, is_given] for scores in (truth, plain, calibrated)]
    runs, topics = boards[0].shape
    if not topics:
        return None
    weights = np.vstack([np.ones((1, topics)), resamples(topics)[:DRAWS]])
    official, *ours = (_means(scores, weights) for scores in boards)
    first, second = (resampled(means, official, Coefficient.KENDALL) for means in ours)
    if np.isnan(first[0]) or np.isnan(second[0]):
        return None
    difference = second - first
    ends = interval(difference[1:]) if topics > 1 else UNDEFINED
    return Orders(runs, topics, float(first[0]), float(second[0]), Estimate(float(difference[0]), ends))


def _means(scores: Floats, weights: Floats) -> Floats:
    """Return means over topics by the weights, (resamples, topics), shape (resamples, runs)."""
    return np.asarray(weights @ np.nan_to_num(scores).T / weights.sum(axis=1, keepdims=True))
