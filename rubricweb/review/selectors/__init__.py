"""The grid's query, and what lies over ratings: people's ratings, confidence, grades of older wordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.arrays import undefined_last
from grading.types import CONTRADICTS, FAILED, MIN_RATING, MISSING, GradeMatrix, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, ItemChange
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades.human_matrices import RatingSource, corrected, human_matrices
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import KINDS, Rater
from rubricweb.grades.topic_ratings import ItemColumn, Mask, Sheet, ratings_of, without_contradictions
from rubricweb.grades.verification import verdict_matrices

if TYPE_CHECKING:
    from rubricweb.review.selectors.columns import GridColumn


LOW_CONFIDENCE = 50
"""Percent; below it the grader was unsure."""
CACHED_TOPICS = 500


@dataclass(frozen=True, slots=True)
class OwnRating:
    """The reader's latest event for a cell."""

    number: int
    rating: int | None
    verdict: str
    is_withdrawn: bool

    @property
    def is_standing(self) -> bool:
        return not self.is_withdrawn


OwnRatings = dict[tuple[int, int], OwnRating]
"""The reader's latest events by (revision, passage)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedSheet(Sheet):
    """The ratings of one source, and what else is known of each cell."""

    outcomes: Ratings
    """What cells show: `ratings`, with CONTRADICTS where that is the rating."""
    graded: Ratings
    """The grader's ratings, whatever `ratings` are, also with CONTRADICTS."""
    by_people: Ratings
    """The ratings of people together, also with CONTRADICTS; MISSING where nobody rated."""
    checked: Mask
    """A person rated the cell, or gave a verdict on the grader's present rating."""
    confidences: Ratings
    """Percent; MISSING where the grader reports none."""
    older: Mask
    """The grader rated an older wording of the item."""
    mine: Mask
    """The reader rated the cell, or gave a verdict."""
    has_verdicts: bool = False
    """Ratings are verdicts on answers: 1 right, 0 wrong."""
    is_empty: Mask | None = None
    """The extracted answer says that there is none; None for graders that extract none."""

    @property
    def rated_by_grader(self) -> Mask:
        return np.asarray((self.graded >= MIN_RATING) | (self.graded == CONTRADICTS))

    @cached_property
    def verified(self) -> Mask:
        return np.asarray(self.checked & (self.by_people == self.graded))

    @cached_property
    def overridden(self) -> Mask:
        """Return whether people rate the cell differently, or found the rating or verdict wrong."""
        return np.asarray(self.checked & (self.by_people != self.graded))

    @cached_property
    def unsure(self) -> Mask:
        return np.asarray(
            (self.confidences >= 0) & (self.confidences < LOW_CONFIDENCE) & self.rated_by_grader
        )

    @cached_property
    def stale(self) -> Mask:
        """Return whether an older wording was graded, the present one was not."""
        return np.asarray((self.graded == MISSING) & self.older)


@dataclass(frozen=True, eq=False)
class Layers:
    """One topic's matrices by kind, from which sheets are made."""

    graded: Mapping[ItemKind, TopicGrades]
    corrected: Mapping[ItemKind, TopicGrades]
    checked: Mapping[ItemKind, TopicGrades]
    by_people: Mapping[ItemKind, TopicGrades]
    """Ratings by people together; of a grader that verifies answers, their verdicts on these."""
    confidences: Mapping[ItemKind, TopicGrades]


def all_layers(rater: Rater, pool: CollectionPool, graded: Mapping[ItemKind, TopicGrades]) -> Layers:
    """Return the layers of the one topic in `pool`; `graded` has its ratings by this rater."""
    (topic,) = pool.topics
    by_config = {config: corrected(config, pool)[topic.topic_id] for config in rater.configs}
    confidences = {kind: confidences_of(config, graded[kind]) for kind, config in rater.by_kind.items()}
    return Layers(
        graded=graded,
        corrected={kind: by_config[config] for kind, config in rater.by_kind.items()},
        checked={kind: TopicGrades(topic, by_config[c].checked) for kind, c in rater.by_kind.items()},
        by_people=people_by_kind(rater, pool)[topic.topic_id],
        confidences={kind: TopicGrades(topic, matrix) for kind, matrix in confidences.items()},
    )


def people_by_kind(rater: Rater, pool: CollectionPool) -> dict[int, dict[ItemKind, TopicGrades]]:
    """Return people's ratings of the cells that the rater shows, by topic and kind of item."""
    if not rater.verifies:
        return {pk: dict.fromkeys(KINDS, ratings) for pk, ratings in human_matrices(pool).items()}
    by_config = {config: verdict_matrices(config, pool) for config in rater.configs}
    return {
        topic.topic_id: {kind: by_config[c][topic.topic_id] for kind, c in rater.by_kind.items()}
        for topic in pool.topics
    }


