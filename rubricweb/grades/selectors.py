"""Queries of a collection's graders, the items that each is scored on, and the default grader and bank.

Every room asks here for the default, when an address, a form or a command names no grader or bank. The grader
stored for the collection comes first: an import stores the one with the most grades, and an
organizer may choose another. Jobs never change it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, Exists, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from grading import prompts
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import DIRECT_UID, MAIN, Bank, BankVersion, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.models import AuditEntry
from rubricweb.core.reader import read_once, reader
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CACHED_COLLECTIONS
from rubricweb.corpus.prompts import own_prompts
from rubricweb.grades import cold
from rubricweb.grades.configs import is_in_context, kinds_of
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, MatrixStamp
from rubricweb.grades.scoring import Uids

ON_ITEMS = (Purpose.RATE, Purpose.VERIFY)
"""Purposes whose grades say whether a passage covers an item: by a rating, or by a right answer."""
ORDER = (*ON_ITEMS, Purpose.EXTRACT, Purpose.DIRECT)
"""Order of graders: those that rate items, verify answers, extract them, or label passages."""


@dataclass(frozen=True, slots=True)
class GraderRow:
    """A grader that has grades in a collection."""

    config: GraderConfig
    grades: int


@read_once
def graders(collection: Collection) -> list[GraderRow]:
    """Return the configs with grades here, and their number of grades."""
    return [GraderRow(config, config.here) for config in _graders(collection.pk)]


@compiled_once
def _graders(collection: int) -> QuerySet[GraderConfig, Any]:
    configs = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    return configs.annotate(here=Sum("stamps__grades")).order_by("llm", "prompt_class", "pk")


def answer_sources(collection: Collection) -> list[GraderRow]:
    """Return the graders whose extracted answers some verifying prompt could read here."""
    verifying = [prompt for prompt in (*prompts.published(), *own_prompts(collection)) if prompt.needs_answer]
    extracting = [row for row in graders(collection) if row.config.purpose == Purpose.EXTRACT]
    return [row for row in extracting if any(prompt.kinds <= kinds_of(row.config) for prompt in verifying)]


def items_by_topic(
    bank: Bank, kinds: Iterable[ItemKind], version: BankVersion | None = None
) -> dict[int, Uids]:
    """Return by topic id the uids of the bank's active items of these kinds, or a version's, in order."""
    kind_names = tuple(str(kind) for kind in kinds)
    if version is None:
        fields = _active_items(bank.pk, kind_names)
    else:
        entries = version.all_entries.filter(item__kind__in=kind_names)
        in_order = entries.order_by("item__topic_id", "position", "pk")
        fields = list(in_order.values_list("item__topic_id", "revision__uid", "weight"))
    weights: dict[int, dict[str, float]] = {}
    for topic_id, uid, weight in fields:
        weights.setdefault(topic_id, {}).setdefault(uid, weight)
    return {topic_id: tuple(weights) for topic_id, weights in weights.items()}


@compiled_once
def _active_items(bank: int, kinds: tuple[str, ...]) -> QuerySet[Item, Any]:
    rows = Item.including_secret.active().filter(bank=bank, kind__in=kinds)
    return rows.order_by("topic_id", "position", "pk").values_list("topic_id", "revision__uid", "weight")


def graded_items(config: GraderConfig, bank: Bank | None, collection: Collection) -> dict[int, Uids]:
    """Return by topic id the items that `config` is scored on.

    These are the bank's items of its kinds, or the direct item.
    """
    if config.purpose == Purpose.DIRECT or bank is None:
        return dict.fromkeys(collection.topics.values_list("pk", flat=True), (DIRECT_UID,))
    return items_by_topic(bank, kinds_of(config))


@read_once
def banks_graded_by(config: GraderConfig, collection: Collection) -> list[Bank]:
    """Return the banks with at least one active item that has a grade of `config`."""
    if collection.cold_at:
        graded = {bank for of, bank in _cold_counts(collection.pk, collection.cold_at) if of == config.pk}
    else:
        graded = set(_graded_by(config.pk, collection.pk))
    return [bank for bank in all_banks(collection) if bank.pk in graded]


@compiled_once
def _graded_by(config: int, collection: int) -> QuerySet[Bank, int]:
    has_grade = Exists(Grade.objects.filter(config=config, revision=OuterRef("revision")))
    graded = Item.including_secret.active().filter(has_grade, bank=OuterRef("pk"))
    begun = Exists(MatrixStamp.objects.filter(config=config, topic__collection=collection))  # seen at once
    banks = Bank.objects.filter(begun, Exists(graded), collection=collection)
    return banks.order_by().values_list("pk", flat=True)


@read_once
def all_banks(collection: Collection) -> list[Bank]:
    """Return the banks by name."""
    banks = _banks(collection.pk)
    for bank in banks:
        bank.collection = collection
    return banks


@compiled_once
def _banks(collection: int) -> QuerySet[Bank, Bank]:
    return Bank.objects.filter(collection=collection)


@compiled_once
def _sizes(collection: int) -> QuerySet[Item, Any]:
    """Return the number of active items by bank."""
    active: QuerySet[Item] = Item.including_secret.active().filter(bank__collection=collection)
    return active.order_by().values_list("bank").annotate(Count("pk"))


def scored_graders(collection: Collection) -> list[GraderRow]:
    """Return the graders with grades of pools here that can be scored, the default one first.

    The stored one; then those that rate items; then by the number of graded cells; then by age.
    """
    rows = (row for row in graders(collection) if not is_in_context(row.config))
    return in_order(collection, rows)


def in_order(collection: Collection, rows: Iterable[GraderRow]) -> list[GraderRow]:
    """Sort these rows as `scored_graders` does."""
    scored = [row for row in rows if row.config.purpose != Purpose.EXTRACT]
    return sorted(scored, key=lambda row: _key(collection, row))


def _key(collection: Collection, row: GraderRow) -> tuple[bool, int, int, int]:
    config = row.config
    return not is_stored(collection, config), ORDER.index(Purpose(config.purpose)), -row.grades, config.pk


def default_grader(collection: Collection) -> GraderConfig | None:
    """Return the first of `scored_graders`."""
    rows = scored_graders(collection)
    return rows[0].config if rows else None


def graders_of(bank: Bank, purposes: tuple[Purpose, ...] = ON_ITEMS) -> list[GraderConfig]:
    """Return the graders of these purposes with grades of the bank's active items, the default one first.

    The stored one; then those that rate; then by the number of items graded; then by age.
    """
    rows = _rows_of(bank, ON_ITEMS if set(purposes) <= set(ON_ITEMS) else purposes)  # one query for pages
    chosen = (row for row in rows if row.config.purpose in purposes)
    of_pools = (row for row in chosen if row.grades and not is_in_context(row.config))
    return [row.config for row in sorted(of_pools, key=lambda row: _key(bank.collection, row))]


@read_once
def _rows_of(bank: Bank, purposes: tuple[Purpose, ...]) -> list[GraderRow]:
    """Return the collection's graders of these purposes, with how many active items of the bank each graded.

    Only of these: each is looked up for each item.
    """
    collection = bank.collection
    if collection.cold_at:
        counts = _cold_counts(collection.pk, collection.cold_at)
        configs = (row.config for row in graders(collection) if row.config.purpose in purposes)
        return [GraderRow(config, counts.get((config.pk, bank.pk), 0)) for config in configs]
    rows = _graders_of(collection.pk, bank.pk, tuple(map(str, purposes)))
    return [GraderRow(config, config.number) for config in rows]


@compiled_once
def _graders_of(collection: int, bank: int, purposes: tuple[str, ...]) -> QuerySet[GraderConfig, Any]:
    """Return the configs with grades here, and the `number` of the bank's active items with one of theirs."""
    stamps = MatrixStamp.objects.filter(topic__collection=collection, grades__gt=0)
    has_grade = Grade.objects.filter(config=OuterRef(OuterRef("pk")), revision=OuterRef("revision"))
    items = Item.including_secret.active().filter(Exists(has_grade), bank=bank).order_by()
    counted = items.values("bank").annotate(number=Count("pk")).values("number")
    number = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    configs = GraderConfig.objects.filter(pk__in=stamps.values("config"), purpose__in=purposes)
    return configs.annotate(number=number)


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _cold_counts(collection_id: int, cold_at: datetime) -> Mapping[tuple[int, int], int]:
    """Return the number of active items with a grade in cold storage, by config and bank.

    They are counted once for all processes, since nothing changes until the grades are brought back.
    """
    file = cold.folder_of(collection_id) / f"counts-{cold_at.timestamp()}.json"
    with suppress(OSError, ValueError):
        return {(config_id, bank): number for config_id, bank, number in json.loads(file.read_bytes())}
    items = Item.including_secret.active().filter(bank__collection=collection_id)
    banks: dict[int, list[int]] = {}
    for bank_id, revision_id in items.values_list("bank", "revision"):
        banks.setdefault(revision_id, []).append(bank_id)
    graded = cold.graded_wordings(collection_id)
    counts = Counter((config_id, bank) for config_id, wording in graded for bank in banks.get(wording, ()))
    with suppress(OSError):
        file.write_text(json.dumps([[*pair, number] for pair, number in counts.items()]), encoding="utf-8")
    return counts


