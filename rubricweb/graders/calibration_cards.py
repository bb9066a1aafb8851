"""Calibration cards: how far a grader's ratings agree with people's, and how current that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
from django.db import transaction
from django.db.models.functions import Length
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.statistics import max_t
from grading.statistics.agreement import ENOUGH_CELLS
from grading.statistics.calibration import (
    Bias,
    Calibration,
    Estimate,
    RatedCells,
    RatingRow,
    biases,
    calibration,
    thirds,
)
from grading.statistics.diagnostics import families
from grading.statistics.mean_intervals import LEVEL
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.core import audit
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.graders.models import CalibrationCard
from rubricweb.grades import visibility
from rubricweb.grades.configs import default_min_grade, kinds_of
from rubricweb.grades.human_matrices import HumanGrades, human_matrices
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig

Mask = NDArray[np.bool_]
CellName = tuple[int, str, int]
"""Topic, id of the wording and passage of a cell."""
MOST_FAMILIES = 12

RULE = "step-down max-T over all groups, sign flips over topics"
"""Test by which a group counts as clear, with the level `alpha` for all groups together."""
ENOUGH_RANDOM = 50
"""Number of randomly drawn cells from which on a card uses them alone."""


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


class _RatedCell(NamedTuple):
    name: CellName
    grader: int
    human: int
    is_drawn: bool


def item_names(bank: Bank, config: GraderConfig, version: BankVersion | None = None) -> set[tuple[str, str]]:
    """Return (query id, id of the wording) of each item that the grader grades.

    As of a version if one is given.
    """
    kinds = [str(kind) for kind in kinds_of(config)]
    if version is not None:
        then = version.all_entries.filter(item__kind__in=kinds)
        return set(then.values_list("item__topic__query_id", "revision__uid"))
    now = Item.including_secret.active().filter(bank=bank, kind__in=kinds)
    return set(now.values_list("topic__query_id", "revision__uid"))


def sample(bank: Bank, config: GraderConfig) -> RatedSample:
    """Return all cells of the bank's items that the grader and people rated, people's ratings combined."""
    pool = collection_pool(bank.collection)
    human, graded = human_matrices(pool), matrices(config, pool)
    whole = Draw.objects.filter(collection=bank.collection_id, design=Draw.Design.CELLS)
    draws = set(whole.values_list("pk", flat=True))
    uids_by_query: dict[str, list[str]] = {}
    for query_id, uid in sorted(item_names(bank, config)):
        uids_by_query.setdefault(query_id, []).append(uid)
    cells: list[_RatedCell] = []
    for topic in pool.topics:
        pk, uids = topic.topic_id, tuple(uids_by_query.get(topic.query_id, ()))
        cells += _of_topic(graded[pk], human[pk], uids, draws)
    return _with_events(cells)


def _of_topic(
    graded: TopicGrades, human: HumanGrades, uids: tuple[str, ...], draws: set[int]
) -> Iterator[_RatedCell]:
    by_grader, by_people = (grades.matrix.columns(uids).ratings for grades in (graded, human))
    drawn = [matrix.columns(uids).ratings == 1 for draw, matrix in human.drawn.items() if draw in draws]
    is_drawn = np.any(drawn, axis=0) if drawn else np.zeros(by_people.shape, dtype=np.bool_)
    pool = graded.pool
    for row, column in np.argwhere((by_people >= 0) & (by_grader >= 0)).tolist():
        place = (row, column)
        name = (pool.topic_id, uids[column], pool.passage_pks[row])
        yield _RatedCell(name, int(by_grader[place]), int(by_people[place]), bool(is_drawn[place]))


def _with_events(cells: list[_RatedCell]) -> RatedSample:
    """Add who rated the cells, when, and whether blind."""
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


def by_length(sample: RatedSample) -> Mapping[str, Mask]:
    """Return masks of the cells by thirds of the passage's length in characters."""
    passages = {passage for _, _, passage in sample.names}
    lengths = dict(Passage.objects.filter(pk__in=passages).values_list("pk", Length("text")))
    return thirds(np.array([lengths[passage] for _, _, passage in sample.names], dtype=np.float64))


def by_family(sample: RatedSample, bank: Bank) -> Mapping[str, Mask]:
    """Return by family a mask of the cells whose passage one of its runs ranks, largest family first."""
    pool = collection_pool(bank.collection)
    ranked = {topic.topic_id: _ranked(topic) for topic in pool.topics}
    masks = {
        name: np.array([bool(runs & ranked[topic].get(passage, set())) for topic, _, passage in sample.names])
        for name, runs in _families(pool).items()
    }
    some = sorted((name for name, mask in masks.items() if mask.any()), key=lambda name: -masks[name].sum())
    return {name: masks[name] for name in some[:MOST_FAMILIES]}


def _families(pool: CollectionPool) -> dict[str, set[int]]:
    place = {tag: run for run, tag in enumerate(pool.run_tags)}
    return {name: {place[tag] for tag in tags} for name, tags in families(pool.run_tags).items()}


def _ranked(topic: TopicPool) -> dict[int, set[int]]:
    """Return by passage the runs that rank it."""
    by_passage: dict[int, set[int]] = {}
    for run, rows in enumerate(topic.ranked_rows.tolist()):
        for row in rows:
            if row >= 0:
                by_passage.setdefault(topic.passage_pks[row], set()).add(run)
    return by_passage


Json = dict[str, object]