@lru_cache(maxsize=CACHED_TOPICS)
def confidences_of(config: GraderConfig, grades: TopicGrades) -> GradeMatrix:
    """Return the grader's confidences in percent.

    Cached by `grades`, which is a new object once grades are added.
    """
    matrix, pool = grades.matrix, grades.pool
    percent = np.full(matrix.ratings.shape, MISSING, dtype=np.int8)
    column_of = {uid: column for column, uid in enumerate(matrix.item_ids)}
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    rows = Grade.objects.filter(config=config, topic=pool.topic_id, confidence__isnull=False)
    for uid, passage, confidence in rows.values_list("revision__uid", "passage_id", "confidence"):
        if uid in column_of and passage in row_of:
            percent[row_of[passage], column_of[uid]] = int(100 * confidence)
    percent[matrix.ratings == MISSING] = MISSING  # hidden cells too
    return GradeMatrix(matrix.query_id, matrix.passage_ids, matrix.item_ids, percent)


def people_of(layers: Layers, columns: Sequence[ItemColumn], passages: int) -> Ratings:
    return ratings_of(layers.by_people, columns, passages)


def blinded(sheet: CheckedSheet, hidden: Mask, source: RatingSource) -> CheckedSheet:
    """Return the sheet without others' ratings of the cells that the reader still has to rate."""
    if not hidden.any():
        return sheet
    instead = MISSING if source is RatingSource.HUMANS else sheet.graded
    outcomes = np.where(hidden, instead, sheet.outcomes).astype(np.int8)
    return replace(
        sheet,
        ratings=without_contradictions(outcomes),
        outcomes=outcomes,
        by_people=np.where(hidden, MISSING, sheet.by_people).astype(np.int8),
        checked=sheet.checked & ~hidden,
    )


def checked_of(layers: Layers, columns: Sequence[ItemColumn], passages: int) -> Mask:
    """Return a mask of the cells with a verdict on the grader of their kind, or a rating by a person."""
    by_verdict = ratings_of(layers.checked, columns, passages) == 1
    return np.asarray(by_verdict | (people_of(layers, columns, passages) != MISSING))


def older_of(
    graded: Mapping[ItemKind, TopicGrades], columns: Sequence[ItemColumn], old: Sequence[set[str]]
) -> Mask:
    """Return a mask of the cells graded for an older wording; `old` has each item's earlier wordings."""
    passages = len(next(iter(graded.values())).pool.doc_ids)
    older = np.zeros((passages, len(columns)), dtype=np.bool_)
    for column, (item, uids) in enumerate(zip(columns, old, strict=True)):
        if uids and item.kind in graded:
            older[:, column] = (graded[item.kind].matrix.columns(tuple(uids)).ratings >= 0).any(axis=1)
    return older


def older_wordings(bank: Bank, topic: Topic) -> dict[int, set[str]]:
    """Return the ids of all wordings that each item ever had."""
    wordings: dict[int, set[str]] = {}
    for item, uid in _wordings(bank.collection_id, bank.pk, topic.pk):
        wordings.setdefault(item, set()).add(uid)
    return wordings


@compiled_readable
def _wordings(bank: int, topic: int) -> QuerySet[ItemChange, tuple[int, str]]:
    changes = ItemChange.including_secret.filter(item__bank=bank, item__topic=topic).order_by()
    return changes.values_list("item_id", "revision__uid").distinct()


def own_ratings(person: User, topic: Topic, rater: Rater) -> OwnRatings:
    """Return the person's latest event for each cell of the topic, withdrawn ones included."""
    if rater.verifies:
        events = AnswerVerdict.objects.filter(by=person, topic=topic, config__in=rater.configs)
        return {
            (row.revision_id, row.passage_id): OwnRating(
                row.number, None if row.is_right is None else int(row.is_right), row.verdict, row.is_withdrawn
            )
            for row in events.order_by("number")
        }
    rows = _own_ratings(person.pk, topic.pk)
    return {(revision, passage): OwnRating(*rating) for revision, passage, *rating in rows}


@compiled_once
def _own_ratings(person: int, topic: int) -> QuerySet[HumanGrade, Any]:
    fields = ("revision_id", "passage_id", "number", "rating", "verdict", "is_withdrawn")
    return HumanGrade.objects.filter(by=person, topic=topic).order_by("number").values_list(*fields)


