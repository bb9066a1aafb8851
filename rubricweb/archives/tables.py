"""What belongs to a collection: rows of its tables, uploaded files, and keys inside of values.

A model belongs to a collection if a chain of foreign keys leads from it to `Collection`, so a new model is
archived, restored and deleted without being named anywhere. What must not be in an archive is named here.

Archives number rows anew, and so does a restored collection. Foreign keys follow by themselves; a column that
holds keys in another form (JSON, saved addresses, the audit trail) has a function here that replaces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.apps import apps
from django.conf import settings
from django.db.models import Field, ForeignKey, Model, QuerySet

from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, BankVersion, ItemRevision
from rubricweb.campaigns.models import Turn
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection, Passage
from rubricweb.grades import replies
from rubricweb.grades.engine.gaps import pack_keys, unpack_keys
from rubricweb.grades.models import GraderConfig
from rubricweb.imports import staging
from rubricweb.imports.models import ImportFile
from rubricweb.imports.undo import kinds
from rubricweb.jobs.models import Job, LeasedWork
from rubricweb.releases.models import Release
from rubricweb.submissions.models import Submission

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
    "corpus.Collection.cold_at": "an archive has the grades as rows",
    "corpus.Collection.stamp": "caches are keyed by it, and it must be new in each database",
    "grades.MatrixStamp.number": "caches are keyed by it",
    "grades.HumanStamp.number": "caches are keyed by it",
    "grades.ReplyPolicy.packed_to": "it is a key of this server",
}
"""Columns that are not archived and get their default when the row is restored."""
_FRESH_OF_WORK = ("worker", "lease_until")

_BOARD = {"grader": GraderConfig, "bank": Bank, "version": BankVersion}


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
        """Return the rows of the collection, unordered."""
        return self.model._base_manager.filter(**{self.path: collection.pk}).order_by()

    def archived_rows(self, collection: Collection) -> QuerySet[Any]:
        """Return the rows that an archive has, in the order in which they were made."""
        rows = self.rows(collection).order_by("pk")
        return rows.exclude(verb__in=NOT_ARCHIVED) if self.model is AuditEntry else rows


@cache
def owned() -> tuple[Table, ...]:
    """Return every model with a chain of foreign keys to Collection, by label, with its shortest chain."""
    paths: dict[type[Model], str] = {Collection: "pk"}
    for may_be_null in (False, True):
        while added := dict(_next_to(paths, may_be_null=may_be_null)):
            paths |= added
    return tuple(sorted((Table(model, path) for model, path in paths.items()), key=lambda table: table.label))


def archived() -> list[Table]:
    return [table for table in owned() if table.label not in LEFT_OUT]


def columns(model: type[Model]) -> list[Field[Any, Any]]:
    """Return the columns that an archive has, in the order of the model."""
    if model is User:
        return [field for field in model._meta.concrete_fields if field.name in OF_PEOPLE]
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    return [field for field in fields if not _is_fresh(field)]


def target_of(field: Field[Any, Any]) -> type[Model] | None:
    """Return the model to which a foreign key leads; None for other columns."""
    return field.related_model if isinstance(field, ForeignKey) else None


def own_models() -> Iterator[type[Model]]:
    """Yield every model of the project with a table, those between two sides of many to many too."""
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


def _next_to(paths: dict[type[Model], str], *, may_be_null: bool) -> Iterator[tuple[type[Model], str]]:
    for model in own_models():
        if model in paths or model in SHARED:
            continue
        for field in model._meta.concrete_fields:
            target = target_of(field)
            if target in paths and (may_be_null or not field.null):
                path = paths[target]
                yield model, field.name if path == "pk" else f"{field.name}__{path}"
                break


def _is_fresh(field: Field[Any, Any]) -> bool:
    if f"{field.model._meta.label}.{field.name}" in _FRESH:
        return True
    return issubclass(field.model, LeasedWork) and field.name in _FRESH_OF_WORK


def _own_path(row: Release | Submission) -> Path:
    return row.path


PLACES: dict[type[Model], Callable[[Any], Path]] = {
    ImportFile: staging.path_of,
    Submission: _own_path,
    Release: _own_path,
}
"""Models whose rows stand for a file -> the path of a row's file."""


def files_of(collection: Collection) -> Iterator[tuple[Model, Path]]:
    """Yield the files that are there, each with its row."""
    for table in archived():
        if table.model in PLACES:
            for row in table.rows(collection).order_by("pk"):
                path = PLACES[table.model](row)
                if path.is_file():
                    yield row, path


