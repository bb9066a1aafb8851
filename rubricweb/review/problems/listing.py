"""The list of problems, ordered by what moves the board, and the decisions that something is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import QuerySet

from grading.item_lint import LintMark, coverage_marks, word_marks
from grading.statistics import influence
from grading.types import MISSING
from rubricweb.banks.models import Bank
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Passage, Subtopic, Topic
from rubricweb.corpus.pools import CACHED_TOPICS, collection_pool
from rubricweb.editor.what_if import BoardInputs, board_inputs
from rubricweb.grades.matrices import StampedCache, TopicGrades
from rubricweb.grades.raters import Rater
from rubricweb.grades.scoring import MeasureSpec, Scores, ScoreTable, Uids, fresh_scores, item_scores
from rubricweb.grades.topic_ratings import SPURIOUS_SHARE
from rubricweb.review.models import Flag, FlagEvent, FlagQuerySet
from rubricweb.review.problems import (
    EvidenceItem,
    EvidenceQuery,
    NearPair,
    Suspect,
    TopicEvidence,
    UncoveredPassage,
    near_pairs,
    suspects,
    uncovered_of,
)
from rubricweb.review.problems.copies import PooledGroup


class ProblemKind(StrEnum):
    MISLEADING = "misleading"
    """An item that passages cover which are not relevant."""
    WEAK = "weak"
    """An item that asks two things, is vague or too broad, or that all, most or no passages cover."""
    UNCOVERED = "uncovered"
    """A relevant passage that no item covers."""
    SAME = "same"
    """Two items that say the same."""
    COPIES = "copies"
    """Near-duplicate passages that are graded differently."""


FLAG_KINDS = {
    ProblemKind.MISLEADING: Flag.Kind.SPURIOUS,
    ProblemKind.WEAK: Flag.Kind.UNCLEAR,
    ProblemKind.UNCOVERED: Flag.Kind.UNCOVERED,
    ProblemKind.SAME: Flag.Kind.DUPLICATE,
    ProblemKind.COPIES: Flag.Kind.DUPLICATE,
}
"""A problem that a person sets aside is a flag of this kind that is resolved with a reason."""
SMALL = 0.001


@dataclass(frozen=True, slots=True)
class WeakItem:
    """An item with what is wrong with it, each with its evidence."""

    item: EvidenceItem
    topic_id: int
    marks: tuple[LintMark, ...]


Finding = Suspect | WeakItem | UncoveredPassage | NearPair | PooledGroup


@dataclass(frozen=True, slots=True)
class Effect:
    """The change of a board if the problem is solved."""

    moving: int
    """Runs whose rank changes."""
    change: float
    """The largest change of a run's score."""

    @property
    def size(self) -> str:
        return f"\N{LESS-THAN OR EQUAL TO} {self.change:z.3f}" if self.change >= SMALL else f"< {SMALL}"


@dataclass(frozen=True, slots=True)
class ListedProblem:
    kind: ProblemKind
    key: str
    """The problem's name in addresses and forms: item-3, weak-3, passage-1-17, pair-3-8, copies-1-17."""
    topic_id: int
    finding: Finding
    effect: Effect | None
    """The effect of solving it; None where no grader grades the items, or nothing is to be scored."""


@dataclass(frozen=True, slots=True)
class Problems:
    """The problems of the topics that were looked at."""

    listed: tuple[ListedProblem, ...]
    """Open problems, those that move the board most first."""
    set_aside: tuple[ListedProblem, ...]
    decided: Mapping[Name, FlagEvent]
    """Why people set something aside, by what they looked at."""
    ungraded: int
    """Relevant passages without any grade."""
    n_topics: int
    """Topics with items."""

    def counts(self) -> dict[ProblemKind, int]:
        return {kind: sum(problem.kind is kind for problem in self.listed) for kind in ProblemKind}


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """A problem as it is listed."""

    problem: ListedProblem
    query_id: str
    text: str
    doc_id: str
    decision: FlagEvent | None
    """Why a person set it aside."""


