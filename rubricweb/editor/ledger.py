"""Every change to every item of a bank, and every move of one, newest first, paged by the last rows seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from operator import attrgetter

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from rubricweb.accounts.models import User
from rubricweb.banks.actions import MOVED
from rubricweb.banks.models import Bank, Item, ItemChange, ItemRevision
from rubricweb.core.models import AuditEntry

PAGE_ROWS = 50
MOVE = ("moved", gettext_lazy("moved"))
"""A move is no version of its item, so that it is in nobody's way; the audit trail has it."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the ledger; None shows all."""

    by: int | None = None
    verb: str | None = None
    topic: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A row of the ledger, with the names of an ItemChange."""

    at: datetime
    by: User | None
    item: Item
    detail: str
    pk: int
    verb = MOVE[0]
    get_verb_display = MOVE[1]
    source = None

    @property
    def revision(self) -> ItemRevision:
        return self.item.revision


@dataclass(frozen=True, slots=True)
class Seen:
    """The last rows of the page before, by their keys; None where it had none."""

    change: int | None = None
    move: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    changes: list[ItemChange | Move]
    before: Seen | None
    """The parameter of the next, older page; None on the last."""


def ledger(bank: Bank, filters: Filters, *, before: Seen | None = None) -> LedgerPage:
    """Return the rows that are older than `before`."""
    seen = before or Seen()
    parts: tuple[list[ItemChange], list[Move]] = _changes(bank, filters, seen), _moves(bank, filters, seen)
    rows: list[ItemChange | Move] = list(merge(*parts, key=attrgetter("at"), reverse=True))
    page = rows[:PAGE_ROWS]
    last = Seen(
        min((row.pk for row in page if isinstance(row, ItemChange)), default=seen.change),
        min((row.pk for row in page if isinstance(row, Move)), default=seen.move),
    )
    return LedgerPage(page, last if len(rows) > PAGE_ROWS else None)


def _changes(bank: Bank, filters: Filters, seen: Seen) -> list[ItemChange]:
    """The newest of a page and one more."""
    conditions = {"by": filters.by, "verb": filters.verb, "item__topic": filters.topic, "pk__lt": seen.change}
    rows = ItemChange.objects.filter(item__bank=bank, **_chosen(conditions))
    rows = rows.select_related("item__topic", "revision", "by", "source__passage").order_by("-pk")
    return list(rows[: PAGE_ROWS + 1])


def _moves(bank: Bank, filters: Filters, seen: Seen) -> list[Move]:
    """The newest of a page and one more; those of items that the reader may see."""
    if filters.verb not in (None, MOVE[0]):
        return []
    items = bank.items.filter(**_chosen({"topic": filters.topic}))
    entries = _moves_of(items).filter(**_chosen({"by": filters.by, "pk__lt": seen.move}))
    newest = list(entries.select_related("by").order_by("-pk")[: PAGE_ROWS + 1])
    moved = items.select_related("topic", "revision").in_bulk({entry.object_id for entry in newest})
    return [
        Move(entry.at, entry.by, moved[entry.object_id], entry.detail, entry.pk)
        for entry in newest
        if entry.object_id in moved
    ]


def _moves_of(items: QuerySet[Item]) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(kind="item", verb=MOVED, object_id__in=items.order_by().values("pk"))


def _chosen(conditions: Mapping[str, object]) -> dict[str, object]:
    """Return the conditions that limit anything."""
    return {name: value for name, value in conditions.items() if value}


def authors(bank: Bank) -> QuerySet[User]:
    """Everybody who changed or moved an item of the bank."""
    changed = ItemChange.objects.filter(item__bank=bank).order_by().values("by")
    moved = _moves_of(bank.items.all()).order_by().values("by")
    return (User.objects.filter(pk__in=changed) | User.objects.filter(pk__in=moved)).order_by("username")
