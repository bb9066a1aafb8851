"""The cells that both people and a grader rated, and labels that are calibrated by what people rated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.measures.cover import LabelMode
from grading.statistics.calibrated_labels import LabelMaps, LabelRow, TooFewRatings, label_maps, label_rows
from grading.statistics.calibration import Estimate, RatedCells
from grading.statistics.mean_intervals import UNDEFINED, interval, resamples
from grading.statistics.rank_correlation import Coefficient, resampled
from grading.types import MISSING
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.exemplars import NamedCell, exemplar_cells, without_exemplars
from rubricweb.grades.human_matrices import HumanGrades, human_matrices
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec, score_table

Mask = NDArray[np.bool_]
CellName = tuple[int, str, int]
"""Topic, id of the wording and passage of a cell."""
ENOUGH_RANDOM = 50
"""Number of randomly drawn cells from which on they are used alone."""


@dataclass(frozen=True, eq=False)
class RatedSample:
    """A sample of cells; each array and list has one entry per cell."""

    cells: RatedCells
    names: list[CellName]
    is_drawn: Mask
    """Whether the cell was drawn at random from all cells, not chosen by a person."""
    is_blind: Mask
    """Whether somebody rated the cell before seeing the grader's rating."""
    rated_at: list[datetime]
    """When somebody last rated the cell."""
    raters: list[frozenset[int]]

    def only(self, mask: Mask) -> RatedSample:
        """Return the sample of the cells in the mask."""
        places = np.flatnonzero(mask).tolist()
        return RatedSample(
            cells=RatedCells(self.cells.grader[mask], self.cells.human[mask], self.cells.topics[mask]),
            names=[self.names[place] for place in places],
            is_drawn=self.is_drawn[mask],
            is_blind=self.is_blind[mask],
            rated_at=[self.rated_at[place] for place in places],
            raters=[self.raters[place] for place in places],
        )

    @property
    def all_raters(self) -> frozenset[int]:
        return frozenset[int]().union(*self.raters)

    def __len__(self) -> int:
        return len(self.names)


class SharedCell(NamedTuple):
    name: CellName
    grader: int
    human: int
    is_drawn: bool


@read_once
def item_names(bank: Bank, config: GraderConfig, version: BankVersion | None = None) -> set[tuple[str, str]]:
    """Return (query id, id of the wording) of each item that the grader grades.

    As of a version if one is given.
    """
    kinds = [str(kind) for kind in kinds_of(config)]
    if version is not None:
        then = version.all_entries.filter(item__kind__in=kinds)
        return set(then.values_list("item__topic__query_id", "revision__uid"))
    return {(query_id, uid) for query_id, uid, kind in _names(bank.pk) if kind in kinds}


@compiled_once
def _names(bank: int) -> QuerySet[Item, Any]:
    now = Item.including_secret.active().filter(bank=bank).order_by()
    return now.values_list("topic__query_id", "revision__uid", "kind")


def graded_uids(bank: Bank, config: GraderConfig, topics: Sequence[TopicPool]) -> dict[int, tuple[str, ...]]:
    """Return by topic the ids of the wordings that the grader grades, sorted."""
    by_query: dict[str, list[str]] = {topic.query_id: [] for topic in topics}
    for query_id, uid in item_names(bank, config):
        if query_id in by_query:
            by_query[query_id].append(uid)
    return {topic.topic_id: tuple(sorted(by_query[topic.query_id])) for topic in topics}


def sample(bank: Bank, config: GraderConfig) -> RatedSample:
    """Return the `shared_cells` with who rated them, when, and whether blind."""
    return _with_events(shared_cells(bank, config))


@read_once
def shared_cells(bank: Bank, config: GraderConfig) -> list[SharedCell]:
    """Return the cells of the bank's items that the grader and people rated, people's ratings combined.

    Those that the grader was shown, as exemplars, are left out.
    """
    pool = collection_pool(bank.collection)
    human = human_matrices(pool)
    rated = [topic for topic in pool.topics if human[topic.topic_id].matrix.item_ids]
    if not rated:
        return []
    graded, draws = matrices(config, pool), set(_draws(bank.collection_id))
    uids_of, exemplars = graded_uids(bank, config, rated), exemplar_cells([config])
    cells: list[SharedCell] = []
    for topic in rated:
        pk = topic.topic_id
        cells += _of_topic(graded[pk], human[pk], uids_of[pk], draws, exemplars)
    return cells


@compiled_once
def _draws(collection: int) -> QuerySet[Draw, int]:
    """Return the draws of whole cells."""
    return Draw.objects.filter(collection=collection, design=Draw.Design.CELLS).values_list("pk", flat=True)


