"""The grades beside each item of the editor, and the grader and threshold that they are by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from django import forms
from django.core.validators import MaxValueValidator

from grading.item_lint import LintMark, coverage_marks, word_marks
from grading.types import FAILED, MAX_RATING, MIN_RATING, MISSING, USUAL_MIN_GRADE, ItemKind, Ratings
from rubricweb.banks import selectors as banks
from rubricweb.banks.models import Bank, Item
from rubricweb.core.forms import offer_choices
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import matrices, scoring, visibility
from rubricweb.grades.configs import (
    default_min_grade,
    kinds_of,
    name_of,
    planned_configs,
    scale_of,
    threshold_note,
    within_scale,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import ON_ITEMS, graders, graders_of, scored_graders
from rubricweb.grades.topic_ratings import Sheet, judged, separation

BAR_SLOT = 10
BAR_HEIGHT = 22
HIDDEN = -3
"""In place of a rating that the reader must not see yet."""
COLUMNS = (*range(MAX_RATING + 1), MISSING, FAILED)
NAMES = {MISSING: "\u2013", FAILED: "✕"}
WORDS = {MISSING: "not graded", FAILED: "failed"}
GraderByKind = dict[ItemKind, GraderConfig]


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
    def y(self) -> int:
        return BAR_HEIGHT - self.height


@dataclass(frozen=True, slots=True)
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
        return f"{self.covered} of {self.passages} passages{mean}"

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


@dataclass(frozen=True, slots=True)
class FiguredRow(banks.ItemRow):
    """A listed item with its figures; None if no grader grades its kind."""

    figures: ItemFigures | None = None
    grade: int | None = None
    """The grade on the passage that is open beside the items."""
    about: tuple[str, ...] = ()
    """The texts of the topic and the subtopic."""

    @property
    def marks(self) -> list[LintMark]:
        """Return what its words, and the grades that the reader may see, show to be wrong."""
        item = self.item
        if item.is_retired:
            return []
        marks = word_marks(str(item), ItemKind(item.kind), self.about)
        if figures := self.figures:
            ratings = np.repeat((*COLUMNS, MISSING), (*figures.counts, figures.hidden))
            marks += coverage_marks(ratings, min_grade=figures.min_grade)
        return marks

    @property
    def tags(self) -> str:
        """Return what the chips above the list find it by."""
        has: dict[str, object] = {"secret": self.item.is_secret, "weak": self.marks}
        if figures := self.figures:
            has |= {"ungraded": figures.missing, "hidden": figures.hidden, "spurious": figures.is_spurious}
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


def rating_graders(bank: Bank) -> list[GraderConfig]:
    """Return the graders that figures may show.

    First those with grades of the bank, the default one first, then those that Re-grade runs, then others
    with grades in the collection.
    """
    others = (row.config for row in scored_graders(bank.collection))
    candidates = [*graders_of(bank), *planned_configs(bank.collection), *others]
    return [config for config in dict.fromkeys(candidates) if config.purpose in ON_ITEMS]


def grader_by_kind(rating: list[GraderConfig], chosen: GraderConfig | None) -> GraderByKind:
    """Return the chosen grader, and for other kinds a config of the same model, else the active one."""
    if chosen is not None:
        rating = sorted(rating, key=lambda config: (config != chosen, config.team != chosen.team))
    first: GraderByKind = {}
    for config in rating:
        for kind in kinds_of(config):
            first.setdefault(kind, config)
    return first


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
    return EditorSheet(
        groups=tuple(_with_figures(group, topic, figures, grades, graders) for group in groups),
        retired=banks.item_rows([item for item in items if item.is_retired]),
        passages=len(collection_pool(bank.collection).by_topic[topic.pk].doc_ids),
    )


def _with_figures(
    group: banks.ItemGroup,
    topic: Topic,
    figures: dict[int, ItemFigures],
    grades: dict[int, int],
    graders: GraderByKind,
) -> FiguredGroup:
    rows = tuple(
        FiguredRow(
            row.item,
            row.place,
            row.is_last,
            figures.get(row.item.pk),
            grades.get(row.item.pk),
            (topic.text, group.subtopic),
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


class FiguresForm(forms.Form):
    """The grader and the threshold; a value that cannot be read is named on the page and ignored."""

    grader = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    min_grade = forms.IntegerField(label="Threshold", min_value=1, required=False)

    threshold: int | None
    """At most the highest rating of the graders' scales; None for each grader's own threshold."""

    def __init__(self, chosen: Mapping[str, str], rating: list[GraderConfig]) -> None:
        super().__init__({name: chosen.get(name, "") for name in self.base_fields}, auto_id="figures-%s")
        self.rating = rating
        graders = [("", "The default grader"), *((config.pk, str(config)) for config in rating)]
        offer_choices(self, "grader", graders)
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""
        self._fit_scale(chosen.get("min_grade", ""))

    def _fit_scale(self, chosen: str) -> None:
        """Limit the field to the graders' scales; its default is the first grader's threshold."""
        chosen_graders = list(self.graders.values())
        highest = max((scale_of(config)[1] for config in chosen_graders), default=MAX_RATING)
        field = self.fields["min_grade"]
        field.validators.append(MaxValueValidator(highest))
        field.widget.attrs["max"] = highest
        field.help_text = threshold_note(chosen_graders[0]) if chosen_graders else ""
        default = default_min_grade(chosen_graders[0]) if chosen_graders else USUAL_MIN_GRADE
        self.data = {**self.data, "min_grade": chosen or default}
        self.threshold = self._chosen_min_grade() if chosen else None
        self.full_clean()

    def _chosen_min_grade(self) -> int | None:
        self.full_clean()
        value: int | None = self.cleaned_data.get("min_grade")
        return value

    @property
    def graders(self) -> GraderByKind:
        self.is_valid()
        chosen: int | None = self.cleaned_data.get("grader")
        return grader_by_kind(
            self.rating, next((config for config in self.rating if config.pk == chosen), None)
        )

    def measure_by(self, config: GraderConfig) -> scoring.MeasureSpec:
        """Return the default measure at the chosen threshold, limited to the grader's scale."""
        return scoring.MeasureSpec(min_grade=within_scale(config, self.threshold))


def board_graders(figures: FiguresForm, collection: Collection) -> list[GraderConfig]:
    """Return the chosen grader and its model's config for the other kind.

    If none is chosen, the first one with grades of each kind.
    """
    chosen = figures.graders
    if not figures.data.get("grader"):
        graded = {row.config.pk for row in graders(collection)}
        for kind in ItemKind:
            fit = [config for config in figures.rating if kind in kinds_of(config) and config.pk in graded]
            chosen = {**chosen, kind: fit[0]} if fit else chosen
    return list(dict.fromkeys(chosen.values()))
