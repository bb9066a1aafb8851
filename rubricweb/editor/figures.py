"""The grades beside each item of the editor, and the grader and threshold that they are by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import NamedTuple

import numpy as np

from grading.item_lint import LintMark, marks_of_counts, word_marks
from grading.types import FAILED, MAX_RATING, MIN_RATING, MISSING, ItemKind, Ratings
from rubricweb.banks import selectors as banks
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.editor.forms import GraderByKind
from rubricweb.grades import matrices, scoring, visibility
from rubricweb.grades.configs import (
    name_of,
    scale_of,
    within_scale,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.topic_ratings import Sheet, judged, separation

HIDDEN = -3
"""In place of a rating that the reader must not see yet."""
RATINGS = range(MIN_RATING, MAX_RATING + 1)
COLUMNS = (*RATINGS, MISSING, FAILED)


class BarColumn(NamedTuple):
    """What one bar of a grader's histograms counts."""

    name: str
    label: str
    """In words, as HTML: "rated 2, support"."""
    is_always_shown: bool = True
    """Whether also where it counts nothing: all but ratings beyond the grader's scale."""


@dataclass(frozen=True, slots=True)
class FiguresBy:
    """The grader and the threshold of figures, and how these are said."""

    min_grade: int
    min_grade_words: str
    """The threshold, with its name if the scale has names."""
    columns: tuple[BarColumn, ...]
    """By COLUMNS."""

    @classmethod
    def of(cls, config: GraderConfig, min_grade: int | None) -> FiguresBy:
        least, (lowest, highest) = within_scale(config, min_grade), scale_of(config)
        name, names = name_of(config, least), {rating: name_of(config, rating) for rating in RATINGS}
        columns = [
            BarColumn(
                str(rating),
                escape(f"rated {rating}, {label}" if label else f"rated {rating}"),
                lowest <= rating <= highest,
            )
            for rating, label in names.items()
        ]
        columns += [BarColumn("\u2013", "not graded"), BarColumn("✕", "failed")]
        return cls(least, f"{least} ({name})" if name else str(least), tuple(columns))


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """Figures of an item over the pool of its topic, by one grader."""

    by: FiguresBy
    passages: int
    """Passages whose grade is not hidden from the reader."""
    hidden: int
    covered: int
    """Passages rated `by.min_grade` or more."""
    counts: tuple[int, ...]
    """Passages by COLUMNS: rated 0 to 5, missing, failed."""
    is_spurious: bool
    """Many passages judged not relevant cover it."""
    separation: str
    """How well its ratings part good passages from bad ones: see `topic_ratings.separation`."""

    @property
    def share(self) -> float | None:
        return self.covered / self.passages if self.passages else None

    @property
    def mean(self) -> str:
        """Return the mean grade of the graded passages with two decimals; empty without any."""
        by_rating = self.counts[: len(RATINGS)]
        graded = sum(by_rating)
        if not graded:
            return ""
        return f"{sum(rating * count for rating, count in enumerate(by_rating)) / graded:z.2f}"

    @property
    def is_graded(self) -> bool:
        """Return whether any passage was graded; without, a share would read as 0."""
        return self.missing < self.passages

    @property
    def missing(self) -> int:
        return self.counts[COLUMNS.index(MISSING)]

    @property
    def failed(self) -> int:
        return self.counts[COLUMNS.index(FAILED)]

    @property
    def bars(self) -> list[tuple[BarColumn, int]]:
        """Return what the bars of the histogram count, and how much."""
        pairs = zip(self.by.columns, self.counts, strict=True)
        return [(column, count) for column, count in pairs if count or column.is_always_shown]


