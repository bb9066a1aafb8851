"""The evidence for spurious items and uncovered passages: ratings beside relevance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from django import forms
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.generation.similarity import near_duplicates
from grading.statistics.diagnostics import Relevance, Spurious, spurious_items, uncovered_passages
from grading.types import ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CACHED_COLLECTIONS, CACHED_TOPICS, TopicPool, collection_pool
from rubricweb.grades import topic_ratings, visibility
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.raters import GraderForm, Rater, covered_from, select_at_once
from rubricweb.review.selectors.window import NO_RANK, ranks


class RelevanceSource(StrEnum):
    """Whose judgment of relevance counts."""

    JUDGMENTS = "judgments"
    PEOPLE = "people"
    """People's ratings of items, and the grader's ratings that they found right."""


@dataclass(frozen=True, slots=True)
class EvidenceQuery:
    """The threshold of relevance, whose judgments count, and the rating from which an item is covered."""

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
    facet_id: str


@dataclass(frozen=True, eq=False)
class TopicEvidence:
    """One topic: passages x items, and which passages are relevant."""

    pool: TopicPool
    items: tuple[EvidenceItem, ...]
    ratings: Ratings
    relevance: Relevance
    """Relevant and not relevant passages, without hidden ones."""
    min_grades: NDArray[np.int8]
    """The rating from which each item is covered."""
    hidden: topic_ratings.Mask
    """Shape (passages,): the reader still has to rate cells of the passage independently."""


def default_source(collection: Collection) -> RelevanceSource:
    """Return judgments if the collection has any, else people's ratings."""
    pool = collection_pool(collection)
    return (
        RelevanceSource.JUDGMENTS if any(topic.judgments for topic in pool.topics) else RelevanceSource.PEOPLE
    )


def evidence(
    bank: Bank, rater: Rater, query: EvidenceQuery, reader: User | None, topic_id: int | None = None
) -> list[TopicEvidence]:
    """Return the evidence of each topic with items, or of one, in the collection's order.

    It is what `reader` may see; None reads as a public link does.
    """
    pool = collection_pool(bank.collection)
    pool = pool.only(topic_id) if topic_id else pool
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    human_grades = human_matrices(pool) if query.source is RelevanceSource.PEOPLE else {}
    hidden_by_topic = visibility.hidden_from(reader, bank.collection_id)
    by_topic = _items_by_topic(tuple(_active_items(bank.collection_id, bank.pk)))
    least = tuple((kind, rater.min_grade_of(kind, query.min_grade)) for kind in ItemKind)
    return [
        _topic_evidence(
            pool.by_topic[pk],
            items,
            tuple((kind, by_config[config.pk][pk]) for kind, config in rater.by_kind.items()),
            human_grades=human_grades.get(pk),
            query=query,
            least=least,
            hidden_passages=_hidden_passages(hidden_by_topic[pk], query),
        )
        for pk, items in by_topic.items()
        if topic_id in (None, pk)
    ]


@compiled_readable
def _active_items(bank: int) -> QuerySet[Item, Any]:
    rows = Item.including_secret.active().filter(bank=bank)
    in_order = rows.order_by("topic__position", "topic_id", "position", "pk")
    return in_order.values_list(
        "topic_id", "pk", "version", "kind", "revision__uid", "revision_id", "revision__text", "facet_id"
    )


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _items_by_topic(rows: tuple[tuple[Any, ...], ...]) -> Mapping[int, tuple[EvidenceItem, ...]]:
    """Return the items of the rows of `_active_items`, which the reader may see."""
    by_topic: dict[int, list[EvidenceItem]] = {}
    for topic_id, pk, version, kind, *wording in rows:
        by_topic.setdefault(topic_id, []).append(EvidenceItem(pk, version, ItemKind(kind), *wording))
    return {topic_id: tuple(items) for topic_id, items in by_topic.items()}


def _hidden_passages(hidden: visibility.Hidden, query: EvidenceQuery) -> frozenset[int]:
    places = hidden.ratings if query.source is RelevanceSource.PEOPLE else hidden.graders
    return frozenset(passage for _, passage in places)