def remove(paths: list[Path]) -> None:
    """Delete files, with folders that are empty then."""
    for path in paths:
        path.unlink(missing_ok=True)
        for folder in (path.parent, path.parent.parent):
            is_own = folder != Path(settings.DATA_DIR) and folder.is_dir()
            if is_own and not any(folder.iterdir()):
                folder.rmdir()


Swap = Callable[[type[Model], int], int | None]
"""The other key of a row; None for a row that is not there."""
Row = Mapping[str, Any]


def _present(value: Any, row: Row, swap: Swap, *, model: type[Model]) -> list[int]:
    """Return the new keys without those of rows that are gone."""
    return [new for key in value if (new := swap(model, key)) is not None]


def _cells(value: Any, row: Row, swap: Swap) -> list[list[int]] | None:
    """Return pairs of a wording and a passage, without pairs of which one is gone; None for no list."""
    if value is None:
        return None
    pairs = [(swap(ItemRevision, wording), swap(Passage, passage)) for wording, passage in value]
    return [[wording, passage] for wording, passage in pairs if wording is not None and passage is not None]


def _wordings_in_place(value: Any, row: Row, swap: Swap) -> list[int]:
    """Return the new keys, 0 for a row that is gone: the mask has a column for each."""
    return [swap(ItemRevision, key) or 0 for key in value]


def _packed_passages(value: Any, row: Row, swap: Swap) -> str:
    """Return the new keys packed, 0 for a row that is gone, since chunks are ranges of them."""
    if not value:
        return ""
    return pack_keys([swap(Passage, key) or 0 for key in unpack_keys(value).tolist()])


def _replies(value: Any, row: Row, swap: Swap) -> list[list[Any]] | bytes:
    """Return wordings, passages and replies as a list for an archive, and as a block for a database."""
    if isinstance(value, list):
        cells = {
            (swap(ItemRevision, wording) or 0, swap(Passage, passage) or 0): str(text)
            for wording, passage, text in value
        }
        return replies.content_of(cells)
    texts = [
        (swap(ItemRevision, wording), swap(Passage, passage), text)
        for (wording, passage), text in replies.texts_of(value).items()
    ]
    return [list(reply) for reply in texts if None not in reply]


def _ranges(value: Any, row: Row, swap: Swap) -> dict[str, list[int]]:
    """Return what an import added; nothing where a row is gone, so that it cannot be undone."""
    models = {kind: model for kind, (model, _) in kinds().items()}
    swapped = {
        kind: [swap(models[kind], first), swap(models[kind], last), number]
        for kind, (first, last, number) in value.items()
    }
    return {} if any(None in ends for ends in swapped.values()) else swapped


def _address(value: Any, row: Row, swap: Swap, *, parameters: Mapping[str, type[Model]]) -> str:
    """Return the query part of an address, without the parameters whose rows are gone."""
    kept = []
    for name, text in parse_qsl(value, keep_blank_values=True):
        if name in parameters and text.isdecimal():
            new = swap(parameters[name], int(text))
            kept += [(name, str(new))] if new is not None else []
        else:
            kept.append((name, text))
    return urlencode(kept)


def _audited(value: Any, row: Row, swap: Swap) -> int | None:
    """Return the thing that an entry is about, which its `kind` names; None if it is gone."""
    model = _models_by_name().get(row["kind"])
    return swap(model, value) if model and value is not None else None


@cache
def _models_by_name() -> dict[str, type[Model]]:
    return {table.model._meta.model_name or "": table.model for table in archived()}


REPLACED: dict[str, Callable[[Any, Row, Swap], Any]] = {
    "core.AuditEntry.object_id": _audited,
    "grades.Draw.passages": partial(_present, model=Passage),
    "grades.Draw.revisions": partial(_present, model=ItemRevision),
    "grades.JobChunk.cells": _cells,
    "grades.JobPart.passages": _packed_passages,
    "grades.JobPart.revisions": _wordings_in_place,
    "grades.ReplyBlock.content": _replies,
    "imports.Import.added": _ranges,
    "leaderboards.PublicBoard.query": partial(_address, parameters=_BOARD),
    "review.SavedView.address": partial(_address, parameters={"grader": GraderConfig}),
}
"""Column -> function that returns its value with other keys."""


def replaced_in(label: str) -> dict[str, Callable[[Any, Row, Swap], Any]]:
    """Return the functions for the columns of one table, by the column's name."""
    split = {key.rpartition("."): function for key, function in REPLACED.items()}
    return {name: function for (table, _, name), function in split.items() if table == label}
