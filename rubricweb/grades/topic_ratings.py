"""Ratings and extracted answers of a topic, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet
from numpy.typing import NDArray

from grading.parsing.words import is_unanswerable
from grading.statistics import diagnostics
from grading.types import (
    CONTRADICTS,
    FAILED,
    MAX_RATING,
    MIN_RATING,
    MISSING,
    GradeMatrix,
    ItemKind,
    Outcome,
    Ratings,
)
from grading.verify import closeness
from rubricweb.banks.models import DIRECT_UID, AnswerKey, Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig

CACHED_ANSWERS = 4_000
"""Number of topics whose answers are cached."""
AcceptedAnswers = tuple[tuple[str, tuple[str, ...]], ...]
"""Accepted answers by the id of the wording."""
SPURIOUS_SHARE = 0.2
"""Covered share of the passages judged not relevant from which an item is a spurious suspect."""
SEPARATES_WELL, SEPARATES_SOMEWHAT = 0.3, 0.1
"""Least correlations with a passage's other ratings at which an item separates passages."""
UNJUDGED = np.iinfo(np.int16).min
Rows = QuerySet[Any, Any]
Mask = NDArray[np.bool_]


@lru_cache(maxsize=CACHED_ANSWERS)
def empty_answers(config: GraderConfig, grades: TopicGrades) -> TopicGrades:
    """Return 1 where the answer that the config has says that there is none, else 0; MISSING without one.

    Cached by `grades`, which is a new object once grades change.
    """
    return _coded(config, grades, lambda _, answer: int(is_unanswerable(answer)))


@lru_cache(maxsize=CACHED_ANSWERS)
def answer_closeness(config: GraderConfig, grades: TopicGrades, keys: AcceptedAnswers) -> TopicGrades:
    """Return how near each answer is to the nearest accepted one, in percent.

    See `grading.verify.closeness`.

    It takes about 0.03 ms an answer, and is cached by `grades` and the keys.
    """
    accepted = dict(keys)
    return _coded(config, grades, lambda uid, answer: round(100 * closeness(answer, accepted.get(uid, ()))))


def _coded(config: GraderConfig, grades: TopicGrades, code: Callable[[str, str], int]) -> TopicGrades:
    matrix, pool = grades.matrix, grades.pool
    codes = np.full(matrix.ratings.shape, MISSING, dtype=np.int8)
    column_of = {uid: column for column, uid in enumerate(matrix.item_ids)}
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    rows = Grade.objects.by(config).for_topics([pool.topic_id]).exclude(outcome=Outcome.FAILED)
    for uid, passage, answer in rows.values_list("revision__uid", "passage_id", "answer"):
        if uid in column_of and passage in row_of:
            codes[row_of[passage], column_of[uid]] = code(uid, answer)
    codes[matrix.ratings == MISSING] = MISSING  # hidden cells too
    return TopicGrades(pool, GradeMatrix(matrix.query_id, matrix.passage_ids, matrix.item_ids, codes))


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """An active item as a column."""

    kind: ItemKind
    uid: str
    revision_pk: int
    has_text: bool
    has_key: bool = False
    """Whether there are accepted answers to compare an extracted one with."""


