"""Keep items secret, and make them public again.

The words are what is secret, so all that has them changes together: every wording that the item ever had, its
duplicates, and items of other banks with the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import Q

from rubricweb.accounts.models import User
from rubricweb.banks.changes import StaysSecret, duplicate_detail, write_change
from rubricweb.banks.models import Item, ItemChange, ItemRevision

Verb = ItemChange.Verb
UNQUOTED = "duplicate of a secret item"


@transaction.atomic
def hide_item(item: Item, *, seen: int, by: User | None) -> Item:
    """Make `item` secret, where `seen` is its version."""
    if not item.is_secret:
        write_change(item, seen, Verb.HIDDEN, by)
        spread(item, by=by)
        item.refresh_from_db()
    return item


@transaction.atomic
def show_item(item: Item, *, seen: int, by: User | None) -> Item:
    """Make `item` public, where `seen` is its version.

    Raises StaysSecret if another secret item had its words before, since they would give that one away.
    """
    if not item.is_secret:
        return item
    items, wordings = _belonging(item)
    changes = ItemChange.including_secret.filter(revision__in=wordings).exclude(item__in=items)
    if changes.filter(item__revision__is_secret=True).exists():
        raise StaysSecret
    write_change(item, seen, Verb.SHOWN, by)
    ItemRevision.including_secret.filter(pk__in=wordings).update(is_secret=False)
    _note_others(items - {item.pk}, Verb.SHOWN, by)
    item.refresh_from_db()
    return item


@transaction.atomic
def hide_items(items: Iterable[Item], *, by: User | None) -> int:
    """Make `items` secret; return how many were not."""
    return _changed(items, hide_item, by)


@transaction.atomic
def show_items(items: Iterable[Item], *, by: User | None) -> int:
    """Make `items` public; return how many were not. Raises StaysSecret; then none is changed."""
    return _changed(items, show_item, by)


def _changed(items: Iterable[Item], change: Callable[..., Item], by: User | None) -> int:
    changed = 0
    for listed in items:
        item = Item.including_secret.select_related("revision", "topic", "bank__collection").get(pk=listed.pk)
        before = item.is_secret
        changed += change(item, seen=item.version, by=by).is_secret != before
    return changed


def spread(item: Item, *, by: User | None) -> None:
    """Make secret whatever belongs to the secret `item`."""
    items, wordings = _belonging(item)
    others = Item.including_secret.filter(pk__in=items - {item.pk}, revision__is_secret=False)
    newly = set(others.values_list("pk", flat=True))
    ItemRevision.including_secret.filter(pk__in=wordings, is_secret=False).update(is_secret=True)
    _unquote(wordings)
    _note_others(newly, Verb.HIDDEN, by)


def _belonging(item: Item) -> tuple[set[int], set[int]]:
    """Return the keys of the items that are secret together with `item`, and of all their wordings."""
    items, wordings = {item.pk}, set[int]()
    while True:
        had = ItemChange.including_secret.filter(item__in=items).values_list("revision", flat=True)
        stands = Item.including_secret.filter(pk__in=items).values_list("revision", flat=True)
        wordings = {*had, *stands}
        same = Item.including_secret.filter(Q(revision__in=wordings) | Q(merged_into__in=items))
        larger = items | set(same.values_list("pk", flat=True))
        if larger == items:
            return items, wordings
        items = larger


def _unquote(wordings: Iterable[int]) -> None:
    """Remove quotes of these wordings from the histories of their duplicates."""
    texts = ItemRevision.including_secret.filter(pk__in=wordings).values_list("text", flat=True)
    quoted = [duplicate_detail(text) for text in texts]
    ItemChange.including_secret.filter(detail__in=quoted).update(detail=UNQUOTED)


def _note_others(items: Iterable[int], verb: Verb, by: User | None) -> None:
    rows = Item.including_secret.filter(pk__in=items).select_related("revision", "topic", "bank__collection")
    for item in rows:
        write_change(item, item.version, verb, by)