@lru_cache(maxsize=CACHED_TOPICS)
def _topic_evidence(
    pool: TopicPool,
    items: tuple[EvidenceItem, ...],
    grades: tuple[tuple[ItemKind, TopicGrades], ...],
    *,
    human_grades: TopicGrades | None,
    query: EvidenceQuery,
    least: tuple[tuple[ItemKind, int], ...],
    hidden_passages: frozenset[int],
) -> TopicEvidence:
    """Return the evidence of one topic, kept by all it depends on, so that what is found in it is kept too.

    `human_grades` are None where judgments count; `least` is the rating from which each kind covers.
    """
    columns = tuple(
        topic_ratings.ItemColumn(item.kind, item.uid, item.revision_pk, bool(item.text)) for item in items
    )
    ratings = topic_ratings.ratings_of(dict(grades), columns, len(pool.doc_ids))
    hidden = np.array([pk in hidden_passages for pk in pool.passage_pks], dtype=np.bool_)
    relevance = (
        _judged(pool, query.min_relevant) if human_grades is None else _rated(human_grades, query.min_grade)
    )
    visible = Relevance(relevance.relevant & ~hidden, relevance.not_relevant & ~hidden)
    by_kind = dict(least)
    min_grades = np.array([by_kind[item.kind] for item in items], dtype=np.int8)
    for kept in (ratings, visible.relevant, visible.not_relevant, min_grades, hidden):
        kept.flags.writeable = False
    return TopicEvidence(pool, items, ratings, visible, min_grades, hidden)


def count_hidden(topics: Iterable[TopicEvidence]) -> int:
    """Count the hidden passages of these topics."""
    return sum(int(topic.hidden.sum()) for topic in topics)


@lru_cache(maxsize=CACHED_TOPICS)
def _judged(topic: TopicPool, min_relevant: int) -> Relevance:
    return Relevance.judged(
        [topic.judgments.get(doc_id) for doc_id in topic.doc_ids], min_relevant=min_relevant
    )


@lru_cache(maxsize=CACHED_TOPICS)
def _rated(grades: TopicGrades, min_grade: int) -> Relevance:
    return Relevance.rated(grades.matrix.ratings, min_grade=min_grade)


@dataclass(frozen=True, slots=True)
class Suspect:
    """An item, and the passages that should not cover it."""

    item: EvidenceItem
    topic_id: int
    spurious: Spurious


@dataclass(frozen=True, slots=True)
class UncoveredPassage:
    """A relevant passage without a grade at the threshold."""

    topic_id: int
    passage_pk: int
    row: int
    """The passage's row in the topic's pool."""
    judgment: int | None
    label: int
    """The highest rating; MISSING where there is none."""
    runs: int
    """How many runs retrieved it."""