def labellers_of(collection: Collection) -> list[GraderConfig]:
    """Return the graders that label passages here, the default one first."""
    return [row.config for row in scored_graders(collection) if row.config.purpose == Purpose.DIRECT]


def is_stored(collection: Collection, config: GraderConfig) -> bool:
    """Return whether the config is the default that the collection stores."""
    return bool(collection.default_grader) and config.fingerprint == collection.default_grader


@read_once
def default_bank(collection: Collection, config: GraderConfig | None) -> Bank | None:
    """Return the default among the banks that the grader graded, or else among all.

    It is the one with most items, then `main`, then the oldest.
    """
    banks = (banks_graded_by(config, collection) if config else []) or all_banks(collection)
    sizes = dict(_sizes(collection.pk)) if len(banks) > 1 else {}
    return min(banks, key=lambda bank: (-sizes.get(bank.pk, 0), bank.name != MAIN, bank.pk), default=None)


def keep_default_grader(collection: Collection) -> None:
    """Store the present default before another grader starts, so that its grades do not change it."""
    if not collection.default_grader and (config := default_grader(collection)):
        _store(collection, config)


def take_imported_default(collection: Collection) -> None:
    """Store the grader with the most grades after an import, unless the stored one has as many."""
    rows = scored_graders(collection)
    stored = sum(row.grades for row in rows if is_stored(collection, row.config))
    rated = [row for row in rows if row.config.purpose == Purpose.RATE] or rows
    most = max(rated, key=lambda row: (row.grades, -row.config.pk), default=None)
    if most and most.grades > stored:
        _store(collection, most.config)