@dataclass(frozen=True)
class FiguredRow(banks.ItemRow):
    """A listed item with its figures; None if no grader grades its kind."""

    figures: ItemFigures | None = None
    grade: int | None = None
    """The grade on the passage that is open beside the items."""
    about: tuple[str, ...] = ()
    """The texts of the topic and the subtopic."""
    set_aside: frozenset[tuple[str, int]] = frozenset()
    """The kind of flag and the wording of each problem that a person set aside."""

    @cached_property
    def marks(self) -> list[LintMark]:
        """Return what its words, and the grades that the reader may see, show to be wrong."""
        item = self.item
        if item.is_retired or ("unclear", item.revision_id) in self.set_aside:
            return []
        marks = word_marks(str(item), ItemKind(item.kind), self.about)
        if figures := self.figures:
            by_rating, passages = figures.counts[: len(RATINGS)], figures.passages + figures.hidden
            marks += marks_of_counts(by_rating, passages, min_grade=figures.by.min_grade)
        return marks

    @property
    def is_spurious(self) -> bool:
        """Return whether passages that are not relevant cover it, and nobody set that aside."""
        is_aside = ("spurious", self.item.revision_id) in self.set_aside
        return self.figures is not None and self.figures.is_spurious and not is_aside

    @property
    def tags(self) -> str:
        """Return what the chips above the list find it by."""
        has: dict[str, object] = {"secret": self.item.is_secret, "weak": self.marks}
        if figures := self.figures:
            has |= {"ungraded": figures.missing, "hidden": figures.hidden, "spurious": self.is_spurious}
        return " ".join(tag for tag, is_so in has.items() if is_so)


@dataclass(frozen=True, slots=True)
class FiguredGroup:
    kind: str
    subtopic: str
    heading: str
    grader: GraderConfig | None
    rows: tuple[FiguredRow, ...]


@dataclass(frozen=True, slots=True)
class EditorSheet:
    """Everything that the list of items shows."""

    groups: tuple[FiguredGroup, ...]
    retired: tuple[banks.ItemRow, ...]
    passages: int

    @property
    def figures(self) -> list[ItemFigures]:
        rows = [row for group in self.groups for row in group.rows]
        return [row.figures for row in rows if row.figures and not row.item.is_retired]

    @property
    def has_secrets(self) -> bool:
        return any(row.item.is_secret for group in self.groups for row in group.rows)

    @property
    def cells(self) -> int:
        return sum(item.passages for item in self.figures)

    @property
    def missing(self) -> int:
        return sum(item.missing for item in self.figures)

    @property
    def hidden(self) -> int:
        return sum(item.hidden for item in self.figures)

    @property
    def graded_share(self) -> float | None:
        return 1 - self.missing / self.cells if self.cells else None


def editor_sheet(
    bank: Bank, topic: Topic, graders: GraderByKind, *, min_grade: int | None, passage_pk: int | None = None
) -> EditorSheet:
    """Return the items of a topic in their groups with figures, and the retired ones.

    With the key of a pooled passage, rows have their grade on that one.
    """
    items = banks.topic_items(bank, topic)
    groups = banks.item_groups(items, topic)
    active = [row.item for group in groups for row in group.rows]
    figures = item_figures(bank.collection, topic, active, graders, min_grade=min_grade)
    grades = passage_grades(topic, passage_pk, active, graders) if passage_pk else {}
    aside = bank.flags.model.set_aside_of_items(bank.pk, topic.pk)
    return EditorSheet(
        groups=tuple(
            _with_figures(group, topic, figures, grades, graders, set_aside=aside) for group in groups
        ),
        retired=banks.item_rows([item for item in items if item.is_retired]),
        passages=len(collection_pool(bank.collection).by_topic[topic.pk].doc_ids),
    )


def _with_figures(
    group: banks.ItemGroup,
    topic: Topic,
    figures: dict[int, ItemFigures],
    grades: dict[int, int],
    graders: GraderByKind,
    *,
    set_aside: frozenset[tuple[str, int]],
) -> FiguredGroup:
    rows = tuple(
        FiguredRow(
            row.item,
            row.place,
            row.is_last,
            figures.get(row.item.pk),
            grades.get(row.item.pk),
            (topic.text, group.subtopic),
            set_aside,
        )
        for row in group.rows
    )
    return FiguredGroup(group.kind, group.subtopic, group.heading, graders.get(ItemKind(group.kind)), rows)