@dataclass(frozen=True, slots=True)
class UncoveredPassages:
    uncovered: tuple[UncoveredPassage, ...]
    """Passages in the order of topics and pools."""
    ungraded: tuple[UncoveredPassage, ...]
    hidden: frozenset[tuple[int, int]]
    """(topic, passage) pairs of which the reader may not know yet whether they are uncovered."""


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two items of a topic with similar wording; the earlier one is offered to stay."""

    topic_id: int
    keep: EvidenceItem
    duplicate: EvidenceItem
    score: float


def suspects(topics: Iterable[TopicEvidence]) -> list[Suspect]:
    """Return the items that passages cover which are not relevant, those with most such passages first."""
    listed = [suspect for topic in topics for suspect in _suspects_in(topic)]
    return sorted(listed, key=lambda suspect: (-suspect.spurious.count, -(suspect.spurious.share or 0)))


@lru_cache(maxsize=CACHED_TOPICS)
def _suspects_in(topic: TopicEvidence) -> tuple[Suspect, ...]:
    return tuple(
        Suspect(topic.items[spurious.item], topic.pool.topic_id, spurious)
        for spurious in spurious_items(topic.ratings, topic.relevance, min_grade=topic.min_grades)
        if spurious.count
    )


def uncovered_of(topics: Iterable[TopicEvidence]) -> UncoveredPassages:
    """Return the relevant passages that no item covers, and those that nobody graded."""
    by_topic = [_uncovered_in(topic) for topic in topics]
    return UncoveredPassages(
        tuple(passage for each in by_topic for passage in each.uncovered),
        tuple(passage for each in by_topic for passage in each.ungraded),
        frozenset(pair for each in by_topic for pair in each.hidden),
    )


@lru_cache(maxsize=CACHED_TOPICS)
def _uncovered_in(topic: TopicEvidence) -> UncoveredPassages:
    passages, pool = (
        uncovered_passages(topic.ratings, topic.relevance, min_grade=topic.min_grades),
        topic.pool,
    )
    return UncoveredPassages(
        tuple(_uncovered(topic, row) for row in passages.uncovered),
        tuple(_uncovered(topic, row) for row in passages.ungraded),
        frozenset((pool.topic_id, pool.passage_pks[row]) for row in np.flatnonzero(topic.hidden)),
    )


def _uncovered(topic: TopicEvidence, row: int) -> UncoveredPassage:
    pool = topic.pool
    return UncoveredPassage(
        topic_id=pool.topic_id,
        passage_pk=pool.passage_pks[row],
        row=row,
        judgment=pool.judgments.get(pool.doc_ids[row]),
        label=max(int(topic.ratings[row].max(initial=-1)), -1),
        runs=int((ranks(pool)[row] != NO_RANK).sum()),
    )


def near_pairs(topics: Iterable[TopicEvidence]) -> list[NearPair]:
    """Return the items with similar wording: questions are compared with questions, nuggets with nuggets."""
    return [pair for topic in topics for pair in _near_pairs_in(topic)]


@lru_cache(maxsize=CACHED_TOPICS)
def _near_pairs_in(topic: TopicEvidence) -> tuple[NearPair, ...]:
    pairs: list[NearPair] = []
    for kind in ItemKind:
        by_text = {item.text: item for item in topic.items if item.kind == kind and item.text}
        pairs += [
            NearPair(topic.pool.topic_id, by_text[pair.other], by_text[pair.text], pair.score)
            for pair in near_duplicates(list(by_text))
        ]
    return tuple(pairs)


SOURCES = (
    (str(RelevanceSource.JUDGMENTS), "the judgments"),
    (str(RelevanceSource.PEOPLE), "people's own ratings"),
)


class EvidenceForm(ChipForm, GraderForm):
    """The topic, and from where on a passage is relevant or covered."""

    in_toolbar: tuple[str, ...] = ("topic", "grader", "min_grade", "source", "min_relevant")
    outdated: tuple[str, ...] = ("page",)

    topic = select_at_once("Topic", ())
    min_grade = covered_from()
    source = select_at_once("Relevance by", SOURCES)
    min_relevant = forms.IntegerField(
        label="Relevant from judgment", min_value=-10, max_value=10, required=False
    )
    page = forms.IntegerField(min_value=1, required=False)

    def default_value(self, name: str) -> str:
        collection = self.of_bank.collection
        return {
            "grader": self.data["grader"],
            "min_grade": str(self.default_min_grade),
            "source": str(default_source(collection)),
            "min_relevant": str(collection.min_relevant),
        }.get(name, "")

    def offer_bank(self, bank: Bank, topics: Iterable[Topic]) -> None:
        """Offer the bank's topics; judgments count where relevance goes by them."""
        choices = [("", "all"), *((str(topic.pk), _named(topic)) for topic in topics)]
        offer_choices(self, "topic", choices)
        self.data.setdefault("min_relevant", str(bank.collection.min_relevant))
        self.data.setdefault("source", str(default_source(bank.collection)))
        self.of_bank = bank
        if self.query.source is RelevanceSource.PEOPLE:
            self.in_toolbar = tuple(name for name in self.in_toolbar if name != "min_relevant")

    @property
    def query(self) -> EvidenceQuery:
        return EvidenceQuery(
            RelevanceSource(self.value("source", default_source(self.of_bank.collection))),
            self.value("min_relevant", self.of_bank.collection.min_relevant),
            self.value("min_grade", self.default_min_grade),
        )

    @property
    def topic_id(self) -> int | None:
        return int(self.value("topic", 0)) or None


def _named(topic: Topic) -> str:
    text = topic.text if len(topic.text) <= 60 else f"{topic.text[:57]}…"
    return f"{topic.query_id}: {text}" if text else topic.query_id
