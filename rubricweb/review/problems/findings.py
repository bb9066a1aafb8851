"""Problems of a bank, topic by topic: misleading items, relevant passages that no item covers, items that say
the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grading.generation import near_duplicates
from grading.statistics.diagnostics import Spurious, spurious_items, uncovered_passages
from grading.types import ItemKind
from rubricweb.review.evidence import EvidenceItem, TopicEvidence
from rubricweb.review.selectors.window import NO_RANK, ranks


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
    """Of the topic's pool."""
    judgment: int | None
    label: int
    """The highest rating; MISSING where there is none."""
    runs: int
    """How many runs retrieved it."""


@dataclass(frozen=True, slots=True)
class UncoveredPassages:
    uncovered: tuple[UncoveredPassage, ...]
    """In the order of topics and pools."""
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
    listed = [
        Suspect(topic.items[spurious.item], topic.pool.topic_id, spurious)
        for topic in topics
        for spurious in spurious_items(topic.ratings, topic.relevance, min_grade=topic.min_grades)
        if spurious.count
    ]
    return sorted(listed, key=lambda suspect: (-suspect.spurious.count, -(suspect.spurious.share or 0)))


def uncovered_of(topics: Iterable[TopicEvidence]) -> UncoveredPassages:
    """Return the relevant passages that no item covers, and those that nobody graded."""
    uncovered: list[UncoveredPassage] = []
    ungraded: list[UncoveredPassage] = []
    hidden: set[tuple[int, int]] = set()
    for topic in topics:
        passages = uncovered_passages(topic.ratings, topic.relevance, min_grade=topic.min_grades)
        uncovered += [_uncovered(topic, row) for row in passages.uncovered]
        ungraded += [_uncovered(topic, row) for row in passages.ungraded]
        pool = topic.pool
        hidden |= {(pool.topic_id, pool.passage_pks[row]) for row in np.flatnonzero(topic.hidden)}
    return UncoveredPassages(tuple(uncovered), tuple(ungraded), frozenset(hidden))


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
    pairs: list[NearPair] = []
    for topic in topics:
        for kind in ItemKind:
            by_text = {item.text: item for item in topic.items if item.kind == kind and item.text}
            pairs += [
                NearPair(topic.pool.topic_id, by_text[pair.other], by_text[pair.text], pair.score)
                for pair in near_duplicates(list(by_text))
            ]
    return pairs
