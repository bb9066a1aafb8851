"""One function per question that a screen or command asks of grades."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Sum

from grading.types import ItemKind, Purpose
from rubricweb.banks.models import DIRECT_UID, Bank, Item
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.scoring import Uids


@dataclass(frozen=True, slots=True)
class GraderRow:
    """One grader that has grades in a collection."""

    config: GraderConfig
    grades: int


def graders(collection: Collection) -> list[GraderRow]:
    """The configs that have grades here, with how many."""
    configs = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    counted = configs.annotate(here=Sum("stamps__grades")).order_by("llm", "prompt_class", "pk")
    return [GraderRow(config, config.here) for config in counted]


def items_by_topic(bank: Bank, kinds: Iterable[ItemKind]) -> dict[int, Uids]:
    """By topic id: the uids of the bank's active items of these kinds, in the bank's order."""
    rows = bank.items.active().of_kinds(kinds).order_by("topic_id", "position", "pk")
    uids: dict[int, list[str]] = {}
    for topic_id, uid in rows.values_list("topic_id", "revision__uid"):
        uids.setdefault(topic_id, []).append(uid)
    return {topic_id: tuple(dict.fromkeys(found)) for topic_id, found in uids.items()}


def graded_items(config: GraderConfig, bank: Bank | None, collection: Collection) -> dict[int, Uids]:
    """By topic id: what `config` is scored on: the bank's items of its kinds, or the direct item."""
    if config.purpose == Purpose.DIRECT or bank is None:
        return dict.fromkeys(collection.topics.values_list("pk", flat=True), (DIRECT_UID,))
    return items_by_topic(bank, kinds_of(config))


def banks_graded_by(config: GraderConfig, collection: Collection) -> list[Bank]:
    """The banks with at least one active item that has a grade of `config`."""
    has_grade = Exists(Grade.objects.by(config).filter(revision=OuterRef("revision")))
    graded = Item.objects.active().filter(has_grade, bank=OuterRef("pk"))
    return list(collection.banks.filter(Exists(graded)))
