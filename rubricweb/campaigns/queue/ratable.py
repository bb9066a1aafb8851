"""The items that people can rate in campaigns, with their grades as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models import Q

from grading.types import ItemKind, Outcome
from rubricweb.banks.models import Bank
from rubricweb.campaigns.queue.ordering import Floats
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn


@dataclass(frozen=True, slots=True)
class RatableItem:
    """An item of the choice, and its column in the matrices."""

    item: int
    revision: int
    item_column: ItemColumn


def ratable_items(bank: Bank, kinds: frozenset[ItemKind]) -> dict[int, tuple[RatableItem, ...]]:
    """By topic id: the active items of these kinds with text, each wording once; no secret ones.

    Assessors must not read those, and the cells of a campaign shall not depend on who opens it.
    """
    rows = bank.items.active().of_kinds(kinds).filter(revision__is_secret=False).exclude(revision__text="")
    fields = rows.order_by("topic_id", "position", "pk").values_list(
        "topic_id", "pk", "revision_id", "revision__uid", "kind"
    )
    by_topic: dict[int, dict[int, RatableItem]] = {}
    for topic, item, revision, uid, kind in fields:
        column = RatableItem(item, revision, ItemColumn(ItemKind(kind), uid, revision, has_text=True))
        by_topic.setdefault(topic, {}).setdefault(revision, column)
    return {topic: tuple(columns.values()) for topic, columns in by_topic.items()}


def grades_by_kind(rater: Rater, pool: CollectionPool) -> dict[ItemKind, Mapping[int, TopicGrades]]:
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    return {kind: by_config[config.pk] for kind, config in rater.by_kind.items()}


def confidences(rater: Rater, columns: Mapping[int, Iterable[RatableItem]]) -> dict[tuple[int, int], float]:
    """By (revision, passage): the grader's confidence; 0 if its reply held no rating."""
    rows = Grade.objects.filter(config__in=rater.configs, topic__in=list(columns))
    rows = rows.filter(Q(confidence__isnull=False) | Q(outcome=Outcome.DEFAULTED))
    fields = rows.values_list("revision_id", "passage_id", "confidence", "outcome")
    return {
        (revision, passage): 0.0 if outcome == Outcome.DEFAULTED else confidence
        for revision, passage, confidence, outcome in fields.iterator(chunk_size=10_000)
    }


def placed_confidences(
    topic: TopicPool, columns: tuple[RatableItem, ...], confidence: dict[tuple[int, int], float]
) -> Floats:
    revisions = [column.revision for column in columns]
    values = [confidence.get((r, p), np.nan) for p in topic.passage_pks for r in revisions]
    return np.array(values, dtype=np.float64).reshape(len(topic.doc_ids), len(columns))
