"""What spurious items and uncovered passages are found by: ratings beside what people call relevant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from grading.measures.diagnostics import Relevance
from grading.types import ItemKind, Ratings
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades.humans import human_matrices
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.review.selectors.raters import Rater
from rubricweb.review.selectors.sheet import MIN_GRADE, Asked, ratings_of

CACHED_TOPICS = 8_000


class Source(StrEnum):
    """Who says what is relevant."""

    JUDGMENTS = "judgments"
    PEOPLE = "people"
    """Their own ratings of items, and the grader's ratings that they found right."""


@dataclass(frozen=True, slots=True)
class Look:
    """From where on a passage is relevant, and a rating covers."""

    source: Source
    min_relevant: int
    min_grade: int = MIN_GRADE


@dataclass(frozen=True, slots=True)
class AskedItem:
    """An active item of the bank."""

    pk: int
    version: int
    kind: ItemKind
    uid: str
    text: str


@dataclass(frozen=True, eq=False)
class TopicEvidence:
    """One topic: passages x items, and which passages are relevant."""

    pool: TopicPool
    items: tuple[AskedItem, ...]
    ratings: Ratings
    relevance: Relevance


def default_source(collection: Collection) -> Source:
    """Judgments, where the collection has any."""
    pool = collection_pool(collection)
    return Source.JUDGMENTS if any(topic.judgments for topic in pool.topics) else Source.PEOPLE


def evidence(bank: Bank, rater: Rater, look: Look, topic_id: int | None = None) -> Iterator[TopicEvidence]:
    """Each topic of the bank that has items, or one; in the collection's order."""
    pool = collection_pool(bank.collection)
    pool = pool.only(topic_id) if topic_id else pool
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    relevance = _relevance(pool, look)
    for pk, items in _items(bank, topic_id).items():
        topic = pool.by_topic[pk]
        grades = {kind: by_config[config.pk][pk] for kind, config in rater.by_kind.items()}
        asked = tuple(Asked(item.kind, item.uid, bool(item.text)) for item in items)
        yield TopicEvidence(topic, items, ratings_of(grades, asked, len(topic.doc_ids)), relevance[pk])


def _items(bank: Bank, topic_id: int | None) -> dict[int, tuple[AskedItem, ...]]:
    rows = bank.items.active().order_by("topic__position", "topic_id", "position", "pk")
    rows = rows.filter(topic=topic_id) if topic_id else rows
    fields = rows.values_list("topic_id", "pk", "version", "kind", "revision__uid", "revision__text")
    found: dict[int, list[AskedItem]] = {}
    for topic, pk, version, kind, uid, text in fields:
        found.setdefault(topic, []).append(AskedItem(pk, version, ItemKind(kind), uid, text))
    return {topic: tuple(items) for topic, items in found.items()}


def _relevance(pool: CollectionPool, look: Look) -> dict[int, Relevance]:
    if look.source is Source.JUDGMENTS:
        return {topic.topic_id: _judged(topic, look.min_relevant) for topic in pool.topics}
    return {pk: _rated(grades, look.min_grade) for pk, grades in human_matrices(pool).items()}


@lru_cache(maxsize=CACHED_TOPICS)
def _judged(topic: TopicPool, min_relevant: int) -> Relevance:
    return Relevance.judged(
        [topic.judgments.get(doc_id) for doc_id in topic.doc_ids], min_relevant=min_relevant
    )


@lru_cache(maxsize=CACHED_TOPICS)
def _rated(grades: TopicGrades, min_grade: int) -> Relevance:
    return Relevance.rated(grades.matrix.ratings, min_grade=min_grade)
