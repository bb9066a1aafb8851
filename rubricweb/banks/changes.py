"""Write one change of an item: the row, its history, the audit entry and the event."""

from __future__ import annotations

from django.db.models import F

from rubricweb.accounts.models import User
from rubricweb.banks.errors import Conflict
from rubricweb.banks.models import Item, ItemChange
from rubricweb.core import audit, events

DETAIL_CHARS = 200


def write_change(
    item: Item, seen: int, verb: ItemChange.Verb, by: User | None, *, detail: str = "", **fields: object
) -> ItemChange:
    """Change `item` only if it is still at the version that the writer saw; otherwise raise Conflict."""
    unchanged = Item.including_secret.filter(pk=item.pk, version=seen)
    changed = unchanged.update(version=F("version") + 1, **fields)
    item.refresh_from_db()
    if not changed:
        raise Conflict(item, seen)
    return record_change(item, verb, by, detail)


def record_change(item: Item, verb: ItemChange.Verb, by: User | None, detail: str = "") -> ItemChange:
    """Record what happened to `item`, as its present version."""
    change: ItemChange = item.changes.create(
        number=item.version, verb=verb, revision=item.revision, detail=detail, by=by
    )
    audit.record(f"item {verb}", item, by=by, detail=f"version {item.version}")
    events.publish_on_commit(item.bank.collection.channel, "items")
    return change


def duplicate_detail(text: str) -> str:
    """Return what the history of a duplicate says of the item that was kept."""
    return f"duplicate of: {text}"[:DETAIL_CHARS]