def document_of(bank: Bank, config: GraderConfig, sample: RatedSample, *, is_random: bool) -> Json:
    """Return the measured agreement: the sample, the numbers, each rating's worth, the bias by group."""
    min_grade = default_min_grade(config)
    measured = calibration(sample.cells, min_grade=min_grade)
    lengths, families = list(by_length(sample).items()), list(by_family(sample, bank).items())
    groups = biases(sample.cells, [*lengths, *families])
    return {
        "sample": {
            "cells": measured.cells,
            "topics": measured.topics,
            "people": len(sample.all_raters),
            "blind_cells": int(sample.is_blind.sum()),
            "is_random": is_random,
            "from": min(sample.rated_at).date().isoformat(),
            "to": max(sample.rated_at).date().isoformat(),
        },
        "level": LEVEL,
        "min_grade": min_grade,
        **agreement(measured),
        "by_rating": [_rating(row) for row in measured.by_rating],
        "groups": {
            "compared": sum(not np.isnan(row.p) for row in groups),
            "rule": RULE,
            "alpha": max_t.ALPHA,
        },
        "by_length": [_bias(row) for row in groups[: len(lengths)]],
        "by_runs": [_bias(row) for row in groups[len(lengths) :]],
    }


def agreement(measured: Calibration) -> Json:
    """Return the numbers over all cells."""
    whole = {"kappa": measured.kappa, "same": measured.same, "near": measured.near, "bias": measured.bias}
    return {name: _estimate(estimate) for name, estimate in whole.items()}


def _estimate(estimate: Estimate) -> Json:
    low, high = estimate.interval.low, estimate.interval.high
    return {"value": none_if_nan(estimate.value), "low": none_if_nan(low), "high": none_if_nan(high)}


def _rating(row: RatingRow) -> Json:
    measured = {"people": _estimate(row.people), "reached": _estimate(row.reached)}
    return {"rating": row.rating, "cells": row.cells, **measured}


def _bias(row: Bias) -> Json:
    measured = {"bias": _estimate(row.bias), "beyond_others": _estimate(row.beyond_others)}
    return {
        "name": row.name,
        "cells": row.cells,
        **measured,
        "p": none_if_nan(row.p),
        "is_clear": row.is_clear,
    }


class TooFewCells(Exception):
    """Raised where too few cells were rated; the text says how many there are."""


@dataclass(frozen=True, slots=True)
class CalibrationStatus:
    """The calibration of a grader for a bank, as of now."""

    card: CalibrationCard | None
    """Latest card; None without any."""
    n_changed: int = 0
    """Items added or removed since, rewordings counted twice."""

    @property
    def is_current(self) -> bool:
        return self.card is not None and not self.n_changed

    @property
    def words(self) -> str:
        """Describe the status, with the weighted kappa if the reader has nothing left to rate blind."""
        if self.card is None:
            return "not calibrated: it has no card for these items"
        day = f"{self.card.at:%Y-%m-%d}"
        if self.n_changed:
            return f"stale: {counted(self.n_changed, 'item')} changed since the card of {day}"
        return " ".join(filter(None, (f"calibrated on {day}", _kappa(self.card))))


def _kappa(card: CalibrationCard) -> str:
    if hides_numbers(card.bank):
        return ""
    kappa, on = card.found["kappa"], card.found["sample"]
    if kappa["value"] is None:
        return ""
    ends = "" if kappa["low"] is None else f" ({kappa['low']:z.2f} to {kappa['high']:z.2f})"
    value = f"{kappa['value']:z.2f}{ends}"
    return f"with a weighted kappa of {value} on {on['cells']} pairs of {on['topics']} topics"


def hides_numbers(bank: Bank) -> bool:
    """Return whether cells that a card counts are hidden from the reader."""
    return bool(visibility.hidden_count(bank.collection_id))


def status(bank: Bank, config: GraderConfig, version: BankVersion | None = None) -> CalibrationStatus:
    """Return the status for the grader and the bank's items, now or as of a version."""
    card = CalibrationCard.objects.filter(bank=bank, config=config).select_related("bank", "config").first()
    return status_of(card, version) if card else CalibrationStatus(None)


def status_of(card: CalibrationCard, version: BankVersion | None = None) -> CalibrationStatus:
    """Return the status of one card, which is stale as soon as the items differ."""
    return CalibrationStatus(
        card, len(item_names(card.bank, card.config, version) ^ set(map(tuple, card.items)))
    )


@transaction.atomic
def make_card(bank: Bank, config: GraderConfig, *, by: User | None) -> CalibrationCard:
    """Compare the grader with people.

    Raises TooFewCells, also while cells are hidden from the reader.
    """
    if hides_numbers(bank):
        raise TooFewCells("First rate your blind pairs: a card counts them.")
    chosen, is_random = standing_on(sample(bank, config))
    if len(chosen) < ENOUGH_CELLS:
        raise TooFewCells(f"People and the grader rated {len(chosen)} pairs; a card needs {ENOUGH_CELLS}.")
    card: CalibrationCard = CalibrationCard.objects.create(
        bank=bank,
        config=config,
        items=sorted(item_names(bank, config)),
        found=document_of(bank, config, chosen, is_random=is_random),
        by=by,
    )
    audit.record(
        "grader calibrated", card, by=by, detail=f"{config}: {len(chosen)} pairs", collection=bank.collection
    )
    return card


def standing_on(rated: RatedSample) -> tuple[RatedSample, bool]:
    """Return the randomly drawn cells if there are enough, else all, and whether they are drawn."""
    is_random = int(rated.is_drawn.sum()) >= ENOUGH_RANDOM
    return (rated.only(rated.is_drawn), True) if is_random else (rated, False)


def since(card: CalibrationCard) -> Calibration | None:
    """Return the agreement on what people rated after the card; None where that is too little."""
    rated = sample(card.bank, card.config)
    later = rated.only(np.array([at > card.at for at in rated.rated_at], dtype=np.bool_))
    if len(later) < ENOUGH_CELLS:
        return None
    return calibration(later.cells, min_grade=card.found["min_grade"])
