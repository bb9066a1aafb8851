"""Relevant passages that no item covers: the bank may lack a question."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grading.statistics.diagnostics import uncovered_passages
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Passage, Topic
from rubricweb.editor.figures import GraderByKind, passage_grades
from rubricweb.editor.similar import items_by_closeness
from rubricweb.review.evidence import EvidenceQuery, TopicEvidence
from rubricweb.review.selectors.window import NO_RANK, ranks
from rubricweb.review.uncovered.access import OpenedPassage

NO_JUDGMENT = -1_000


@dataclass(frozen=True, slots=True)
class UncoveredPassage:
    """A relevant passage without a grade at the threshold."""

    topic_id: int
    passage_pk: int
    judgment: int | None
    label: int
    """The highest rating; MISSING where there is none."""
    runs: int
    """How many runs retrieved it."""


@dataclass(frozen=True, slots=True)
class UncoveredPassages:
    uncovered: tuple[UncoveredPassage, ...]
    """Highest judgment first, then retrieved by more runs."""
    ungraded: tuple[UncoveredPassage, ...]
    hidden: frozenset[tuple[int, int]]
    """(topic, passage) pairs of which the reader may not know yet whether they are uncovered."""


@dataclass(frozen=True, slots=True)
class UncoveredRow:
    """A gap as it is listed."""

    gap: UncoveredPassage
    topic: Topic
    passage: Passage


@dataclass(frozen=True, slots=True)
class NearItem:
    """An item with its closeness to the passage, or to the spans that were quoted from it."""

    item: Item
    score: float
    grade: int | None
    """On this passage; None where no grader grades its kind."""


def uncovered_of(topics: Iterable[TopicEvidence], query: EvidenceQuery) -> UncoveredPassages:
    uncovered: list[UncoveredPassage] = []
    ungraded: list[UncoveredPassage] = []
    hidden: set[tuple[int, int]] = set()
    for topic in topics:
        passages = uncovered_passages(topic.ratings, topic.relevance, min_grade=topic.min_grades)
        uncovered += [_gap(topic, row) for row in passages.uncovered]
        ungraded += [_gap(topic, row) for row in passages.ungraded]
        pool = topic.pool
        hidden |= {(pool.topic_id, pool.passage_pks[row]) for row in np.flatnonzero(topic.hidden)}
    return UncoveredPassages(_worst_first(uncovered), _worst_first(ungraded), frozenset(hidden))


def _gap(topic: TopicEvidence, row: int) -> UncoveredPassage:
    pool = topic.pool
    return UncoveredPassage(
        topic_id=pool.topic_id,
        passage_pk=pool.passage_pks[row],
        judgment=pool.judgments.get(pool.doc_ids[row]),
        label=max(int(topic.ratings[row].max(initial=-1)), -1),
        runs=int((ranks(pool)[row] != NO_RANK).sum()),
    )


def _worst_first(passages: list[UncoveredPassage]) -> tuple[UncoveredPassage, ...]:
    def badness(gap: UncoveredPassage) -> tuple[int, int]:
        return -(NO_JUDGMENT if gap.judgment is None else gap.judgment), -gap.runs

    return tuple(sorted(passages, key=badness))


def rows(bank: Bank, listed: Iterable[UncoveredPassage]) -> list[UncoveredRow]:
    page = list(listed)
    topics = bank.collection.topics.in_bulk({gap.topic_id for gap in page})
    passages = bank.collection.passages.in_bulk({gap.passage_pk for gap in page})
    return [UncoveredRow(gap, topics[gap.topic_id], passages[gap.passage_pk]) for gap in page]


@dataclass(frozen=True, slots=True)
class Position:
    """A passage's position among the uncovered ones, and its neighbours."""

    gap: UncoveredPassage | None
    """None if the passage is covered, not relevant, or hidden."""
    is_ungraded: bool
    is_hidden: bool
    number: int
    count: int
    before: UncoveredPassage | None
    after: UncoveredPassage | None


def place(uncovered_of: UncoveredPassages, opened: OpenedPassage) -> Position:
    """Return the passage's position; number 0 if it is not listed."""
    listed = uncovered_of.uncovered
    keys = [(gap.topic_id, gap.passage_pk) for gap in listed]
    mine = (opened.topic.pk, opened.passage.pk)
    at = keys.index(mine) if mine in keys else -1
    ungraded = next((gap for gap in uncovered_of.ungraded if (gap.topic_id, gap.passage_pk) == mine), None)
    return Position(
        gap=listed[at] if at >= 0 else ungraded,
        is_ungraded=ungraded is not None,
        is_hidden=mine in uncovered_of.hidden,
        number=at + 1,
        count=len(listed),
        before=listed[at - 1] if at > 0 else None,
        after=listed[at + 1] if at + 1 < len(listed) else None,
    )


def ranked_items(opened: OpenedPassage, text: str, graders: GraderByKind) -> list[NearItem]:
    """Return the topic's active items, closest to `text` first, with their grades on the passage."""
    near = items_by_closeness(opened.bank, opened.topic, text)
    grades = passage_grades(opened.topic, opened.passage.pk, [one.item for one in near], graders)
    return [NearItem(one.item, one.score, grades.get(one.item.pk)) for one in near]
