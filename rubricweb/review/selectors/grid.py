"""A topic's grid: what of passages x items to show, chosen and sorted by numpy over the matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from django.core.paginator import Page, Paginator
from numpy.typing import NDArray

from grading.types import FAILED, MISSING, ItemKind
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.matrices import TopicGrades, topic_grades
from rubricweb.review.flags.selectors import OpenCounts, open_counts
from rubricweb.review.selectors.raters import KINDS, Rater
from rubricweb.review.selectors.sheet import (
    MIN_GRADE,
    Asked,
    Mask,
    Sheet,
    judged,
    ratings_of,
)
from rubricweb.review.selectors.window import NO_RANK, Column, Row, Window, marks, ranks

PAGE_ROWS = 50
PAGE_COLUMNS = 30


@dataclass(frozen=True, slots=True)
class GridQuery:
    """What of a topic to show; every field is in the address."""

    sort: str = "pool"
    show: str = "all"
    items: str = "all"
    kind: str = ""
    run: str = ""
    min_grade: int = MIN_GRADE
    page: int = 1
    columns: int = 1

    @property
    def kinds(self) -> tuple[ItemKind, ...]:
        return (ItemKind(self.kind),) if self.kind else KINDS


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

    columns: Page[Column]
    rows: tuple[Row, ...]
    page: Page[int]
    counts: GridCounts
    top_judgment: int


SHOWS: dict[str, tuple[str, Callable[[Sheet], Mask]]] = {
    "all": ("all", lambda sheet: np.ones(len(sheet.judged), dtype=np.bool_)),
    "uncovered": ("uncovered relevant", lambda sheet: sheet.uncovered),
    "disagree": ("at odds with the judgment", lambda sheet: sheet.disagree),
    "failed": ("with failures", lambda sheet: (sheet.ratings == FAILED).any(axis=1)),
    "missing": ("with missing cells", lambda sheet: (sheet.ratings == MISSING).any(axis=1)),
    "ungraded-relevant": ("ungraded relevant", lambda sheet: sheet.ungraded_relevant),
}
SORTS: dict[str, tuple[str, Callable[[Sheet], NDArray[np.float64]]]] = {
    "pool": ("pool order", lambda sheet: np.zeros(len(sheet.judged))),
    "label": ("label", lambda sheet: sheet.labels.astype(float)),
    "judgment": ("judgment", lambda sheet: sheet.judged.astype(float)),
    "disagreement": ("disagreement", lambda sheet: sheet.disagreement),
    "covered": ("items covered", lambda sheet: sheet.covers.sum(axis=1).astype(float)),
}
ITEM_FILTERS: dict[str, tuple[str, Callable[[Column], bool]]] = {
    "all": ("all", lambda column: True),
    "nobody": ("never covered", lambda column: column.is_covering_nobody),
    "spurious": ("spurious suspects", lambda column: column.is_spurious),
    "unknown": ("without text", lambda column: not column.text),
}


def grid(bank: Bank, topic: Topic, rater: Rater, query: GridQuery) -> Grid:
    """The window that `query` asks for."""
    collection = collection_pool(bank.collection)
    pool = collection.by_topic[topic.pk]
    items = _items(bank, topic, query.kinds)
    asked = tuple(Asked(column.kind, column.uid, bool(column.text)) for column in items)
    by_config = {config: topic_grades(config, collection, topic.pk) for config in rater.configs}
    grades = {kind: by_config[config] for kind, config in rater.by_kind.items()}
    sheet = Sheet(
        ratings_of(grades, asked, len(pool.doc_ids)),
        judged(pool),
        bank.collection.min_relevant,
        query.min_grade,
    )
    run = collection.run_tags.index(query.run) if query.run in collection.run_tags else None
    flags = open_counts(bank.pk, topic.pk)
    columns = _columns(items, sheet, query, flags)
    page = Paginator(_order(sheet, ranks(pool), run, query), PAGE_ROWS).get_page(query.page)
    found = marks(
        rater.configs, [column.revision_pk for column in columns], [pool.passage_pks[row] for row in page]
    )
    window = Window(pool, collection.run_tags, sheet, tuple(columns), found, flags)
    rows = tuple(window.row(row, page.start_index() + place) for place, row in enumerate(page))
    return Grid(columns, rows, page, _counts(sheet, asked, grades), int(sheet.judged.max(initial=0)))


def _items(bank: Bank, topic: Topic, kinds: tuple[ItemKind, ...]) -> list[Column]:
    """The active items, questions first, numbered within their kind as the bank orders them."""
    rows = bank.items.active().for_topic(topic).of_kinds(kinds).order_by("position", "pk")
    fields = rows.values_list("pk", "kind", "revision_id", "revision__uid", "revision__text")
    found = []
    for kind in kinds:
        of_kind = [row for row in fields if row[1] == kind]
        found += [
            Column(pk, kind, number, revision_pk, uid, text, at=0)
            for number, (pk, _, revision_pk, uid, text) in enumerate(of_kind, 1)
        ]
    return found


def _columns(items: list[Column], sheet: Sheet, query: GridQuery, flags: OpenCounts) -> Page[Column]:
    measured = [
        replace(column.measured(at, sheet), flags=flags.items.get(column.pk, 0))
        for at, column in enumerate(items)
    ]
    chosen = [column for column in measured if ITEM_FILTERS[query.items][1](column)]
    return Paginator(chosen, PAGE_COLUMNS).get_page(query.columns)


def _order(sheet: Sheet, ranked: NDArray[np.int32], run: int | None, query: GridQuery) -> list[int]:
    """Rows of the pool to show, in order; equal ones stay in the pool's order, or in that of the run."""
    shown = SHOWS[query.show][1](sheet)
    rows = np.flatnonzero(shown)
    if run is not None:
        rows = rows[ranked[rows, run] != NO_RANK]
        rows = rows[np.argsort(ranked[rows, run], kind="stable")]
    keys = SORTS[query.sort][1](sheet)[rows]
    return [int(row) for row in rows[np.argsort(-keys, kind="stable")]]


def _counts(sheet: Sheet, asked: tuple[Asked, ...], grades: dict[ItemKind, TopicGrades]) -> GridCounts:
    has_text = np.array([one.has_text and one.kind in grades for one in asked], dtype=np.bool_)
    gradable = sheet.ratings[:, has_text | (sheet.ratings != MISSING).any(axis=0)]
    missing, failed = int((gradable == MISSING).sum()), int((gradable == FAILED).sum())
    return GridCounts(len(sheet.judged), len(asked), gradable.size, missing, failed)


def run_tags(collection: Collection) -> tuple[str, ...]:
    return collection_pool(collection).run_tags
