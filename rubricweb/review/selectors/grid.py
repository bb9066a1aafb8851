"""A topic's grid: what of passages x items to show, chosen and sorted by numpy over the matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.core.paginator import Page, Paginator
from numpy.typing import NDArray

from grading.types import FAILED, MISSING, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.humans import Source
from rubricweb.grades.matrices import TopicGrades, topic_grades
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, count_cells, judged, ratings_of
from rubricweb.grades.visibility import Places, hidden_in_topic
from rubricweb.review.flags.selectors import OpenCounts, open_counts
from rubricweb.review.selectors import layers
from rubricweb.review.selectors.grid_query import ITEM_FILTERS, ORDERS, SHOWS, SORTS, GridQuery
from rubricweb.review.selectors.layers import CheckedSheet, Layers, SaidByCell
from rubricweb.review.selectors.window import NO_RANK, GridColumn, Row, Window, marks, ranks

PAGE_ROWS = 50
PAGE_COLUMNS = 30
PAGE_CELLS = 1_100
"""More make the page heavy: the more columns, the fewer rows."""


@dataclass(frozen=True, slots=True)
class GridCounts:
    """What the topic adds up to, whatever is shown."""

    passages: int
    items: int
    cells: int
    missing: int
    failed: int

    @property
    def share(self) -> float | None:
        return 1 - self.missing / self.cells if self.cells else None


@dataclass(frozen=True, slots=True)
class Grid:
    """One window, its two pagers, and the counts."""

    columns: Page[GridColumn]
    rows: tuple[Row, ...]
    page: Page[int]
    counts: GridCounts
    items: tuple[GridColumn, ...]
    """All of them, to pick columns from."""


@dataclass(frozen=True, eq=False)
class TopicGrid:
    """All passages and items of a topic, of which a window is shown."""

    collection: CollectionPool
    pool: TopicPool
    items: tuple[GridColumn, ...]
    """Measured over the whole pool."""
    sheet: CheckedSheet
    said: SaidByCell
    rater: Rater
    query: GridQuery
    blind: Places
    """Cells whose grades the reader may not see yet; measures and labels count them nonetheless."""

    @property
    def chosen(self) -> list[GridColumn]:
        shown = [column for column in self.items if ITEM_FILTERS[self.query.items][1](column)]
        shown = [column for column in shown if column.pk not in self.query.hidden]
        return sorted(shown, key=ORDERS[self.query.order][1])

    @property
    def rows(self) -> list[int]:
        """Rows of the pool to show, in order; equal ones stay in the pool's order, or in that of the run."""
        query, ranked = self.query, ranks(self.pool)
        rows = np.flatnonzero(SHOWS[query.show][1](self.sheet))
        if query.run in self.collection.run_tags:
            of_run = ranked[:, self.collection.run_tags.index(query.run)]
            rows = rows[of_run[rows] != NO_RANK]
            rows = rows[np.argsort(of_run[rows], kind="stable")]
        keys: NDArray[np.float64] = SORTS[query.sort][1](self.sheet)[rows]
        return [int(row) for row in rows[np.argsort(-keys, kind="stable")]]

    def window(self, columns: Sequence[GridColumn], rows: Sequence[int], flags: OpenCounts) -> Window:
        passages = [self.pool.passage_pks[row] for row in rows]
        found = marks(self.rater.configs, [column.revision_pk for column in columns], passages)
        tags, source = self.collection.run_tags, Source(self.query.source)
        said, blind = self.said, self.blind
        return Window(self.pool, tags, self.sheet, tuple(columns), found, flags, said, source, blind)