DIRECT_COLUMN = ItemColumn(ItemKind.DIRECT, DIRECT_UID, revision_pk=0, has_text=True)
"""Column by which direct graders label passages, whatever the bank asks."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Passages x items of one topic: the ratings of one rater beside the human judgments."""

    ratings: Ratings
    judged: NDArray[np.int16]
    """Human judgments by passage, or UNJUDGED."""
    min_relevant: int
    min_grades: NDArray[np.int8]
    """Rating from which each item is covered."""
    passage_labels: Ratings | None = None
    """Labels by passage of a grader that grades no items; None where labels are made of the ratings."""
    min_label: int = 0
    highest: int = MAX_RATING
    """Highest rating of the grader's scale."""

    @cached_property
    def rated(self) -> Mask:
        return np.asarray(self.ratings >= 0)

    @cached_property
    def covers(self) -> Mask:
        return np.asarray(self.ratings >= self.min_grades)

    @cached_property
    def labels(self) -> Ratings:
        """Return Rubric-Qrels labels (highest rating) by passage, MISSING without a rating."""
        if self.passage_labels is not None:
            return np.maximum(self.passage_labels, MISSING)
        return np.asarray(np.maximum(self.ratings.max(axis=1, initial=MISSING), MISSING), dtype=np.int8)

    @cached_property
    def relevant(self) -> Mask:
        return np.asarray(self.judged >= self.min_relevant)

    @cached_property
    def not_relevant(self) -> Mask:
        return np.asarray((self.judged != UNJUDGED) & ~self.relevant)

    @cached_property
    def relevance(self) -> diagnostics.Relevance:
        return diagnostics.Relevance(self.relevant, self.not_relevant)

    @cached_property
    def uncovered(self) -> Mask:
        """Return passages judged relevant and graded where no item, or label, reaches its threshold."""
        ratings, min_grades = self._by_passage
        return diagnostics.is_uncovered(ratings, self.relevance, min_grade=min_grades)

    @cached_property
    def ungraded_relevant(self) -> Mask:
        return diagnostics.is_ungraded(self._by_passage[0], self.relevance)

    @property
    def _by_passage(self) -> tuple[Ratings, NDArray[np.int8]]:
        """Return the ratings that say whether a passage is covered, with their thresholds by column."""
        if self.passage_labels is None:
            return self.ratings, self.min_grades
        return self.passage_labels[:, np.newaxis], np.array([self.min_label], dtype=np.int8)

    @cached_property
    def disagree(self) -> Mask:
        """Return passages judged and graded that are relevant by only one of the two."""
        is_both = (self.judged != UNJUDGED) & (self.labels != MISSING)
        ratings, min_grades = self._by_passage
        return np.asarray(is_both & (self.relevant != (ratings >= min_grades).any(axis=1)))

    @cached_property
    def disagreement(self) -> NDArray[np.float64]:
        """Return by passage the distance of judgment and label, each as a share of its highest value.

        -1 if one of the two is missing.
        """
        top = max(int(self.judged.max(initial=1)), 1)
        apart = np.abs(np.clip(self.judged, 0, None) / top - self.labels / self.highest)
        # Rounded, so that equal distances are equal and keep the pool's order.
        return np.where((self.judged == UNJUDGED) | (self.labels == MISSING), -1.0, apart.round(9))

    @cached_property
    def covered_shares(self) -> NDArray[np.float64]:
        """Return covering / rated passages by item; NaN without rated ones."""
        return diagnostics.covered_shares(self.ratings, min_grade=self.min_grades)

    @cached_property
    def spurious_rates(self) -> NDArray[np.float64]:
        """Return covering / rated passages by item, among passages judged not relevant."""
        return diagnostics.covered_shares(self.ratings[self.not_relevant], min_grade=self.min_grades)

    @cached_property
    def discriminations(self) -> NDArray[np.float64]:
        """Return by item Pearson's r of its ratings with the mean of the passages' other ratings."""
        ratings = np.where(self.rated, self.ratings.astype(np.float64), np.nan)
        return diagnostics.discrimination(ratings, diagnostics.rest_means(ratings))

    @cached_property
    def spurious(self) -> Mask:
        return np.asarray(self.spurious_rates >= SPURIOUS_SHARE)

    @cached_property
    def covering_nobody(self) -> Mask:
        """Return the items with ratings that cover no passage."""
        return np.asarray(self.rated.any(axis=0) & ~self.covers.any(axis=0))


def separation(discrimination: float) -> str:
    """Return how an item of this discrimination separates good from bad passages; empty if undefined.

    >>> [separation(value) for value in (0.5, 0.2, -0.1, float("nan"))]
    ['well', 'somewhat', 'hardly', '']
    """
    if np.isnan(discrimination):
        return ""
    if discrimination >= SEPARATES_WELL:
        return "well"
    return "somewhat" if discrimination >= SEPARATES_SOMEWHAT else "hardly"


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """The numbers of one topic on a collection's page."""

    cells: int
    missing: int
    failed: int
    uncovered: int
    nobody: int
    spurious: int
    unknown: int


@lru_cache(maxsize=CACHED_TOPICS)
def judged(pool: TopicPool) -> NDArray[np.int16]:
    """Return the judgment of each passage of the pool, or UNJUDGED."""
    return pool.judgments_by_row(UNJUDGED)[: len(pool.doc_ids)].astype(np.int16)


