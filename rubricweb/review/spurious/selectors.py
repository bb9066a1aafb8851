"""Items that passages cover which are not relevant: how often, by which, and the effect of retiring them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext_lazy

from grading.statistics.diagnostics import Spurious, spurious_items
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.editor.what_if import WhatIf, retirements
from rubricweb.grades.raters import Rater
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.review.evidence import EvidenceItem, EvidenceQuery, TopicEvidence

SHOWN_PASSAGES = 50
SORTS = {"count": gettext_lazy("how often"), "share": gettext_lazy("share")}


@dataclass(frozen=True, slots=True)
class Suspect:
    """An item, and the passages that should not cover it."""

    item: EvidenceItem
    topic_id: int
    spurious: Spurious


@dataclass(frozen=True, slots=True)
class SuspectRow:
    """A suspect as it is listed."""

    suspect: Suspect
    topic: Topic
    what_if: WhatIf | None
    """The effect of retiring it; None if no grader grades its kind."""


@dataclass(frozen=True, slots=True)
class CoveredPassage:
    """A passage that is not relevant and covers the item."""

    passage: Passage
    judgment: int | None
    rating: int


def suspects(topics: Iterable[TopicEvidence], query: EvidenceQuery, sort: str = "count") -> list[Suspect]:
    """Worst first; ties in the bank's order."""
    found = [
        Suspect(topic.items[spurious.item], topic.pool.topic_id, spurious)
        for topic in topics
        for spurious in _spurious(topic)
        if spurious.count
    ]
    if sort == "share":
        return sorted(found, key=lambda suspect: (-(suspect.spurious.share or 0), -suspect.spurious.count))
    return sorted(found, key=lambda suspect: (-suspect.spurious.count, -(suspect.spurious.share or 0)))


def _spurious(topic: TopicEvidence) -> list[Spurious]:
    return spurious_items(topic.ratings, topic.relevance, min_grade=topic.min_grades)


def rows(bank: Bank, listed: Iterable[Suspect], rater: Rater, query: EvidenceQuery) -> list[SuspectRow]:
    """A page of suspects with their topics, and the effect of retiring each alone."""
    page = list(listed)
    topics = bank.collection.topics.in_bulk({suspect.topic_id for suspect in page})
    pks = {suspect.item.pk for suspect in page}
    changes: dict[int, WhatIf] = {}
    for kind, config in rater.by_kind.items() if page else ():
        measure = MeasureSpec(min_grade=rater.min_grade_of(kind, query.min_grade))
        changes |= retirements(bank, pks, config, measure)
    return [SuspectRow(suspect, topics[suspect.topic_id], changes.get(suspect.item.pk)) for suspect in page]


def suspect(
    item: Item, topics: Iterable[TopicEvidence], query: EvidenceQuery
) -> tuple[Spurious | None, list[CoveredPassage]]:
    """Return one item's finding and its first passages; None for a retired item."""
    for topic in topics:
        for spurious in _spurious(topic):
            if topic.items[spurious.item].pk == item.pk:
                return spurious, _passages(item.bank.collection, topic, spurious)
    return None, []


def _passages(collection: Collection, topic: TopicEvidence, spurious: Spurious) -> list[CoveredPassage]:
    shown = spurious.passages[:SHOWN_PASSAGES]
    texts = collection.passages.in_bulk([topic.pool.passage_pks[row] for row in shown])
    return [
        CoveredPassage(
            texts[topic.pool.passage_pks[row]],
            topic.pool.judgments.get(topic.pool.doc_ids[row]),
            int(topic.ratings[row, spurious.item]),
        )
        for row in shown
    ]
