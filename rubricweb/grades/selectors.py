"""The graders of a collection, and the items that each is scored on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Sum

from grading import prompts
from grading.types import ItemKind, Purpose
from rubricweb.banks.models import DIRECT_UID, Bank, BankVersion, Item
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import own_prompts
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.scoring import Uids


@dataclass(frozen=True, slots=True)
class GraderRow:
    """One grader that has grades in a collection."""

    config: GraderConfig
    grades: int


def graders(collection: Collection) -> list[GraderRow]:
    """Return the configs with grades here, and their number of grades."""
    configs = GraderConfig.objects.filter(stamps__topic__collection=collection, stamps__grades__gt=0)
    counted = configs.annotate(here=Sum("stamps__grades")).order_by("llm", "prompt_class", "pk")
    return [GraderRow(config, config.here) for config in counted]


def answer_sources(collection: Collection) -> list[GraderRow]:
    """Return the graders whose extracted answers some verifying prompt could read here."""
    verifying = [prompt for prompt in (*prompts.published(), *own_prompts(collection)) if prompt.needs_answer]
    extracting = [row for row in graders(collection) if row.config.purpose == Purpose.EXTRACT]
    return [row for row in extracting if any(prompt.kinds <= kinds_of(row.config) for prompt in verifying)]


def items_by_topic(
    bank: Bank, kinds: Iterable[ItemKind], version: BankVersion | None = None
) -> dict[int, Uids]:
    """By topic id: the uids of the bank's active items of these kinds, in their order, or a version's."""
    return {topic_id: tuple(weights) for topic_id, weights in weights_by_topic(bank, kinds, version).items()}


def weights_by_topic(
    bank: Bank, kinds: Iterable[ItemKind], version: BankVersion | None = None
) -> dict[int, dict[str, float]]:
    """The same items, each with its weight; of two with the same wording the first counts."""
    kind_names = [str(kind) for kind in kinds]
    if version is None:
        rows = bank.all_items.active().filter(kind__in=kind_names).order_by("topic_id", "position", "pk")
        fields = rows.values_list("topic_id", "revision__uid", "weight")
    else:
        entries = version.all_entries.filter(item__kind__in=kind_names)
        fields = entries.order_by("item__topic_id", "position", "pk").values_list(
            "item__topic_id", "revision__uid", "weight"
        )
    weights: dict[int, dict[str, float]] = {}
    for topic_id, uid, weight in fields:
        weights.setdefault(topic_id, {}).setdefault(uid, weight)
    return weights


def graded_items(config: GraderConfig, bank: Bank | None, collection: Collection) -> dict[int, Uids]:
    """By topic id: the items that `config` is scored on: the bank's of its kinds, or the direct item."""
    if config.purpose == Purpose.DIRECT or bank is None:
        return dict.fromkeys(collection.topics.values_list("pk", flat=True), (DIRECT_UID,))
    return items_by_topic(bank, kinds_of(config))


def banks_graded_by(config: GraderConfig, collection: Collection) -> list[Bank]:
    """The banks with at least one active item that has a grade of `config`."""
    has_grade = Exists(Grade.objects.by(config).filter(revision=OuterRef("revision")))
    graded = Item.including_secret.active().filter(has_grade, bank=OuterRef("pk"))
    return list(collection.banks.filter(Exists(graded)))
