"""Beside a topic's ratings, cell by cell: what people say, the grader's confidence, grades of older words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from grading.types import MISSING, GradeMatrix, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, ItemChange
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades.humans import Source, corrected, human_matrices
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig, HumanGrade
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, Mask, Sheet, ratings_of

LOW_CONFIDENCE = 50
"""Percent; below it a grader was not sure of its rating."""
CACHED_TOPICS = 500


@dataclass(frozen=True, slots=True)
class OwnRating:
    """What the reader said last of a cell."""

    number: int
    rating: int | None
    verdict: str
    is_withdrawn: bool

    @property
    def is_standing(self) -> bool:
        return not self.is_withdrawn


SaidByCell = dict[tuple[int, int], OwnRating]
"""By (revision, passage)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedSheet(Sheet):
    """The ratings of one source, and beside them what else is known of each cell."""

    graded: Ratings
    """The grader's own, whatever `ratings` are."""
    people: Ratings
    """What people say together; MISSING where nobody rated."""
    checked: Mask
    """A person rated the cell, or found the grader's present rating wrong."""
    confidences: Ratings
    """Percent; MISSING where the grader gives none."""
    older: Mask
    """The grader rated older words of the item."""
    mine: Mask
    """The reader rated the cell, or gave a verdict."""

    @cached_property
    def verified(self) -> Mask:
        return np.asarray(self.checked & (self.people == self.graded))

    @cached_property
    def overridden(self) -> Mask:
        """People rate it otherwise, or found the rating wrong."""
        return np.asarray(self.checked & (self.people != self.graded))

    @cached_property
    def unsure(self) -> Mask:
        return np.asarray((self.graded >= 0) & (self.confidences >= 0) & (self.confidences < LOW_CONFIDENCE))

    @cached_property
    def stale(self) -> Mask:
        """Graded with older words, and not with the present ones."""
        return np.asarray((self.graded == MISSING) & self.older)


@dataclass(frozen=True, eq=False)
class Layers:
    """One topic's matrices by kind, of which sheets are cut."""

    graded: Mapping[ItemKind, TopicGrades]
    corrected: Mapping[ItemKind, TopicGrades]
    checked: Mapping[ItemKind, TopicGrades]
    people: TopicGrades
    confidences: Mapping[ItemKind, TopicGrades]


def layers(rater: Rater, pool: CollectionPool, graded: Mapping[ItemKind, TopicGrades]) -> Layers:
    """`pool` has one topic, and `graded` its ratings by this rater."""
    (topic,) = pool.topics
    by_config = {config: corrected(config, pool)[topic.topic_id] for config in rater.configs}
    sure = {kind: confidences_of(config, graded[kind]) for kind, config in rater.by_kind.items()}
    return Layers(
        graded=graded,
        corrected={kind: by_config[config] for kind, config in rater.by_kind.items()},
        checked={kind: TopicGrades(topic, by_config[c].checked) for kind, c in rater.by_kind.items()},
        people=human_matrices(pool)[topic.topic_id],
        confidences={kind: TopicGrades(topic, matrix) for kind, matrix in sure.items()},
    )


@lru_cache(maxsize=CACHED_TOPICS)
def confidences_of(config: GraderConfig, grades: TopicGrades) -> GradeMatrix:
    """In percent. New grades bring a new TopicGrades, and so a new look."""
    matrix, pool = grades.matrix, grades.pool
    found = np.full(matrix.ratings.shape, MISSING, dtype=np.int8)
    column_of = {uid: column for column, uid in enumerate(matrix.item_ids)}
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    rows = Grade.objects.filter(config=config, topic=pool.topic_id, confidence__isnull=False)
    for uid, passage, confidence in rows.values_list("revision__uid", "passage_id", "confidence"):
        if uid in column_of and passage in row_of:
            found[row_of[passage], column_of[uid]] = int(100 * confidence)
    found[matrix.ratings == MISSING] = MISSING  # hidden cells too
    return GradeMatrix(matrix.query_id, matrix.passage_ids, matrix.item_ids, found)


def people_of(found: Layers, asked: Sequence[ItemColumn]) -> Ratings:
    return found.people.matrix.columns([one.uid for one in asked]).ratings


def under_veil(sheet: CheckedSheet, hidden: Mask, source: Source) -> CheckedSheet:
    """Without what others said of the cells that the reader shall still rate independently."""
    if not hidden.any():
        return sheet
    instead = MISSING if source is Source.HUMANS else sheet.graded
    return replace(
        sheet,
        ratings=np.where(hidden, instead, sheet.ratings).astype(np.int8),
        people=np.where(hidden, MISSING, sheet.people).astype(np.int8),
        checked=sheet.checked & ~hidden,
    )


def checked_of(found: Layers, asked: Sequence[ItemColumn], passages: int) -> Mask:
    """A nugget has its mark by the config of nuggets; what no config grades, where people rated it."""
    by_verdict = ratings_of(found.checked, asked, passages) == 1
    return np.asarray(by_verdict | (people_of(found, asked) != MISSING))


def older_of(
    graded: Mapping[ItemKind, TopicGrades], asked: Sequence[ItemColumn], old: Sequence[set[str]]
) -> Mask:
    """`old`: by item, the words that it had before."""
    passages = len(next(iter(graded.values())).pool.doc_ids)
    found = np.zeros((passages, len(asked)), dtype=np.bool_)
    for column, (one, uids) in enumerate(zip(asked, old, strict=True)):
        if uids and one.kind in graded:
            found[:, column] = (graded[one.kind].matrix.columns(tuple(uids)).ratings >= 0).any(axis=1)
    return found


def older_words(bank: Bank, topic: Topic) -> dict[int, set[str]]:
    """By item: the ids of all words that it ever had."""
    changes = ItemChange.objects.filter(item__bank=bank, item__topic=topic).order_by()
    found: dict[int, set[str]] = {}
    for item, uid in changes.values_list("item_id", "revision__uid").distinct():
        found.setdefault(item, set()).add(uid)
    return found


def said_in_topic(person: User, topic: Topic) -> SaidByCell:
    """What the person said last of each cell of the topic, also where they took it back."""
    rows = HumanGrade.objects.filter(by=person, topic=topic).order_by("number")
    fields = ("revision_id", "passage_id", "number", "rating", "verdict", "is_withdrawn")
    return {(revision, passage): OwnRating(*said) for revision, passage, *said in rows.values_list(*fields)}


def mine_of(said: SaidByCell, revisions: Sequence[int], passages: Sequence[int]) -> Mask:
    row_of = {pk: row for row, pk in enumerate(passages)}
    found = np.zeros((len(passages), len(revisions)), dtype=np.bool_)
    columns: dict[int, list[int]] = {}
    for column, revision in enumerate(revisions):
        columns.setdefault(revision, []).append(column)
    for (revision, passage), last in said.items():
        if last.is_standing and passage in row_of and revision in columns:
            found[row_of[passage], columns[revision]] = True
    return found