BOARDS = 8
"""How many boards are kept with what was tried on them."""
NEW_ITEM = "new"
"""Stands for the id of an item that nobody has written yet."""


class TrialBoard:
    """The board of one grader, on which the end of each problem is tried once."""

    def __init__(self, inputs: BoardInputs) -> None:
        self.inputs = inputs
        self.table = inputs.table({})
        self.means = self.table.means()
        self.ranks = influence.ranks(self.means)
        self._effects: dict[tuple[int, str | int], Effect] = {}

    def without_item(self, topic_id: int, uid: str) -> Effect:
        """Return the effect of retiring an item."""
        if (topic_id, uid) not in self._effects:
            self._effects[topic_id, uid] = self._effect(topic_id, self._scores_without(topic_id, uid))
        return self._effects[topic_id, uid]

    def with_item_for(self, topic_id: int, row: int) -> Effect:
        """Return the effect of a new item that only the passage in this row of the pool covers."""
        if (topic_id, row) not in self._effects:
            self._effects[topic_id, row] = self._effect(topic_id, self._scores_with(topic_id, row))
        return self._effects[topic_id, row]

    def _scores_without(self, topic_id: int, uid: str) -> Scores:
        uids = tuple(other for other in self.inputs.items.get(topic_id, ()) if other != uid)
        return fresh_scores(self.inputs.grades[topic_id], uids, self.inputs.measure)

    def _scores_with(self, topic_id: int, row: int) -> Scores:
        grades, measure = self.inputs.grades[topic_id], self.inputs.measure
        matrix = grades.matrix.columns((*self.inputs.items.get(topic_id, ()), NEW_ITEM))
        matrix.ratings[:, -1] = 0
        matrix.ratings[row, -1] = measure.min_grade
        return item_scores(grades.pool, matrix, measure)

    def _effect(self, topic_id: int, scores: Scores) -> Effect:
        after = self.table.scores.copy()
        after[:, self.table.topic_ids.index(topic_id)] = scores
        means = ScoreTable(self.table.run_tags, self.table.topic_ids, after).means()
        moving = int((influence.ranks(means) != self.ranks).sum())
        changes = np.abs(np.nan_to_num(means) - np.nan_to_num(self.means))
        return Effect(moving, float(changes.max(initial=0.0)))


Tried = tuple[MeasureSpec, tuple[tuple[TopicGrades, Uids], ...]]
"""What a board is computed from: the measure, and each topic's grades that the reader may see, and items."""
_boards: StampedCache[Tried, TrialBoard] = StampedCache(BOARDS)


def trial_board(inputs: BoardInputs) -> TrialBoard:
    """Return the board of these inputs, with what was tried on it before."""
    of_topics = (
        (inputs.grades[topic.topic_id], inputs.items.get(topic.topic_id, ())) for topic in inputs.pool.topics
    )
    key = inputs.measure, tuple(of_topics)
    return _boards.get(key) or _boards.keep(key, TrialBoard(inputs))


