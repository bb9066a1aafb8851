"""Every change to every item of a bank, newest first, paged by the last row seen."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, ItemChange

PAGE_ROWS = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the ledger; None shows all."""

    by: int | None = None
    verb: str | None = None
    topic: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    changes: list[ItemChange]
    before: int | None
    """The parameter of the next, older page; None on the last."""


def ledger(bank: Bank, filters: Filters, *, before: int | None = None) -> LedgerPage:
    """Return the changes older than the row `before`."""
    conditions = {"by": filters.by, "verb": filters.verb, "item__topic": filters.topic}
    rows = ItemChange.objects.filter(
        item__bank=bank, **{name: value for name, value in conditions.items() if value}
    )
    rows = rows.filter(pk__lt=before) if before else rows
    rows = rows.select_related("item__topic", "revision", "by", "source__passage").order_by("-pk")
    changes = list(rows[: PAGE_ROWS + 1])
    return LedgerPage(changes[:PAGE_ROWS], changes[PAGE_ROWS - 1].pk if len(changes) > PAGE_ROWS else None)


def authors(bank: Bank) -> QuerySet[User]:
    """Everybody who changed an item of the bank."""
    changed = ItemChange.objects.filter(item__bank=bank).order_by().values("by")
    return User.objects.filter(pk__in=changed).order_by("username")
