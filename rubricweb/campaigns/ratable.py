"""What people can rate in campaigns: items with their grades, without the cells that are left out.

A campaign hands out a cell no more once only runs that are not accepted bring its passage, or its wording has
become secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from grading.types import ItemKind, Outcome
from rubricweb.banks.models import Bank
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.campaigns.ordering import Floats
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
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
    """Return the active items of these kinds with text, each wording once, without secret ones, by topic id.

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
    """Return the grader's confidences by (revision, passage); 0 if its reply held no rating."""
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


def has_absent_runs(collection: str) -> Exists:
    """Return whether the row's collection, at this path, has runs that are not accepted.

    If it has none, no cell is left out, and the queries of each rating need not look at the pool.
    """
    return Exists(Run.objects.not_accepted().filter(collection=OuterRef(collection)))


def is_left_out(cell: Any, collection: Collection) -> bool:  # Any: a cell with `has_absent_runs`
    """Return whether the passage of the annotated cell no longer counts."""
    return bool(cell.has_absent_runs) and collection_pool(collection).is_left_out(
        cell.topic_id, cell.passage_id
    )


def left_out_turns(campaign: Campaign) -> Exists:
    """Return whether only runs that are not accepted bring the turn's passage, so that it does not count."""
    return Exists(CampaignCell.objects.filter(_left_out(campaign.collection), pk=OuterRef("cell")))


def unasked(turns: QuerySet[Turn], collection: Collection) -> QuerySet[Turn]:
    """Return those of `turns` that are not done and not handed out any more: they leave the total."""
    return _unasked(turns, Q(revision__is_secret=True) | _left_out(collection))


def unasked_secrets(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """Return what `unasked` returns where every run of the collection is accepted."""
    return _unasked(turns, Q(revision__is_secret=True))


def _unasked(turns: QuerySet[Turn], cells: Q) -> QuerySet[Turn]:
    is_away = Exists(CampaignCell.objects.filter(cells, pk=OuterRef("cell")))
    return turns.filter(is_away, state__in=(Turn.State.PENDING, Turn.State.LEASED))


def _left_out(collection: Collection) -> Q:
    places = Q(pk__in=())
    for topic, passages in collection_pool(collection).left_out.items():
        places |= Q(topic=topic, passage__in=passages)
    return places
