"""Calibration cards: how far a grader's ratings agree with people's, and how current that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.statistics import max_t
from grading.statistics.agreement import ENOUGH_CELLS
from grading.statistics.calibration import Bias, Calibration, RatingRow, biases, calibration, thirds
from grading.statistics.diagnostics import families
from grading.statistics.mean_intervals import LEVEL
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.core import audit
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.graders.models import CalibrationCard
from rubricweb.graders.rated_cells import RatedSample, item_names, labels_document, sample, standing_on
from rubricweb.grades import visibility
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.models import GraderConfig

Mask = NDArray[np.bool_]
MOST_FAMILIES = 12

RULE = "step-down max-T over all groups, sign flips over topics"
"""Test by which a group counts as clear, with the level `alpha` for all groups together."""


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
            "raters": len(sample.all_raters),
            "blind_cells": int(sample.is_blind.sum()),
            "is_random": is_random,
            "from": min(sample.rated_at).date().isoformat(),
            "to": max(sample.rated_at).date().isoformat(),
        },
        "level": LEVEL,
        "min_grade": min_grade,
        **agreement(measured),
        "by_rating": [_rating(row) for row in measured.by_rating],
        "labels": labels_document(bank, config, sample.cells, min_grade=min_grade),
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
    return {name: estimate.as_json for name, estimate in whole.items()}


def _rating(row: RatingRow) -> Json:
    measured = {"human_rating": row.human_rating.as_json, "reached": row.reached.as_json}
    return {"rating": row.rating, "cells": row.cells, **measured}


def _bias(row: Bias) -> Json:
    measured = {"bias": row.bias.as_json, "beyond_others": row.beyond_others.as_json}
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
    def text(self) -> str:
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
    kappa, on = card.result["kappa"], card.result["sample"]
    if kappa["value"] is None:
        return ""
    ends = "" if kappa["low"] is None else f" ({kappa['low']:z.2f} to {kappa['high']:z.2f})"
    value = f"{kappa['value']:z.2f}{ends}"
    basis = f"{counted(on['cells'], 'pair')} of {counted(on['topics'], 'topic')}"
    return f"with a weighted kappa of {value} on {basis}"


def hides_numbers(bank: Bank) -> bool:
    """Return whether cells that a card counts are hidden from the reader."""
    return bool(visibility.hidden_count(bank.collection_id))


def status(bank: Bank, config: GraderConfig, version: BankVersion | None = None) -> CalibrationStatus:
    """Return the status for the grader and the bank's items, now or as of a version."""
    for card in _card(bank.pk, config.pk):
        return status_of(card, version)
    return CalibrationStatus(None)


@compiled_once
def _card(bank: int, config: int) -> QuerySet[CalibrationCard, CalibrationCard]:
    cards = CalibrationCard.objects.filter(bank=bank, config=config)
    return cards.select_related("bank", "config")[:1]


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
        raise TooFewCells(
            f"People and the grader rated {counted(len(chosen), 'pair')}; a card needs {ENOUGH_CELLS}."
        )
    card: CalibrationCard = CalibrationCard.objects.create(
        bank=bank,
        config=config,
        items=sorted(item_names(bank, config)),
        result=document_of(bank, config, chosen, is_random=is_random),
        by=by,
    )
    audit.record(
        "grader calibrated",
        card,
        by=by,
        detail=f"{config}: {counted(len(chosen), 'pair')}",
        collection=bank.collection,
    )
    return card


def since(card: CalibrationCard) -> Calibration | None:
    """Return the agreement on what people rated after the card; None where that is too little."""
    rated = sample(card.bank, card.config)
    later = rated.only(np.array([at > card.at for at in rated.rated_at], dtype=np.bool_))
    if len(later) < ENOUGH_CELLS:
        return None
    return calibration(later.cells, min_grade=card.result["min_grade"])
