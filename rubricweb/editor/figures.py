"""The grades beside each item of the editor, and the grader and threshold that they are by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape

import numpy as np
from django.utils.safestring import SafeString

from grading.item_lint import LintMark, coverage_marks, word_marks
from grading.types import FAILED, MAX_RATING, MIN_RATING, MISSING, ItemKind, Ratings
from rubricweb.banks import selectors as banks
from rubricweb.banks.models import Bank, Item
from rubricweb.core.formatting import counted
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

BAR_SLOT = 10
BAR_HEIGHT = 22
HIDDEN = -3
"""In place of a rating that the reader must not see yet."""
COLUMNS = (*range(MAX_RATING + 1), MISSING, FAILED)
NAMES = {MISSING: "\u2013", FAILED: "✕"}
WORDS = {MISSING: "not graded", FAILED: "failed"}


@dataclass(frozen=True, slots=True)
class GradeBar:
    """A bar of the histogram, positioned for SVG."""

    name: str
    label: str
    """What it counts: "rated 2, support"."""
    count: int
    x: int
    height: int

    @property
    def svg(self) -> str:
        return (
            f"<g><title>{escape(self.label)}: {self.count}</title>"
            f'<rect class="reach" x="{self.x}" y="0" width="{BAR_SLOT}" height="{BAR_HEIGHT + 2}" />'
            f'<rect class="bar" data-bar="{self.name}" x="{self.x + 1}" y="{BAR_HEIGHT - self.height}"'
            f' width="{BAR_SLOT - 2}" height="{self.height}" rx="1" /></g>'
        )


@dataclass(frozen=True)
class ItemFigures:
    """Figures of an item over the pool of its topic, by one grader."""

    config: GraderConfig
    min_grade: int
    passages: int
    """Passages whose grade is not hidden from the reader."""
    hidden: int
    covered: int
    """Passages rated `min_grade` or more."""
    counts: tuple[int, ...]
    """Passages by COLUMNS: rated 0 to 5, missing, failed."""
    is_spurious: bool = False
    """Many passages judged not relevant cover it."""
    separation: str = ""
    """How well its ratings part good passages from bad ones: see `topic_ratings.separation`."""

    @property
    def share(self) -> float | None:
        return self.covered / self.passages if self.passages else None

    @property
    def mean(self) -> float | None:
        """Return the mean grade of the graded passages; None without any."""
        by_rating = self.counts[: MAX_RATING + 1]
        graded = sum(by_rating)
        return sum(rating * count for rating, count in enumerate(by_rating)) / graded if graded else None

    @property
    def title(self) -> str:
        """Return coverage and mean grade: "3 of 6 passages, mean grade 2.50"."""
        mean = "" if self.mean is None else f", mean grade {self.mean:z.2f}"
        return f"{self.covered} of {counted(self.passages, 'passage')}{mean}"

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
    def bars_svg(self) -> SafeString:
        return SafeString("".join(bar.svg for bar in self.bars))

    @property
    def bars_text(self) -> str:
        """Return "rated 0: 12, rated 1: 3"."""
        return ", ".join(f"{bar.label}: {bar.count}" for bar in self.bars)

    @cached_property
    def bars(self) -> list[GradeBar]:
        """Return bars for the ratings of the grader's scale."""
        tallest = max(self.counts, default=0) or 1
        lowest, highest = scale_of(self.config)
        columns = [
            (column, count)
            for column, count in zip(COLUMNS, self.counts, strict=True)
            if column < MIN_RATING or lowest <= column <= highest or count
        ]
        return [self._bar(column, count, place, tallest) for place, (column, count) in enumerate(columns)]

    @property
    def min_grade_words(self) -> str:
        """Return the threshold, with its name if the scale has names."""
        name = name_of(self.config, self.min_grade)
        return f"{self.min_grade} ({name})" if name else str(self.min_grade)

    def _bar(self, column: int, count: int, place: int, tallest: int) -> GradeBar:
        height = max(1, round(BAR_HEIGHT * count / tallest)) if count else 0
        name = name_of(self.config, column) if column >= MIN_RATING else ""
        label = WORDS.get(column, f"rated {column}, {name}" if name else f"rated {column}")
        return GradeBar(NAMES.get(column, str(column)), label, count, place * BAR_SLOT, height)


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
            ratings = np.repeat((*COLUMNS, MISSING), (*figures.counts, figures.hidden))
            marks += coverage_marks(ratings, min_grade=figures.min_grade)
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
    figures: dict[int, ItemFigures] = {}
    seen_ratings: list[Ratings] = []
    for config, fellows in by_grader.items():
        uids: scoring.Uids = tuple(item.revision.uid for item in fellows)
        ratings = matrices.topic_grades(config, pool, topic.pk).matrix.columns(uids).ratings
        passage_pks = pool.by_topic[topic.pk].passage_pks
        unseen = visibility.mask(hidden, passage_pks, [item.revision_id for item in fellows])
        seen = np.where(unseen, HIDDEN, ratings)
        seen_ratings.append(np.where(unseen, MISSING, ratings).astype(np.int8))
        counts = [(seen == value).sum(axis=0).tolist() for value in COLUMNS]
        least = within_scale(config, min_grade)
        covered = (seen >= least).sum(axis=0).tolist()
        for item, concealed, reached, *spread in zip(
            fellows, unseen.sum(axis=0).tolist(), covered, *counts, strict=True
        ):
            visible = ratings.shape[0] - concealed
            figures[item.pk] = ItemFigures(config, least, visible, concealed, reached, tuple(spread))
    if not figures:
        return figures
    min_grades = np.array([figure.min_grade for figure in figures.values()], dtype=np.int8)
    sheet = Sheet(
        np.concatenate(seen_ratings, axis=1),
        judged(pool.by_topic[topic.pk]),
        collection.min_relevant,
        min_grades,
    )
    signs = zip(figures.items(), sheet.spurious.tolist(), sheet.discriminations.tolist(), strict=True)
    return {
        pk: replace(figure, is_spurious=spurious, separation=separation(discrimination))
        for (pk, figure), spurious, discrimination in signs
    }