def problems(
    bank: Bank,
    topics: Iterable[TopicEvidence],
    rater: Rater,
    query: EvidenceQuery,
    groups: Iterable[PooledGroup],
) -> Problems:
    """Return the problems of these topics; `groups` are near-duplicate passages."""
    looked_at = list(topics)
    boards = {
        kind: trial_board(
            board_inputs(bank, config, MeasureSpec(min_grade=rater.min_grade_of(kind, query.min_grade)))
        )
        for kind, config in rater.by_kind.items()
    }
    board = next(iter(boards.values()), None)
    listed: list[ListedProblem] = []
    for suspect in suspects(looked_at):
        if (suspect.spurious.share or 0) < SPURIOUS_SHARE:
            continue
        own = boards.get(suspect.item.kind)
        effect = own.without_item(suspect.topic_id, suspect.item.uid) if own else None
        key = f"item-{suspect.item.pk}"
        listed.append(ListedProblem(ProblemKind.MISLEADING, key, suspect.topic_id, suspect, effect))
    for weak in weak_items(bank, looked_at):
        own = boards.get(weak.item.kind)
        effect = own.without_item(weak.topic_id, weak.item.uid) if own else None
        listed.append(ListedProblem(ProblemKind.WEAK, f"weak-{weak.item.pk}", weak.topic_id, weak, effect))
    passages = uncovered_of(looked_at)
    for gap in passages.uncovered:
        effect = board.with_item_for(gap.topic_id, gap.row) if board else None
        key = f"passage-{gap.topic_id}-{gap.passage_pk}"
        listed.append(ListedProblem(ProblemKind.UNCOVERED, key, gap.topic_id, gap, effect))
    for pair in near_pairs(looked_at):
        own = boards.get(pair.duplicate.kind)
        effect = own.without_item(pair.topic_id, pair.duplicate.uid) if own else None
        key = f"pair-{pair.keep.pk}-{pair.duplicate.pk}"
        listed.append(ListedProblem(ProblemKind.SAME, key, pair.topic_id, pair, effect))
    for group in groups:
        if group.spread > 0:
            topic_id = group.topic.topic_id
            key = f"copies-{topic_id}-{group.topic.passage_pks[group.rows[0]]}"
            listed.append(ListedProblem(ProblemKind.COPIES, key, topic_id, group, None))
    decided = decisions(bank)
    listed.sort(key=_weight)
    set_aside = {problem.key for problem in listed if decision(problem, decided)} if decided else set()
    return Problems(
        tuple(problem for problem in listed if problem.key not in set_aside),
        tuple(problem for problem in listed if problem.key in set_aside),
        decided,
        len(passages.ungraded),
        len(looked_at),
    )


def _weight(problem: ListedProblem) -> tuple[float, float, float]:
    """Sort what moves the board first, then near-duplicates by the spread of their grades."""
    spread = problem.finding.spread if isinstance(problem.finding, PooledGroup) else 0
    if problem.effect is None:
        return 1, 0, -spread
    return -problem.effect.moving, -problem.effect.change, 0


Name = tuple[str, int, int | None, int | None, str]
"""The kind of a flag, its topic, passage and wording, and the text of the other item of a pair."""
_OTHER = re.compile(
    "Not the same as \N{LEFT DOUBLE QUOTATION MARK}(.*)\N{RIGHT DOUBLE QUOTATION MARK}: ", re.DOTALL
)


def reason_of_pair(other: str, reason: str) -> str:
    """Return the reason why an item is not the same as `other`, as its flag keeps it."""
    return f"Not the same as \N{LEFT DOUBLE QUOTATION MARK}{other}\N{RIGHT DOUBLE QUOTATION MARK}: {reason}"


def decisions(bank: Bank) -> dict[Name, FlagEvent]:
    """Return the reasons that people gave for setting a problem aside, by what they looked at.

    A decision is about a wording: the problem is back once its item is reworded.
    """
    pks = tuple(_decided(bank.collection_id, bank.pk))
    decided: dict[Name, FlagEvent] = {}
    for event in _events(pks) if pks else ():
        flag, other = event.flag, _OTHER.match(event.text)
        name = (flag.kind, flag.topic_id, flag.passage_id, flag.revision_id, other[1] if other else "")
        decided[name] = event
    return decided


@compiled_readable
def _decided(bank: int) -> QuerySet[Flag, Any]:
    flags = FlagQuerySet(Flag).filter(bank=bank, kind__in=sorted(set(FLAG_KINDS.values())))
    return flags.set_aside().values_list("decided", flat=True).order_by()


@compiled_once
def _events(pks: tuple[int, ...]) -> QuerySet[FlagEvent]:
    return FlagEvent.objects.filter(pk__in=pks).select_related("flag", "by").order_by("pk")