def _store(collection: Collection, config: GraderConfig) -> None:
    collection.default_grader = config.fingerprint
    collection.save(update_fields=["default_grader"])


def banks(collection: Collection) -> list[Bank]:
    """Return the banks by name, first that of the default grader, or without grades `main`."""
    ordered = sorted(all_banks(collection), key=lambda bank: (bank.name != MAIN, bank.name))
    if len(ordered) > 1 and (grader := default_grader(collection)):
        default = default_bank(collection, grader)
        ordered.sort(key=lambda bank: bank != default)
    return ordered


def pressed_configs(collection: Collection) -> frozenset[int]:
    """Return the graders that the reader's latest press of Re-grade ran, unless the default was set since.

    By primary key; empty for readers who never pressed it here.
    """
    user = reader().user
    if user is None:
        return frozenset()
    mine = GradingJob.objects.filter(collection=collection, by=user, is_again=False)
    last = mine.order_by("-pk").first()
    if last is None:
        return frozenset()
    chosen = AuditEntry.objects.filter(collection=collection, verb="default grader chosen")
    if chosen.filter(at__gt=last.created_at).exists():
        return frozenset()
    same = mine.filter(press=last.press) if last.press else mine.filter(pk=last.pk)
    return frozenset(same.values_list("config", flat=True))
