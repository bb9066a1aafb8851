"""The evidence for spurious items and uncovered passages: ratings beside relevance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.statistics.diagnostics import Relevance
from grading.types import ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, Mask, ratings_of
from rubricweb.grades.visibility import Hidden, hidden_from

CACHED_TOPICS = 8_000


class RelevanceSource(StrEnum):
    """Whose judgment of relevance counts."""

    JUDGMENTS = "judgments"
    PEOPLE = "people"
    """People's ratings of items, and the grader's ratings that they found right."""


@dataclass(frozen=True, slots=True)
class EvidenceQuery:
    """From which judgment a passage is relevant, and from which rating an item covers it."""

    source: RelevanceSource
    min_relevant: int
    min_grade: int


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """An active item of the bank."""

    pk: int
    version: int
    kind: ItemKind
    uid: str
    revision_pk: int
    text: str


@dataclass(frozen=True, eq=False)
class TopicEvidence:
    """One topic: passages x items, and which passages are relevant."""

    pool: TopicPool
    items: tuple[EvidenceItem, ...]
    ratings: Ratings
    relevance: Relevance
    """Without hidden passages."""
    min_grades: NDArray[np.int8]
    """By item: the rating from which it is covered."""
    hidden: Mask
    """Shape (passages,): the reader still has to rate cells of the passage independently."""


def default_source(collection: Collection) -> RelevanceSource:
    """Judgments if the collection has any, else people's ratings."""
    pool = collection_pool(collection)
    return (
        RelevanceSource.JUDGMENTS if any(topic.judgments for topic in pool.topics) else RelevanceSource.PEOPLE
    )


def evidence(
    bank: Bank, rater: Rater, query: EvidenceQuery, reader: User | None, topic_id: int | None = None
) -> list[TopicEvidence]:
    """Return the evidence of each topic with items, or of one, in the collection's order, as `reader` may see
    it; None reads as a public link does.
    """
    pool = collection_pool(bank.collection)
    pool = pool.only(topic_id) if topic_id else pool
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    relevance, hidden_by_topic = _relevance(pool, query), hidden_from(reader, bank.collection_id)
    evidence_by_topic = []
    for pk, items in _items(bank, topic_id).items():
        topic = pool.by_topic[pk]
        grades = {kind: by_config[config.pk][pk] for kind, config in rater.by_kind.items()}
        columns = tuple(ItemColumn(item.kind, item.uid, item.revision_pk, bool(item.text)) for item in items)
        ratings, hidden = (
            ratings_of(grades, columns, len(topic.doc_ids)),
            _hidden(topic, hidden_by_topic[pk], query),
        )
        shown = Relevance(relevance[pk].relevant & ~hidden, relevance[pk].not_relevant & ~hidden)
        min_grades = rater.min_grades_of((item.kind for item in items), query.min_grade)
        evidence_by_topic.append(TopicEvidence(topic, items, ratings, shown, min_grades, hidden))
    return evidence_by_topic


def count_hidden(topics: Iterable[TopicEvidence]) -> int:
    """Count the hidden passages of these topics."""
    return sum(int(topic.hidden.sum()) for topic in topics)


def _hidden(topic: TopicPool, hidden: Hidden, query: EvidenceQuery) -> Mask:
    places = hidden.people if query.source is RelevanceSource.PEOPLE else hidden.graders
    passages = {passage for _, passage in places}
    return np.array([pk in passages for pk in topic.passage_pks], dtype=np.bool_)


def _items(bank: Bank, topic_id: int | None) -> dict[int, tuple[EvidenceItem, ...]]:
    rows = bank.items.active().order_by("topic__position", "topic_id", "position", "pk")
    rows = rows.filter(topic=topic_id) if topic_id else rows
    fields = rows.values_list(
        "topic_id", "pk", "version", "kind", "revision__uid", "revision_id", "revision__text"
    )
    by_topic: dict[int, list[EvidenceItem]] = {}
    for topic, pk, version, kind, *words in fields:
        by_topic.setdefault(topic, []).append(EvidenceItem(pk, version, ItemKind(kind), *words))
    return {topic: tuple(items) for topic, items in by_topic.items()}


def _relevance(pool: CollectionPool, query: EvidenceQuery) -> dict[int, Relevance]:
    if query.source is RelevanceSource.JUDGMENTS:
        return {topic.topic_id: _judged(topic, query.min_relevant) for topic in pool.topics}
    return {pk: _rated(grades, query.min_grade) for pk, grades in human_matrices(pool).items()}


@lru_cache(maxsize=CACHED_TOPICS)
def _judged(topic: TopicPool, min_relevant: int) -> Relevance:
    return Relevance.judged(
        [topic.judgments.get(doc_id) for doc_id in topic.doc_ids], min_relevant=min_relevant
    )


@lru_cache(maxsize=CACHED_TOPICS)
def _rated(grades: TopicGrades, min_grade: int) -> Relevance:
    return Relevance.rated(grades.matrix.ratings, min_grade=min_grade)
