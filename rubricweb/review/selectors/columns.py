"""The items at the heads of a grid's columns, with their measures over the whole pool."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import QuerySet

from grading.arrays import divide
from grading.types import FAILED, MISSING, ItemKind
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.banks.selectors import keys_of
from rubricweb.corpus.models import Topic
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, Mask, Sheet, separation
from rubricweb.review.models import Kind
from rubricweb.review.selectors import GridQuery


@dataclass(frozen=True, slots=True)
class GridColumn:
    """An item at the head of a column, with its measures over the whole pool."""

    pk: int
    kind: ItemKind
    number: int
    """Counted from 1 within the kind."""
    revision_pk: int
    uid: str
    text: str
    at: int
    """Its column in the sheet."""
    keys: tuple[str, ...] = ()
    """Accepted answers."""
    covered: float = np.nan
    mean: float = np.nan
    """The mean grade of the graded passages."""
    spurious: float = np.nan
    discrimination: float = np.nan
    is_spurious: bool = False
    is_covering_nobody: bool = False
    flags: int = 0
    """Open flags on the item itself; rows and cells have their own."""
    opens_kind: bool = False
    """The first column of its kind in the window."""
    importance: str = Item.Weight.VITAL
    missing: int = 0
    failed: int = 0
    hidden: int = 0
    """Cells that the reader may not see yet; not `missing`."""

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def short_name(self) -> str:
        """Return Q3 or N3."""
        return f"{self.kind[0].upper()}{self.number}"

    @property
    def importance_label(self) -> str:
        return str(Item.Weight(self.importance).label)

    @property
    def separation(self) -> str:
        return separation(self.discrimination)

    @property
    def column(self) -> ItemColumn:
        return ItemColumn(self.kind, self.uid, self.revision_pk, bool(self.text), bool(self.keys))

    @property
    def mean_grade(self) -> str:
        """Return the mean grade with two decimals; empty if nothing is rated."""
        return "" if np.isnan(self.mean) else f"{self.mean:z.2f}"

    @property
    def covered_value(self) -> float:
        """Return the value of the progress bar: 0 if nothing is rated."""
        return 0.0 if np.isnan(self.covered) else round(self.covered, 3)


def measured(
    columns: Sequence[GridColumn], sheet: Sheet, hidden: Mask, set_aside: Container[tuple[str, int]]
) -> tuple[GridColumn, ...]:
    """Return the columns of the sheet with their measures over the whole pool.

    `hidden` are cells whose grades the reader may not see, `set_aside` the kind of flag and the wording of
    each problem that a person set aside.
    """
    ratings, rated = sheet.ratings, sheet.rated
    is_aside = np.array(
        [(Kind.SPURIOUS, column.revision_pk) in set_aside for column in columns], dtype=np.bool_
    )
    measures = {
        "covered": sheet.covered_shares,
        "mean": divide(np.where(rated, ratings, 0).sum(axis=0), rated.sum(axis=0)),
        "spurious": sheet.spurious_rates,
        "discrimination": sheet.discriminations,
        "is_spurious": sheet.spurious & ~is_aside,
        "is_covering_nobody": sheet.covering_nobody,
        "missing": ((ratings == MISSING) & ~hidden).sum(axis=0),
        "failed": (ratings == FAILED).sum(axis=0),
        "hidden": hidden.sum(axis=0),
    }
    of_columns = zip(*(values.tolist() for values in measures.values()), strict=True)
    return tuple(
        replace(column, at=at, **dict(zip(measures, of_column, strict=True)))
        for at, (column, of_column) in enumerate(zip(columns, of_columns, strict=True))
    )


def columns_of(bank: Bank, topic: Topic, query: GridQuery) -> list[GridColumn]:
    """Return the active items, or a version's, questions first.

    They are numbered within their kind in the bank's order.
    """
    if query.version:
        version = bank.versions.get(number=query.version)
        entries = version.entries.filter(item__topic=topic).order_by("position", "pk")
        fields = ("item_id", "item__kind", "revision_id", "revision__uid", "revision__text", "importance")
        rows = list(entries.values_list(*fields))
    else:
        rows = _active(bank.collection_id, bank.pk, topic.pk)
    columns = []
    for kind in query.kinds:
        of_kind = [row for row in rows if row[1] == kind]
        columns += [
            GridColumn(pk, kind, number, revision_pk, uid, text, at=0, importance=importance)
            for number, (pk, _, revision_pk, uid, text, importance) in enumerate(of_kind, 1)
        ]
    return columns


@compiled_readable
def _active(bank: int, topic: int) -> QuerySet[Item, Any]:
    items = Item.including_secret.active().filter(bank=bank, topic=topic).order_by("position", "pk")
    return items.values_list("pk", "kind", "revision_id", "revision__uid", "revision__text", "importance")


def columns_for(bank: Bank, topic: Topic, rater: Rater, query: GridQuery) -> list[GridColumn]:
    """Return the items of `columns_of`; for a rater that verifies answers, with those that are accepted."""
    columns = columns_of(bank, topic, query)
    if not rater.verifies:
        return columns
    keys = keys_of(column.revision_pk for column in columns)
    return [replace(column, keys=keys.get(column.revision_pk, ())) for column in columns]