def mine_of(own: OwnRatings, revisions: Sequence[int], passages: Sequence[int]) -> Mask:
    row_of = {pk: row for row, pk in enumerate(passages)}
    mine = np.zeros((len(passages), len(revisions)), dtype=np.bool_)
    columns: dict[int, list[int]] = {}
    for column, revision in enumerate(revisions):
        columns.setdefault(revision, []).append(column)
    for (revision, passage), last in own.items():
        if last.is_standing and passage in row_of and revision in columns:
            mine[row_of[passage], columns[revision]] = True
    return mine


def _any(cells: Mask) -> Mask:
    """Return a mask of the passages with any matching cell."""
    return np.asarray(cells.any(axis=1))


SHOWS: dict[str, tuple[str, Callable[[CheckedSheet], Mask]]] = {
    "all": ("all", lambda sheet: np.ones(len(sheet.judged), dtype=np.bool_)),
    "uncovered": ("relevant but not covered", lambda sheet: sheet.uncovered),
    "disagree": ("in conflict with the judgment", lambda sheet: sheet.disagree),
    "failed": ("with failed grades", lambda sheet: _any(sheet.graded == FAILED)),
    "missing": ("with missing grades", lambda sheet: _any(sheet.graded == MISSING)),
    "stale": ("graded for an earlier wording", lambda sheet: _any(sheet.stale)),
    "unsure": ("low confidence", lambda sheet: _any(sheet.unsure)),
    "overridden": ("overridden by people", lambda sheet: _any(sheet.overridden)),
    "checked": ("verified by people", lambda sheet: _any(sheet.checked)),
    "mine": ("rated by me", lambda sheet: _any(sheet.mine)),
    "ungraded-relevant": ("relevant but ungraded", lambda sheet: sheet.ungraded_relevant),
}
SORTS: dict[str, tuple[str, Callable[[CheckedSheet], NDArray[np.float64]]]] = {
    "pool": ("pool order", lambda sheet: np.zeros(len(sheet.judged))),
    "label": ("label", lambda sheet: sheet.labels.astype(float)),
    "disagreement": ("disagreement", lambda sheet: sheet.disagreement),
    "covered": ("items covered", lambda sheet: sheet.covers.sum(axis=1).astype(float)),
    "unsure": ("low confidence", lambda sheet: sheet.unsure.sum(axis=1).astype(float)),
}
ITEM_FILTERS: dict[str, tuple[str, Callable[[GridColumn], bool]]] = {
    "all": ("all", lambda column: True),
    "nobody": ("never covered", lambda column: column.is_covering_nobody),
    "spurious": ("misleading", lambda column: column.is_spurious),
    "unknown": ("without text", lambda column: not column.text),
}
ORDERS: dict[str, tuple[str, Callable[[GridColumn], float]]] = {
    "bank": ("rubric order", lambda column: 0.0),
    "spurious": ("most misleading first", lambda column: -undefined_last(column.spurious)),
    "covered": ("most covered first", lambda column: -undefined_last(column.covered)),
    "discrimination": ("least discriminating first", lambda column: -undefined_last(-column.discrimination)),
}
GROUPS = {"judgment": "judgment", "none": "none"}
SOURCES = {
    RatingSource.GRADER: "the grader",
    RatingSource.HUMANS: "people",
    RatingSource.CORRECTED: "the grader, corrected by people",
}


@dataclass(frozen=True, slots=True)
class GridQuery:
    """The part of a topic to show; every field is in the address."""

    groups: str = "judgment"
    """`judgment`: passages of one human judgment stand together, the most relevant first; or `none`."""
    sort: str = "pool"
    """Within a group."""
    show: str = "all"
    covers: int = 0
    """Only passages that cover at least so many items."""
    items: str = "all"
    order: str = "bank"
    kind: str = ""
    run: str = ""
    source: str = RatingSource.GRADER.value
    version: int = 0
    """The number of a version of the bank; 0 for the bank as it is."""
    min_grade: int | None = None
    """The threshold; None for the one that the grader's prompts state."""
    rows: str = ""
    """`roomy` for passages with their runs; else compact."""
    page: int = 1
    columns: int = 1
    hidden: frozenset[int] = frozenset()
    """Items that the reader excluded."""
    at: tuple[int, int] | None = None
    """A passage and an item; the window that has them is shown, if the filters keep them."""

    @property
    def is_roomy(self) -> bool:
        return self.rows == "roomy"

    @property
    def kinds(self) -> tuple[ItemKind, ...]:
        return (ItemKind(self.kind),) if self.kind else KINDS
