"""A topic's grid: passages x items, selected and sorted by numpy over the matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.core.paginator import Page, Paginator
from numpy.typing import NDArray

from grading.types import FAILED, MISSING, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades import matrices, visibility
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import (
    DIRECT_COLUMN,
    UNJUDGED,
    ItemColumn,
    count_cells,
    empty_answers,
    judged,
    outcomes_of,
    ratings_of,
    without_contradictions,
)
from rubricweb.review.flags import OpenCounts, open_counts
from rubricweb.review.models import Flag
from rubricweb.review.selectors import (
    ITEM_FILTERS,
    ORDERS,
    SHOWS,
    SORTS,
    CheckedSheet,
    GridQuery,
    Layers,
    OwnRatings,
    all_layers,
    blinded,
    checked_of,
    mine_of,
    older_of,
    older_wordings,
    own_ratings,
)
from rubricweb.review.selectors.columns import GridColumn, columns_for, measured
from rubricweb.review.selectors.window import (
    NO_RANK,
    Row,
    RowGroup,
    Window,
    excerpts,
    marks,
    ranks,
)

OFFERED = ("uncovered", "disagree", "failed")
"""Filters that the toolbar offers while they would show something."""
PAGE_ROWS = 50
PAGE_COLUMNS = 30
PAGE_CELLS = 1_100
"""The most cells of a page: more columns mean fewer rows."""


@dataclass(frozen=True, slots=True)
class GridCounts:
    """Totals of the topic, whatever is shown."""

    passages: int
    items: int
    """0 where the grader labels passages and people's ratings of items are not shown."""
    cells: int
    missing: int
    failed: int
    hidden: int
    """Cells whose grades, if there are any, the reader may not see yet; not `missing`."""
    unseen: int
    """Cells of which the reader may not see all yet: grades, or other people's ratings."""

    @property
    def share(self) -> float | None:
        """Return the share of graded cells among those that the reader may see."""
        seen = self.cells - self.hidden
        return 1 - self.missing / seen if seen else None


@dataclass(frozen=True, slots=True)
class Offer:
    """A filter that would show some passages."""

    name: str
    label: str
    passages: int


@dataclass(frozen=True, slots=True)
class Grid:
    """One window, its two pagers, and the counts."""

    columns: Page[GridColumn]
    rows: tuple[Row, ...]
    page: Page[int]
    counts: GridCounts
    items: tuple[GridColumn, ...]
    """All items, to pick columns from."""
    offers: tuple[Offer, ...]

    @property
    def suspects(self) -> int:
        """Return items that may be spurious."""
        return sum(column.is_spurious for column in self.items)


@dataclass(frozen=True, eq=False)
class TopicGrid:
    """All passages and items of a topic; a window of them is shown."""

    collection: CollectionPool
    pool: TopicPool
    items: tuple[GridColumn, ...]
    """The items with measures over the whole pool."""
    sheet: CheckedSheet
    own: OwnRatings
    rater: Rater
    query: GridQuery
    hidden: visibility.Hidden
    """Cells of which the reader may not see all yet; measures and labels still count them."""

    @property
    def chosen(self) -> list[GridColumn]:
        kept = [column for column in self.items if ITEM_FILTERS[self.query.items][1](column)]
        kept = [column for column in kept if column.pk not in self.query.hidden]
        return sorted(kept, key=ORDERS[self.query.order][1])

    @property
    def rows(self) -> list[int]:
        """Return rows of the pool to show, in order; ties keep the pool's order, or the run's."""
        query, ranked = self.query, ranks(self.pool)
        covers_enough = self.sheet.covers.sum(axis=1) >= query.covers
        rows = np.flatnonzero(SHOWS[query.show][1](self.sheet) & covers_enough)
        if query.run in self.collection.run_tags:
            of_run = ranked[:, self.collection.run_tags.index(query.run)]
            rows = rows[of_run[rows] != NO_RANK]
            rows = rows[np.argsort(of_run[rows], kind="stable")]
        keys: NDArray[np.float64] = SORTS[query.sort][1](self.sheet)[rows]
        rows = rows[np.argsort(-keys, kind="stable")]
        if query.groups == "judgment":
            rows = rows[np.argsort(-self.sheet.judged[rows].astype(int), kind="stable")]
        return [int(row) for row in rows]

    def window(self, columns: Sequence[GridColumn], rows: Sequence[int], flags: OpenCounts) -> Window:
        passages = [self.pool.passage_pks[row] for row in rows]
        marked = marks(self.rater, columns, passages)
        tags, source = self.collection.run_tags, RatingSource(self.query.source)
        own, blind, beginnings = self.own, self.hidden.graders, excerpts(passages)
        return Window(
            self.pool,
            tags,
            self.sheet,
            tuple(columns),
            marked,
            flags,
            own,
            source,
            blind,
            beginnings,
            self.query.is_roomy,
        )