def passage_grades(
    topic: Topic, passage_pk: int, items: Iterable[Item], graders: GraderByKind
) -> dict[int, int]:
    """Return the rating of each graded item on a pooled passage, by item pk.

    MISSING where there is none, HIDDEN where the reader must not see it yet; FAILED as in matrices.
    """
    pool = collection_pool(topic.collection)
    row = pool.by_topic[topic.pk].passage_pks.index(passage_pk)
    by_kind: dict[GraderConfig, list[Item]] = {}
    for item in items:
        if config := graders.get(ItemKind(item.kind)):
            by_kind.setdefault(config, []).append(item)
    grades: dict[int, int] = {}
    for config, fellows in by_kind.items():
        matrix = matrices.topic_grades(config, pool, topic.pk).matrix
        ratings = matrix.columns(tuple(item.revision.uid for item in fellows)).ratings[row].tolist()
        grades |= {item.pk: rating for item, rating in zip(fellows, ratings, strict=True)}
    hidden = visibility.hidden_cells(topic.collection_id)[topic.pk].graders
    for item in items:
        if item.pk in grades and (item.revision_id, passage_pk) in hidden:
            grades[item.pk] = HIDDEN
    return grades


def item_figures(
    collection: Collection,
    topic: Topic,
    items: Iterable[Item],
    graders: GraderByKind,
    *,
    min_grade: int | None,
) -> dict[int, ItemFigures]:
    """Return the figures of graded items by item pk; `min_grade` defaults to each grader's own."""
    pool, hidden = collection_pool(collection), visibility.hidden_cells(collection.pk)[topic.pk].graders
    by_grader: dict[GraderConfig, list[Item]] = {}
    for item in items:
        if config := graders.get(ItemKind(item.kind)):
            by_grader.setdefault(config, []).append(item)
    seen_ratings: list[Ratings] = []
    min_grades: list[int] = []
    rows: list[tuple[int, FiguresBy, int, list[int]]] = []
    for config, fellows in by_grader.items():
        uids: scoring.Uids = tuple(item.revision.uid for item in fellows)
        ratings = matrices.topic_grades(config, pool, topic.pk).matrix.columns(uids).ratings
        passage_pks = pool.by_topic[topic.pk].passage_pks
        unseen = visibility.mask(hidden, passage_pks, [item.revision_id for item in fellows])
        seen = np.where(unseen, HIDDEN, ratings)
        seen_ratings.append(np.where(unseen, MISSING, ratings).astype(np.int8))
        by = FiguresBy.of(config, min_grade)
        counts = np.stack([(seen == value).sum(axis=0) for value in COLUMNS], axis=1).tolist()
        min_grades += [by.min_grade] * len(fellows)
        of_items = zip(fellows, unseen.sum(axis=0).tolist(), counts, strict=True)
        rows += [(item.pk, by, concealed, of_item) for item, concealed, of_item in of_items]
    if not rows:
        return {}
    sheet = Sheet(
        np.concatenate(seen_ratings, axis=1),
        judged(pool.by_topic[topic.pk]),
        collection.min_relevant,
        np.array(min_grades, dtype=np.int8),
    )
    signs = zip(rows, sheet.spurious.tolist(), sheet.discriminations.tolist(), strict=True)
    return {
        pk: ItemFigures(
            by,
            passages=len(sheet.judged) - concealed,
            hidden=concealed,
            covered=sum(counts[by.min_grade : len(RATINGS)]),
            counts=tuple(counts),
            is_spurious=spurious,
            separation=separation(discrimination),
        )
        for (pk, by, concealed, counts), spurious, discrimination in signs
    }
