"""A time line of a bank: changes and moves of its items and its versions, newest first, by pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from operator import attrgetter

from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.banks.actions import MOVED
from rubricweb.banks.models import Bank, BankVersion, Item, ItemChange, ItemRevision
from rubricweb.banks.versions import versions
from rubricweb.core.models import AuditEntry

PAGE_ROWS = 50
MOVE = ("moved", "moved")
NAMED = ("named", "Version named")
"""A move is no version of its item, so that it is in nobody's way; the audit trail has it."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the time line; None shows all."""

    by: int | None = None
    verb: str | None = None
    topic: int | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A row of the time line, with the names of an ItemChange."""

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
class HistoryPage:
    changes: list[ItemChange | Move | BankVersion]
    before: Seen | None
    """The parameter of the next, older page; None on the last."""


def history(bank: Bank, filters: Filters, *, before: Seen | None = None) -> HistoryPage:
    """Return the rows that are older than `before`."""
    seen = before or Seen()
    parts: tuple[list[ItemChange], list[Move]] = _changes(bank, filters, seen), _moves(bank, filters, seen)
    rows: list[ItemChange | Move] = list(merge(*parts, key=attrgetter("at"), reverse=True))
    page = rows[:PAGE_ROWS]
    last = Seen(
        min((row.pk for row in page if isinstance(row, ItemChange)), default=seen.change),
        min((row.pk for row in page if isinstance(row, Move)), default=seen.move),
    )
    is_last = len(rows) <= PAGE_ROWS
    since = None if is_last else page[-1].at
    named = _versions(bank, filters, since=since, until=_at(before))
    merged: list[ItemChange | Move | BankVersion] = list(
        merge(page, named, key=attrgetter("at"), reverse=True)
    )
    return HistoryPage(merged, None if is_last else last)


def _at(seen: Seen | None) -> datetime | None:
    """Return when the last row of the page before happened; None on the first page."""
    if seen is None:
        return None
    change = ItemChange.objects.filter(pk=seen.change or 0).values_list("at", flat=True)
    move = AuditEntry.objects.filter(pk=seen.move or 0).values_list("at", flat=True)
    return min([*change, *move], default=None)


def _versions(
    bank: Bank, filters: Filters, *, since: datetime | None, until: datetime | None
) -> list[BankVersion]:
    """Return the versions that were named after `since` and not after `until`, newest first."""
    if filters.topic or filters.verb not in (None, NAMED[0]):
        return []
    rows = versions(bank).filter(**_chosen({"by": filters.by, "at__gt": since, "at__lte": until}))
    return list(rows.order_by("-at", "-pk"))


def _changes(bank: Bank, filters: Filters, seen: Seen) -> list[ItemChange]:
    """The newest of a page and one more."""
    if filters.verb == NAMED[0]:
        return []
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