def _of_topic(
    graded: TopicGrades,
    human: HumanGrades,
    uids: tuple[str, ...],
    draws: set[int],
    exemplars: set[NamedCell],
) -> Iterator[SharedCell]:
    by_grader, rated = (grades.matrix.columns(uids).ratings for grades in (graded, human))
    by_people = without_exemplars(rated, graded.pool, uids, exemplars)
    drawn = [matrix.columns(uids).ratings == 1 for draw, matrix in human.drawn.items() if draw in draws]
    is_drawn = np.any(drawn, axis=0) if drawn else np.zeros(by_people.shape, dtype=np.bool_)
    pool = graded.pool
    for row, column in np.argwhere((by_people >= 0) & (by_grader >= 0)).tolist():
        place = (row, column)
        name = (pool.topic_id, uids[column], pool.passage_pks[row])
        yield SharedCell(name, int(by_grader[place]), int(by_people[place]), bool(is_drawn[place]))


def _with_events(cells: list[SharedCell]) -> RatedSample:
    rows = HumanGrade.objects.filter(topic__in={cell.name[0] for cell in cells}).order_by("pk")
    fields = ("topic_id", "revision__uid", "passage_id", "at", "by_id", "how")
    last: dict[CellName, datetime] = {}
    raters: dict[CellName, set[int]] = {cell.name: set() for cell in cells}
    blind: set[CellName] = set()
    for topic, uid, passage, at, by, how in rows.values_list(*fields).iterator():
        name = (topic, uid, passage)
        if name in raters:
            last[name] = at
            raters[name].add(by)
            blind |= {name} if how == HumanGrade.How.BLIND else set()
    return RatedSample(
        cells=RatedCells(
            np.array([cell.grader for cell in cells], dtype=np.int64),
            np.array([cell.human for cell in cells], dtype=np.int64),
            np.array([cell.name[0] for cell in cells], dtype=np.int64),
        ),
        names=[cell.name for cell in cells],
        is_drawn=np.array([cell.is_drawn for cell in cells], dtype=np.bool_),
        is_blind=np.array([cell.name in blind for cell in cells], dtype=np.bool_),
        rated_at=[last[cell.name] for cell in cells],
        raters=[frozenset(raters[cell.name]) for cell in cells],
    )


def standing_on(rated: RatedSample) -> tuple[RatedSample, bool]:
    """Return the randomly drawn cells if there are enough, else all, and whether they are drawn."""
    is_random = int(rated.is_drawn.sum()) >= ENOUGH_RANDOM
    return (rated.only(rated.is_drawn), True) if is_random else (rated, False)


def human_labels(collection: Collection) -> dict[tuple[int, int], int]:
    """Return people's latest ratings by (wording, passage), without passages to rate blind."""
    rows = HumanGrade.objects.filter(topic__collection=collection).order_by("pk")
    rows = rows.exclude(passage__in=visibility.blind_passages(collection.pk))
    labels: dict[tuple[int, int], int | None] = {}
    for revision, passage, rating, is_withdrawn in rows.values_list(
        "revision", "passage", "rating", "is_withdrawn"
    ):
        labels[revision, passage] = None if is_withdrawn else rating
    return {place: rating for place, rating in labels.items() if rating is not None}


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


def calibrated_maps(bank: Bank, config: GraderConfig) -> LabelMaps:
    """Return how the grader's grades become labels, by topic. Raises TooFewRatings."""
    return label_maps(_rated(bank, config))


def _rated(bank: Bank, config: GraderConfig) -> RatedCells:
    """Return the cells that a card stands on: those drawn at random where they are enough."""
    return standing_on(sample(bank, config))[0].cells


def labels_document(
    bank: Bank, config: GraderConfig, cells: RatedCells | None = None, *, min_grade: int
) -> Json:
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
    measured = {"human_rating": row.expected.as_json, "reached": row.reached.as_json}
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


def maps_in_words(fitted: LabelMaps) -> str:
    """Return in words how grades become labels.

    >>> maps_in_words(LabelMaps((0, 0, 1, 1, 3, 4), cells=240, topics=25))
    'grades 0 to 5 become 0 0 1 1 3 4 (isotonic regression on 240 pairs of 25 topics, none on its own)'
    """
    labels = " ".join(map(str, fitted.usual))
    basis = f"{counted(fitted.cells, 'pair')} of {counted(fitted.topics, 'topic')}, none on its own"
    return f"grades 0 to 5 become {labels} (isotonic regression on {basis})"


def order_in_words(bank: Bank, config: GraderConfig, fitted: LabelMaps) -> str:
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
    items = graded_uids(bank, config, pool.topics)
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
