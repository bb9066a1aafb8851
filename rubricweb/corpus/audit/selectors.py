"""The entries of a collection's audit trail, newest first, paged by the last row seen."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection

PAGE_ROWS = 50
HEAD = ("at", "who", "what", "thing", "id", "detail")


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """None shows all. Both days are included, in UTC."""

    by: int | None = None
    verb: str | None = None
    since: dt.date | None = None
    until: dt.date | None = None


@dataclass(frozen=True, slots=True)
class AuditPage:
    entries: list[AuditEntry]
    before: int | None
    """The parameter of the next, older page; None on the last."""


def entries(collection: Collection, filters: AuditFilters) -> QuerySet[AuditEntry]:
    """With the people who made the changes."""
    conditions = {
        "by": filters.by,
        "verb": filters.verb,
        "at__date__gte": filters.since,
        "at__date__lte": filters.until,
    }
    rows = AuditEntry.objects.filter(collection=collection).select_related("by")
    return rows.filter(**{name: value for name, value in conditions.items() if value}).order_by("-pk")


def audit_page(collection: Collection, filters: AuditFilters, *, before: int | None = None) -> AuditPage:
    rows = entries(collection, filters)
    rows = rows.filter(pk__lt=before) if before else rows
    page = list(rows[: PAGE_ROWS + 1])
    return AuditPage(page[:PAGE_ROWS], page[PAGE_ROWS - 1].pk if len(page) > PAGE_ROWS else None)


def people(collection: Collection) -> QuerySet[User]:
    """Everybody who changed something in the collection."""
    did = AuditEntry.objects.filter(collection=collection).order_by().values("by")
    return User.objects.filter(pk__in=did).order_by("username")


def verbs(collection: Collection) -> list[str]:
    rows = AuditEntry.objects.filter(collection=collection).order_by("verb")
    return list(rows.values_list("verb", flat=True).distinct())


def table(collection: Collection, filters: AuditFilters) -> Iterator[tuple[object, ...]]:
    """The header and every entry, for a file."""
    yield HEAD
    for entry in entries(collection, filters).iterator(chunk_size=2_000):
        who = entry.by.username if entry.by else ""
        at = entry.at.isoformat(timespec="seconds")
        yield (at, who, entry.verb, entry.kind, entry.object_id or "", entry.detail)
