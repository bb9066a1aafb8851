"""The audit trail: one entry per action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Model

from rubricweb.core.models import AuditEntry

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection

PARENTS = ("bank", "topic", "request")
"""Attributes that lead from an object to its collection."""


def record(
    verb: str, thing: Model, *, by: User | None, detail: object = "", collection: Collection | None = None
) -> AuditEntry:
    """Write one entry; `by` is None for commands and the demo, and `detail` holds no passage text.

    Organizers see the entries of their collection: the one that `thing` belongs to, or `collection`.
    """
    return AuditEntry.objects.create(
        verb=verb,
        kind=thing._meta.model_name or "",
        object_id=thing.pk,
        by=by,
        detail=str(detail)[:500],
        collection_id=collection.pk if collection else _collection_id(thing),
    )


def _collection_id(thing: Model) -> int | None:
    if thing._meta.label == "corpus.Collection":
        return int(thing.pk)
    if hasattr(thing, "collection_id"):
        return None if thing.collection_id is None else int(thing.collection_id)
    parent = next((getattr(thing, name) for name in PARENTS if hasattr(thing, f"{name}_id")), None)
    return _collection_id(parent) if isinstance(parent, Model) else None
