"""A topic's ratings as one array, and what to look at in them: numpy over matrices, no rows of grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from django.db.models import Q
from numpy.typing import NDArray

from grading.statistics import diagnostics
from grading.types import FAILED, MAX_RATING, MISSING, ItemKind, Ratings
from rubricweb.banks.models import Bank
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.matrices import TopicGrades

SPURIOUS_SHARE = 0.2
"""An item that covers this share of the passages judged not relevant is a spurious suspect."""
UNJUDGED = np.iinfo(np.int16).min
CACHED_TOPICS = 8_000

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """An active item as a column."""

    kind: ItemKind
    uid: str
    revision_pk: int
    has_text: bool


@dataclass(frozen=True, eq=False)
class Sheet:
    """Passages x items of one topic: the ratings of one rater beside the human judgments."""

    ratings: Ratings
    judged: NDArray[np.int16]
    """By passage: the human judgment, or UNJUDGED."""
    min_relevant: int
    min_grades: NDArray[np.int8]
    """By item: the rating from which it is covered."""

    @cached_property
    def rated(self) -> Mask:
        return np.asarray(self.ratings >= 0)

    @cached_property
    def covers(self) -> Mask:
        return np.asarray(self.ratings >= self.min_grades)

    @cached_property
    def labels(self) -> Ratings:
        """By passage: the Rubric-Qrels label (highest rating), MISSING without a rating."""
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
        """Judged relevant and graded, but no item reaches the threshold."""
        return diagnostics.is_uncovered(self.ratings, self.relevance, min_grade=self.min_grades)

    @cached_property
    def ungraded_relevant(self) -> Mask:
        return diagnostics.is_ungraded(self.ratings, self.relevance)

    @cached_property
    def disagree(self) -> Mask:
        """Judged and graded, and relevant by only one of the two."""
        is_both = (self.judged != UNJUDGED) & (self.labels != MISSING)
        return np.asarray(is_both & (self.relevant != self.covers.any(axis=1)))

    @cached_property
    def disagreement(self) -> NDArray[np.float64]:
        """By passage: the distance of judgment and label, each as a share of its highest value.

        -1 if one of the two is missing.
        """
        top = max(int(self.judged.max(initial=1)), 1)
        apart = np.abs(np.clip(self.judged, 0, None) / top - self.labels / MAX_RATING)
        # Rounded, so that equal distances are equal and keep the pool's order.
        return np.where((self.judged == UNJUDGED) | (self.labels == MISSING), -1.0, apart.round(9))

    @cached_property
    def covered_shares(self) -> NDArray[np.float64]:
        """By item: covering / rated passages; NaN without rated ones."""
        return diagnostics.covered_shares(self.ratings, min_grade=self.min_grades)

    @cached_property
    def spurious_rates(self) -> NDArray[np.float64]:
        """By item: the same, among passages judged not relevant."""
        return diagnostics.covered_shares(self.ratings[self.not_relevant], min_grade=self.min_grades)

    @cached_property
    def discriminations(self) -> NDArray[np.float64]:
        """By item: Pearson's r of its ratings with the mean of the passages' other ratings."""
        ratings = np.where(self.rated, self.ratings.astype(np.float64), np.nan)
        return diagnostics.discrimination(ratings, diagnostics.rest_means(ratings))

    @cached_property
    def spurious(self) -> Mask:
        return np.asarray(self.spurious_rates >= SPURIOUS_SHARE)

    @cached_property
    def covering_nobody(self) -> Mask:
        """Items with ratings that cover no passage."""
        return np.asarray(self.rated.any(axis=0) & ~self.covers.any(axis=0))


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
    """By passage of the pool: its judgment, or UNJUDGED."""
    return pool.judgments_by_row(UNJUDGED)[: len(pool.doc_ids)].astype(np.int16)


def ratings_of(grades: Mapping[ItemKind, TopicGrades], items: Sequence[ItemColumn], passages: int) -> Ratings:
    """Shape (passages, items), each kind from its own config."""
    ratings = np.full((passages, len(items)), MISSING, dtype=np.int8)
    for kind, of_kind in grades.items():
        columns = [number for number, item in enumerate(items) if item.kind == kind]
        if columns:
            ratings[:, columns] = of_kind.matrix.columns([items[number].uid for number in columns]).ratings
    return ratings


MinGrades = tuple[tuple[ItemKind, int], ...]
"""By kind of item: the rating from which it is covered."""


def topic_facts(
    grades: Mapping[ItemKind, TopicGrades],
    items: tuple[ItemColumn, ...],
    min_relevant: int,
    min_grades: Mapping[ItemKind, int],
) -> TopicFacts:
    return _facts(tuple(grades.items()), items, min_relevant, tuple(min_grades.items()))


@lru_cache(maxsize=CACHED_TOPICS)
def _facts(
    grades: tuple[tuple[ItemKind, TopicGrades], ...],
    items: tuple[ItemColumn, ...],
    min_relevant: int,
    min_grades: MinGrades,
) -> TopicFacts:
    """Cached by its arguments: new grades make a new TopicGrades, a changed bank other items."""
    pool, least = grades[0][1].pool, dict(min_grades)
    ratings = ratings_of(dict(grades), items, len(pool.doc_ids))
    default = min_grades[0][1]
    by_item = np.array([least.get(item.kind, default) for item in items], dtype=np.int8)
    sheet = Sheet(ratings, judged(pool), min_relevant, by_item)
    cells, missing = count_cells(ratings, [item.has_text and item.kind in least for item in items])
    return TopicFacts(
        cells=cells,
        missing=missing,
        failed=int((ratings == FAILED).sum()),
        uncovered=int(sheet.uncovered.sum()),
        nobody=int(sheet.covering_nobody.sum()),
        spurious=int(sheet.spurious.sum()),
        unknown=sum(not item.has_text for item in items),
    )


def count_cells(ratings: Ratings, can_be_graded: Sequence[bool]) -> tuple[int, int]:
    """Count the cells that have a grade or can get one, and those of them that are missing.

    `can_be_graded` is by item: one without text keeps the grades of a file, and misses none.
    """
    gradable = ratings[:, np.array(can_be_graded, dtype=np.bool_)]
    missing = int((gradable == MISSING).sum())
    return int((ratings != MISSING).sum()) + missing, missing


def item_columns(bank: Bank) -> dict[int, tuple[ItemColumn, ...]]:
    """By topic id: the bank's active items, each wording of a kind once, without their texts."""
    rows = bank.items.active().order_by("topic_id", "position", "pk").annotate(has_text=~Q(revision__text=""))
    by_topic: dict[int, list[ItemColumn]] = {}
    fields = ("topic_id", "kind", "revision__uid", "revision_id", "has_text")
    for topic_id, kind, uid, revision, has_text in rows.values_list(*fields):
        by_topic.setdefault(topic_id, []).append(ItemColumn(ItemKind(kind), uid, revision, bool(has_text)))
    return {topic_id: tuple(items) for topic_id, items in by_topic.items()}