def ratings_of(grades: Mapping[ItemKind, TopicGrades], items: Sequence[ItemColumn], passages: int) -> Ratings:
    """Return ratings of shape (passages, items), each kind from its own config."""
    return without_contradictions(outcomes_of(grades, items, passages))


def outcomes_of(
    grades: Mapping[ItemKind, TopicGrades], items: Sequence[ItemColumn], passages: int
) -> Ratings:
    """Return what `ratings_of` returns, with CONTRADICTS where that is the rating."""
    outcomes = np.full((passages, len(items)), MISSING, dtype=np.int8)
    for kind, of_kind in grades.items():
        columns = [number for number, item in enumerate(items) if item.kind == kind]
        if columns:
            uids = [items[number].uid for number in columns]
            outcomes[:, columns] = of_kind.matrix.columns(uids).outcomes
    return outcomes


def without_contradictions(outcomes: Ratings) -> Ratings:
    """Return the ratings of these outcomes: 0 for a contradiction."""
    return np.where(outcomes == CONTRADICTS, MIN_RATING, outcomes).astype(np.int8)


@dataclass(frozen=True, slots=True)
class GradedItems:
    """The items that a grader is asked about on the passages of one topic."""

    columns: tuple[ItemColumn, ...]
    min_grades: tuple[int, ...]
    """Rating from which each column is covered."""
    can_be_graded: tuple[bool, ...]
    """Whether cells of each column without a grade are missing one."""
    unknown: int
    """Items of the topic without text."""
    are_items: bool = True
    """Whether the columns are items, and not the topic itself, which cannot be spurious."""


@lru_cache(maxsize=CACHED_TOPICS)
def topic_facts(
    grades: tuple[tuple[ItemKind, TopicGrades], ...], items: GradedItems, min_relevant: int
) -> TopicFacts:
    """Return the numbers of one topic; `grades` are pairs of kind and matrices.

    Cached by its arguments: new grades make a new TopicGrades, a changed bank other items.
    """
    pool = grades[0][1].pool
    ratings = ratings_of(dict(grades), items.columns, len(pool.doc_ids))
    sheet = Sheet(ratings, judged(pool), min_relevant, np.array(items.min_grades, dtype=np.int8))
    cells, missing = count_cells(ratings, items.can_be_graded)
    return TopicFacts(
        cells=cells,
        missing=missing,
        failed=int((ratings == FAILED).sum()),
        uncovered=int(sheet.uncovered.sum()),
        nobody=int(sheet.covering_nobody.sum()) if items.are_items else 0,
        spurious=int(sheet.spurious.sum()) if items.are_items else 0,
        unknown=items.unknown,
    )


def count_cells(ratings: Ratings, can_be_graded: Sequence[bool]) -> tuple[int, int]:
    """Count the cells that have a grade or can get one, and those of them that are missing.

    `can_be_graded` is by item: one without text keeps the grades of a file, and misses none.
    """
    gradable = ratings[:, np.array(can_be_graded, dtype=np.bool_)]
    missing = int((gradable == MISSING).sum())
    return int((ratings != MISSING).sum()) + missing, missing


def item_columns(bank: Bank) -> dict[int, tuple[ItemColumn, ...]]:
    """Return by topic id the bank's active items without texts, each wording of a kind once."""
    by_topic: dict[int, list[ItemColumn]] = {}
    for topic_id, kind, uid, revision, has_text, has_key in _columns(bank.collection_id, bank.pk):
        column = ItemColumn(ItemKind(kind), uid, revision, bool(has_text), bool(has_key))
        by_topic.setdefault(topic_id, []).append(column)
    return {topic_id: tuple(items) for topic_id, items in by_topic.items()}


@compiled_readable
def _columns(bank: int) -> Rows:
    """Return the fields of the columns of `item_columns`."""
    keys = AnswerKey.including_secret.filter(revision=OuterRef("revision"))
    items = Item.including_secret.active().filter(bank=bank).order_by("topic_id", "position", "pk")
    rows = items.annotate(has_text=~Q(revision__text=""), has_key=Exists(keys))
    fields = ("topic_id", "kind", "revision__uid", "revision_id", "has_text", "has_key")
    columns: Rows = rows.values_list(*fields)
    return columns