def grid(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> Grid:
    """The window that `query` asks for, as `reader` sees it."""
    found = board(bank, topic, rater, query, reader)
    flags = open_counts(bank.pk, topic.pk)
    chosen, order = found.chosen, found.rows
    rows = min(PAGE_ROWS, PAGE_CELLS // max(1, min(PAGE_COLUMNS, len(chosen))))
    number, column_number = _windows_at(found, chosen, order, rows)
    columns = Paginator(chosen, PAGE_COLUMNS).get_page(column_number)
    columns.object_list = [replace(one, flags=flags.items.get(one.pk, 0)) for one in columns]
    page = Paginator(order, rows).get_page(number)
    window = found.window(list(columns), list(page), flags)
    shown = tuple(window.row(row, page.start_index() + place) for place, row in enumerate(page))
    return Grid(columns, shown, page, _counts(found), found.items)


def graded_by_kind(collection: CollectionPool, topic: Topic, rater: Rater) -> dict[ItemKind, TopicGrades]:
    by_config = {config: topic_grades(config, collection, topic.pk) for config in rater.configs}
    return {kind: by_config[config] for kind, config in rater.by_kind.items()}


def board(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> TopicGrid:
    collection = collection_pool(bank.collection)
    pool, items = collection.by_topic[topic.pk], columns_of(bank, topic, query)
    said = layers.said_in_topic(reader, topic)
    asked = tuple(ItemColumn(one.kind, one.uid, one.revision_pk, bool(one.text)) for one in items)
    graded = graded_by_kind(collection, topic, rater)
    found = layers.layers(rater, collection.only(topic.pk), graded)
    words = layers.older_words(bank, topic)
    sheet = CheckedSheet(
        _source(Source(query.source), found, asked, len(pool.doc_ids)),
        judged(pool),
        bank.collection.min_relevant,
        rater.min_grades_of((one.kind for one in asked), query.min_grade),
        graded=ratings_of(graded, asked, len(pool.doc_ids)),
        people=layers.people_of(found, asked),
        checked=layers.checked_of(found, asked, len(pool.doc_ids)),
        confidences=ratings_of(found.confidences, asked, len(pool.doc_ids)),
        older=layers.older_of(graded, asked, [words.get(one.pk, set()) - {one.uid} for one in items]),
        mine=layers.mine_of(said, [column.revision_pk for column in items], pool.passage_pks),
    )
    veil = hidden_in_topic(reader, topic)
    hidden = visibility.mask(veil.people, pool.passage_pks, [column.revision_pk for column in items])
    sheet = layers.under_veil(sheet, hidden, Source(query.source))
    measured = tuple(column.measured(at, sheet) for at, column in enumerate(items))
    return TopicGrid(collection, pool, measured, sheet, said, rater, query, veil.graders)


def _source(source: Source, found: Layers, asked: tuple[ItemColumn, ...], passages: int) -> Ratings:
    if source is Source.HUMANS:
        return layers.people_of(found, asked)
    by_config = ratings_of(found.graded if source is Source.GRADER else found.corrected, asked, passages)
    if source is Source.GRADER:
        return by_config
    people = layers.people_of(found, asked)
    return np.asarray(np.where(people != MISSING, people, by_config), dtype=np.int8)


def columns_of(bank: Bank, topic: Topic, query: GridQuery) -> list[GridColumn]:
    """The active items or a version's, questions first, numbered within their kind in the bank's order."""
    kinds = [str(kind) for kind in query.kinds]
    if query.version:
        version = bank.versions.get(number=query.version)
        entries = version.entries.filter(item__topic=topic, item__kind__in=kinds).order_by("position", "pk")
        fields = ("item_id", "item__kind", "revision_id", "revision__uid", "revision__text")
        rows = list(entries.values_list(*fields))
    else:
        active = bank.items.active().for_topic(topic).of_kinds(query.kinds).order_by("position", "pk")
        rows = list(active.values_list("pk", "kind", "revision_id", "revision__uid", "revision__text"))
    found = []
    for kind in query.kinds:
        of_kind = [row for row in rows if row[1] == kind]
        found += [
            GridColumn(pk, kind, number, revision_pk, uid, text, at=0)
            for number, (pk, _, revision_pk, uid, text) in enumerate(of_kind, 1)
        ]
    return found


def _windows_at(found: TopicGrid, chosen: list[GridColumn], order: list[int], rows: int) -> tuple[int, int]:
    """The numbers of the two pages: those of the cell that the address names, if it is shown at all."""
    number, column_number = found.query.page, found.query.columns
    passage, item = found.query.at or (0, 0)
    places = [place for place, row in enumerate(order) if found.pool.passage_pks[row] == passage]
    column_places = [place for place, column in enumerate(chosen) if column.pk == item]
    if not places or not column_places:
        return number, column_number
    return places[0] // rows + 1, column_places[0] // PAGE_COLUMNS + 1


def _counts(found: TopicGrid) -> GridCounts:
    ratings = found.sheet.ratings
    kinds = found.rater.by_kind
    by_people = Source(found.query.source) is Source.HUMANS
    has_text = [bool(one.text) and (by_people or one.kind in kinds) for one in found.items]
    cells, missing = count_cells(ratings, has_text)
    failed = int((ratings == FAILED).sum())
    return GridCounts(len(found.sheet.judged), len(found.items), cells, missing, failed)


def run_tags(collection: Collection) -> tuple[str, ...]:
    return collection_pool(collection).run_tags
