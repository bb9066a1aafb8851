"""Which tables belong to a collection, as the foreign keys of Django's models say.

A model belongs to a collection if a chain of foreign keys leads from it to `Collection`, so a new model is
archived, restored and deleted without being named anywhere. What must not be in an archive is named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.db.models import Field, ForeignKey, Model, QuerySet

from rubricweb.accounts.models import User
from rubricweb.campaigns.models import Turn
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.models import Job, LeasedWork

SHARED: dict[type[Model], str] = {User: "username", GraderConfig: "fingerprint"}
"""Models whose rows belong to no collection, by what tells their rows apart. Archives have the rows to which
their tables refer.
"""
OF_PEOPLE = ("username",)
"""All that an archive says of a person: no name, address or password."""

LEFT_OUT = {
    "api.Token": "it opens this server",
    "accounts.Invitation": "its link leads to this server",
    "archives.Archive": "it describes a file on this server",
    "graders.DryRun": "it is kept for a day only",
    "corpus.PoolSnapshot": "it is made again from the other rows",
    "grades.MatrixSnapshot": "it is made again from the other rows",
    "webhooks.Endpoint": "it sends to another server, with a secret",
    "webhooks.Message": "it was sent by this server",
    "webhooks.Delivery": "it was sent by this server",
    "webhooks.DeliveryAttempt": "it was sent by this server",
    "webhooks.Announced": "it tells what this server sent",
    "leaderboards.BoardWatch": "it tells what this server sent",
}
"""Models whose rows are deleted with the collection and not archived, and why."""
NOT_ARCHIVED = ("collection archived", "collection restored")
"""Verbs of the audit trail that tell of archives: with them, that of a restored collection would differ."""

_FRESH = {
    "corpus.Collection.is_being_deleted": "it tells of work on this server",
    "corpus.Collection.is_gone": "it tells of work on this server",
    "corpus.Collection.stamp": "caches are keyed by it, and it must be new in each database",
    "grades.MatrixStamp.number": "caches are keyed by it",
    "grades.HumanStamp.number": "caches are keyed by it",
    "grades.ReplyPolicy.packed_to": "it is a key of this server",
}
"""Columns that are not archived and get their default when the row is restored."""
_FRESH_OF_WORK = ("worker", "lease_until")


@dataclass(frozen=True, slots=True)
class Table:
    """A model whose rows belong to collections."""

    model: type[Model]
    path: str
    """The lookup that leads to the collection; `pk` for the collection itself."""

    @property
    def label(self) -> str:
        return self.model._meta.label

    @property
    def columns(self) -> list[Field[Any, Any]]:
        return columns(self.model)

    def rows(self, collection: Collection) -> QuerySet[Any]:
        """The rows of the collection, unordered."""
        return self.model._base_manager.filter(**{self.path: collection.pk}).order_by()

    def archived_rows(self, collection: Collection) -> QuerySet[Any]:
        """The rows that an archive has, in the order in which they were made."""
        rows = self.rows(collection).order_by("pk")
        return rows.exclude(verb__in=NOT_ARCHIVED) if self.model is AuditEntry else rows


@cache
def owned() -> tuple[Table, ...]:
    """Every model with a chain of foreign keys to Collection, by label; of several chains the shortest."""
    known: dict[type[Model], str] = {Collection: "pk"}
    for may_be_null in (False, True):
        while found := dict(_next_to(known, may_be_null=may_be_null)):
            known |= found
    return tuple(sorted((Table(model, path) for model, path in known.items()), key=lambda one: one.label))


def archived() -> list[Table]:
    return [table for table in owned() if table.label not in LEFT_OUT]


def columns(model: type[Model]) -> list[Field[Any, Any]]:
    """The columns that an archive has, in the order of the model."""
    if model is User:
        return [field for field in model._meta.concrete_fields if field.name in OF_PEOPLE]
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    return [field for field in fields if not _is_fresh(field)]


def target_of(field: Field[Any, Any]) -> type[Model] | None:
    """The model to which a foreign key leads; None for other columns."""
    return field.related_model if isinstance(field, ForeignKey) else None


def own_models() -> Iterator[type[Model]]:
    """Every model of the project with a table, those between two sides of many to many too."""
    for model in apps.get_models(include_auto_created=True):
        if model.__module__.startswith("rubricweb.") and model._meta.managed:
            yield model


def is_work(model: type[Model]) -> bool:
    """Return whether somebody or something may be at work on rows of the model."""
    return issubclass(model, (Job, LeasedWork, Turn))


def ended(model: type[Model], row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as if nobody were at work on it: nothing in a restored collection goes on by itself."""
    if issubclass(model, Job):
        return row if row["state"] in Job.ENDED else row | {"state": Job.State.CANCELLED.value}
    if issubclass(model, LeasedWork):
        return row | {"state": LeasedWork.State.CANCELLED.value} if row["state"] in LeasedWork.LIVE else row
    if model is Turn and row["state"] == Turn.State.LEASED:
        person = row["person"] if row["assigned_by"] else None
        return row | {"state": Turn.State.PENDING.value, "person": person, "lease_until": None, "mode": ""}
    return row


def _next_to(known: dict[type[Model], str], *, may_be_null: bool) -> Iterator[tuple[type[Model], str]]:
    for model in own_models():
        if model in known or model in SHARED:
            continue
        for field in model._meta.concrete_fields:
            target = target_of(field)
            if target in known and (may_be_null or not field.null):
                path = known[target]
                yield model, field.name if path == "pk" else f"{field.name}__{path}"
                break


def _is_fresh(field: Field[Any, Any]) -> bool:
    if f"{field.model._meta.label}.{field.name}" in _FRESH:
        return True
    return issubclass(field.model, LeasedWork) and field.name in _FRESH_OF_WORK
