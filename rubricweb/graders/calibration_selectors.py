"""Queries for the calibration pages, and a card as a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grading.statistics.diagnostics import families
from grading.types import Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import sees_names
from rubricweb.graders.access import card_for
from rubricweb.graders.calibration_cards import CalibrationStatus, agreement, since, status, status_of
from rubricweb.graders.calibration_samples import sample
from rubricweb.graders.models import CalibrationCard
from rubricweb.grades import visibility
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import graders_of

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class CalibratedGrader:
    """A grader that graded items of a bank."""

    bank: Bank
    config: GraderConfig
    status: CalibrationStatus
    cells: int | None
    """Number of cells that the grader and people rated; None for readers from whom cells are hidden."""


def pairs(collection: Collection) -> Iterator[tuple[Bank, GraderConfig]]:
    """Return each bank with each grader that rates its items."""
    for bank in collection.banks.select_related("collection"):
        for config in graders_of(bank, (Purpose.RATE,)):
            yield bank, config


def calibrated(collection: Collection) -> list[CalibratedGrader]:
    """Return each grader of each bank with its card, and the size of a new card's sample."""
    is_hidden = bool(visibility.hidden_count(collection.pk))
    return [
        CalibratedGrader(bank, config, status(bank, config), None if is_hidden else len(sample(bank, config)))
        for bank, config in pairs(collection)
    ]


def bias_by_runs(card: CalibrationCard) -> list[Json]:
    """Return the card's bias for those families of runs that count now."""
    counting = families(collection_pool(card.bank.collection).run_tags)
    return [row for row in card.found["by_runs"] if row["name"] in counting]


def opened_card(user: User, slug: str, card_id: int) -> Json:
    """Return a card for "How sure are we": its sample, its numbers, and the agreement since."""
    card = card_for(user, slug, card_id)
    later = since(card)
    return {
        "card": card,
        "status": status_of(card),
        "found": card.found,
        "since": {"cells": later.cells, "topics": later.topics, **agreement(later)} if later else None,
        "by_runs": bias_by_runs(card) if sees_names(user, card.bank.collection) else [],
    }


def card_document(card: CalibrationCard, *, with_runs: bool) -> Json:
    """Return the card for other programs, with bias by runs only for readers who may see their names."""
    config, now = card.config, status_of(card)
    document = {name: value for name, value in card.found.items() if name != "by_runs"}
    return {
        "collection": card.bank.collection.slug,
        "bank": card.bank.name,
        "items": len(card.items),
        "grader": {
            "fingerprint": config.fingerprint,
            "backend": config.backend,
            "llm": config.llm,
            "prompt": config.prompt_class,
        },
        "made": card.at.isoformat(),
        "is_current": now.is_current,
        "items_changed": now.n_changed,
        **document,
        **({"by_runs": bias_by_runs(card)} if with_runs else {}),
    }