def decision(problem: ListedProblem, decided: Mapping[Name, FlagEvent]) -> FlagEvent | None:
    """Return why somebody set the problem aside, if anybody did."""
    finding, kind = problem.finding, str(FLAG_KINDS[problem.kind])
    names: list[Name] = []
    if isinstance(finding, Suspect | WeakItem):
        names = [(kind, problem.topic_id, None, finding.item.revision_pk, "")]
    elif isinstance(finding, NearPair):
        both = ((finding.keep, finding.duplicate), (finding.duplicate, finding.keep))
        names = [(kind, problem.topic_id, None, item.revision_pk, other.text) for item, other in both]
    else:
        names = [(kind, problem.topic_id, int(problem.key.rpartition("-")[2]), None, "")]
    return next((decided[name] for name in names if name in decided), None)


def rows(bank: Bank, page: Iterable[ListedProblem], decided: Mapping[Name, FlagEvent]) -> list[ProblemRow]:
    """Return a page of problems with their topics and texts."""
    page = list(page)
    topics = collection_pool(bank.collection).by_topic
    pks = tuple({pk for problem in page if (pk := _passage(problem)) is not None})
    passages = {pk: (doc_id, text) for pk, doc_id, text in (_passages(pks) if pks else ())}
    listed_rows = []
    for problem in page:
        doc_id, text = passages.get(_passage(problem) or 0, ("", ""))
        finding = problem.finding
        if isinstance(finding, Suspect | WeakItem):
            text = finding.item.text or finding.item.uid
        elif isinstance(finding, NearPair):
            text = finding.duplicate.text
        why = decision(problem, decided)
        listed_rows.append(ProblemRow(problem, topics[problem.topic_id].query_id, text, doc_id, why))
    return listed_rows


@compiled_once
def _passages(pks: tuple[int, ...]) -> QuerySet[Passage, Any]:
    return Passage.objects.filter(pk__in=pks).values_list("pk", "doc_id", "text")


def _passage(problem: ListedProblem) -> int | None:
    if problem.kind in (ProblemKind.UNCOVERED, ProblemKind.COPIES):
        return int(problem.key.rpartition("-")[2])
    return None


def weak_items(bank: Bank, topics: Sequence[TopicEvidence]) -> list[WeakItem]:
    """Return the marked items in their order. Grades that the reader must not see yet count as missing."""
    texts = dict(_texts(bank.collection_id))
    named = _subtopics(bank.collection_id)
    subtopics = {(topic_id, facet_id): text for topic_id, facet_id, text in named if facet_id}
    weak: list[WeakItem] = []
    for topic in topics:
        topic_id = topic.pool.topic_id
        own = tuple(subtopics.get((topic_id, item.facet_id), "") for item in topic.items)
        weak += _weak_in(topic, texts[topic_id], own)
    return weak


@compiled_once
def _texts(collection: int) -> QuerySet[Topic, Any]:
    return Topic.objects.filter(collection=collection).values_list("pk", "text").order_by()


@compiled_once
def _subtopics(collection: int) -> QuerySet[Subtopic, Any]:
    rows = Subtopic.objects.filter(topic__collection=collection)
    return rows.values_list("topic_id", "facet_id", "text").order_by()


@lru_cache(maxsize=CACHED_TOPICS)
def _weak_in(topic: TopicEvidence, text: str, subtopics: tuple[str, ...]) -> tuple[WeakItem, ...]:
    """Return the marked items of one topic; `subtopics` are the texts of those of its items."""
    weak: list[WeakItem] = []
    ratings = np.where(topic.hidden[:, np.newaxis], MISSING, topic.ratings).astype(np.int8)
    for column, item in enumerate(topic.items):
        marks = [
            *word_marks(item.text, item.kind, [text, subtopics[column]]),
            *coverage_marks(ratings[:, column], min_grade=int(topic.min_grades[column])),
        ]
        if marks:
            weak.append(WeakItem(item, topic.pool.topic_id, tuple(marks)))
    return tuple(weak)