def grid_window(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> Grid:
    """Return the window that `query` selects, as `reader` sees it."""
    whole = topic_grid(bank, topic, rater, query, reader)
    flags = open_counts(bank, topic.pk)
    chosen, order = whole.chosen, whole.rows
    rows = min(PAGE_ROWS, PAGE_CELLS // max(1, min(PAGE_COLUMNS, len(chosen))))
    number, column_number = _windows_at(whole, chosen, order, rows)
    columns = Paginator(chosen, PAGE_COLUMNS).get_page(column_number)
    listed = list(columns)
    kinds = [None, *(column.kind for column in listed)]
    columns.object_list = [
        replace(column, flags=flags.items.get(column.pk, 0), opens_kind=column.kind != before)
        for before, column in zip(kinds, listed, strict=False)
    ]
    page = Paginator(order, rows).get_page(number)
    window = whole.window(list(columns), list(page), flags)
    rows_shown = [window.row(row, page.start_index() + place) for place, row in enumerate(page)]
    if query.groups == "judgment":
        rows_shown = _grouped(rows_shown, whole, order)
    return Grid(columns, tuple(rows_shown), page, _counts(whole), whole.items, _offers(whole))


def _grouped(rows: list[Row], grid: TopicGrid, order: list[int]) -> list[Row]:
    """Let the first row of each judgment open its group; one group alone needs no line."""
    judged_as = (None if judgment == UNJUDGED else judgment for judgment in grid.sheet.judged[order].tolist())
    sizes = Counter(judged_as)
    if len(sizes) < 2:
        return rows
    before = [None, *(row.judgment for row in rows)]
    return [
        replace(row, group=RowGroup(row.judgment, row.is_relevant, sizes[row.judgment]))
        if place == 0 or row.judgment != before[place]
        else row
        for place, row in enumerate(rows)
    ]


def graded_by_kind(
    collection: CollectionPool, topic: Topic, rater: Rater
) -> dict[ItemKind, matrices.TopicGrades]:
    by_config = {config: matrices.topic_grades(config, collection, topic.pk) for config in rater.configs}
    return {kind: by_config[config] for kind, config in rater.by_kind.items()}


def topic_grid(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> TopicGrid:
    collection = collection_pool(bank.collection)
    pool, items = collection.by_topic[topic.pk], columns_for(bank, topic, rater, query)
    own = own_ratings(reader, topic, rater)
    item_columns = tuple(item.column for item in items)
    graded = graded_by_kind(collection, topic, rater)
    layered = all_layers(rater, collection.only(topic.pk), graded)
    wordings = older_wordings(bank, topic)
    outcomes = _source(RatingSource(query.source), layered, item_columns, len(pool.doc_ids))
    sheet = CheckedSheet(
        without_contradictions(outcomes),
        judged(pool),
        bank.collection.min_relevant,
        rater.min_grades_of((item.kind for item in item_columns), query.min_grade),
        outcomes=outcomes,
        graded=outcomes_of(graded, item_columns, len(pool.doc_ids)),
        by_people=outcomes_of(layered.by_people, item_columns, len(pool.doc_ids)),
        checked=checked_of(layered, item_columns, len(pool.doc_ids)),
        confidences=ratings_of(layered.confidences, item_columns, len(pool.doc_ids)),
        older=older_of(graded, item_columns, [wordings.get(item.pk, set()) - {item.uid} for item in items]),
        mine=mine_of(own, [column.revision_pk for column in items], pool.passage_pks),
        has_verdicts=rater.verifies,
        is_empty=_empty(graded, rater, items) if rater.verifies or rater.extracts else None,
        passage_labels=_labels(graded, rater),
        min_label=rater.min_grade_of(ItemKind.DIRECT, query.min_grade),
        highest=rater.highest,
    )
    hidden = visibility.hidden_in_topic(reader, topic)
    revisions = [column.revision_pk for column in items]
    from_people, from_graders = (
        visibility.mask(places, pool.passage_pks, revisions) for places in (hidden.ratings, hidden.graders)
    )
    sheet = blinded(sheet, from_people, RatingSource(query.source))
    columns = measured(items, sheet, from_graders, Flag.set_aside_of_items(bank.pk, topic.pk))
    return TopicGrid(collection, pool, columns, sheet, own, rater, query, hidden)


def _empty(
    graded: Mapping[ItemKind, matrices.TopicGrades], rater: Rater, items: Sequence[GridColumn]
) -> NDArray[np.bool_]:
    """Return a mask of shape (passages, items): the extracted answer says that there is none."""
    empty = {kind: empty_answers(config, graded[kind]) for kind, config in rater.by_kind.items()}
    passages = len(next(iter(graded.values())).pool.doc_ids)
    return np.asarray(ratings_of(empty, [item.column for item in items], passages) == 1)


def _labels(graded: Mapping[ItemKind, matrices.TopicGrades], rater: Rater) -> Ratings | None:
    """Return the label of each passage by a rater that grades no items; None for other raters."""
    if not rater.labels_passages:
        return None
    return graded[ItemKind.DIRECT].matrix.columns([DIRECT_COLUMN.uid]).ratings[:, 0]


def _source(source: RatingSource, layered: Layers, columns: tuple[ItemColumn, ...], passages: int) -> Ratings:
    if source is RatingSource.HUMANS:
        return outcomes_of(layered.by_people, columns, passages)
    by_config = outcomes_of(
        layered.graded if source is RatingSource.GRADER else layered.corrected, columns, passages
    )
    if source is RatingSource.GRADER:
        return by_config
    by_people = outcomes_of(layered.by_people, columns, passages)
    return np.asarray(np.where(by_people != MISSING, by_people, by_config), dtype=np.int8)


def _windows_at(grid: TopicGrid, chosen: list[GridColumn], order: list[int], rows: int) -> tuple[int, int]:
    """Return the page numbers of the cell that the address names if it is shown, else the query's own."""
    number, column_number = grid.query.page, grid.query.columns
    passage, item = grid.query.at or (0, 0)
    places = [place for place, row in enumerate(order) if grid.pool.passage_pks[row] == passage]
    column_places = [place for place, column in enumerate(chosen) if column.pk == item]
    if not places or not column_places:
        return number, column_number
    return places[0] // rows + 1, column_places[0] // PAGE_COLUMNS + 1


def _offers(grid: TopicGrid) -> tuple[Offer, ...]:
    """Return the filters that would show passages, without the one in use."""
    filters = {name: SHOWS[name] for name in OFFERED if name != grid.query.show}
    counted = (Offer(name, label, int(mask(grid.sheet).sum())) for name, (label, mask) in filters.items())
    return tuple(offer for offer in counted if offer.passages)


def _counts(grid: TopicGrid) -> GridCounts:
    ratings, labels, passages = grid.sheet.ratings, grid.sheet.passage_labels, len(grid.sheet.judged)
    by_people = RatingSource(grid.query.source) is RatingSource.HUMANS
    blind, unseen = (
        visibility.mask(places, grid.pool.passage_pks, [item.revision_pk for item in grid.items])
        for places in (grid.hidden.graders, grid.hidden.graders | grid.hidden.ratings)
    )
    if labels is not None and not by_people:
        cells, missing = count_cells(labels[:, np.newaxis], [True])
        return GridCounts(passages, 0, cells, missing, int((labels == FAILED).sum()), 0, int(unseen.sum()))
    counted = [bool(item.text) if by_people else grid.rater.can_grade(item.column) for item in grid.items]
    cells, missing = count_cells(ratings, counted)
    failed = int((ratings == FAILED).sum())
    hidden = 0 if by_people else int((blind & (ratings == MISSING))[:, counted].sum())
    return GridCounts(passages, len(grid.items), cells, missing - hidden, failed, hidden, int(unseen.sum()))


def run_tags(collection: Collection) -> tuple[str, ...]:
    return collection_pool(collection).run_tags
