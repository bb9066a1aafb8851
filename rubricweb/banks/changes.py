"""Changes to a bank: how one is written, why one is refused, and how items are kept secret.

Of a secret item the words are secret, so all that has them changes together: every wording that the item ever
had, its duplicates, and items of other banks with the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import F, Q

from rubricweb.accounts.models import User
from rubricweb.banks.models import Item, ItemChange, ItemRevision
from rubricweb.core import audit, events

DETAIL_CHARS = 200
UNQUOTED = "duplicate of a secret item"


class BankError(Exception):
    """Root of the refusals; its text is for the person who edits."""


class EmptyWording(BankError):
    """An item without text."""


class NoAnswerKey(BankError):
    """An item that cannot have an answer key: a nugget, or a question without text."""


class UnfitAnswerKey(BankError):
    """Too many accepted answers, or one that is too long."""


class UnfitWeight(BankError):
    """A weight out of range."""


class UnfitVersion(BankError):
    """A version with an unusable name, or without items."""


class UnfitSpan(BankError):
    """A span that is not in the passage."""


class UnfitMerge(BankError):
    """Two items that cannot be merged."""


class StaysSecret(BankError):
    """An item whose words are an earlier wording of a secret one."""

    def __init__(self) -> None:
        super().__init__("Another secret item once had this wording. Make that one public first.")


class OrderChanged(BankError):
    """Somebody added, retired or moved items since the writer saw their order."""

    def __init__(self) -> None:
        super().__init__("Not moved: somebody else changed the order. The list shows the current order.")


class BankMoved(BankError):
    """Somebody changed the bank since the writer saw it, so the whole change is refused."""

    def __init__(self) -> None:
        super().__init__(
            "Somebody else changed this rubric, so your change was not made. Check the rubric and try again."
        )


class DuplicateItem(BankError):
    """The bank already has an active item with this wording."""

    def __init__(self, twin: Item) -> None:
        self.twin = twin
        super().__init__("This topic already asks exactly this.")


class EditConflict(BankError):
    """Somebody else changed the item since the writer saw it; `item` is its present state."""

    def __init__(self, item: Item, seen: int) -> None:
        self.item, self.seen = item, seen
        super().__init__("Somebody else changed this item while you were editing it.")


class WrongText(BankError):
    """A text that does not match the id."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        super().__init__("This is not the text of this id: its MD5 differs. Spelling, case and spaces count.")


class CannotDraft(BankError):
    """The requested items cannot be drafted; the text says what to choose instead."""


class AlreadyDecided(BankError):
    """Somebody else accepted or rejected the draft first."""

    def __init__(self) -> None:
        super().__init__("Somebody has already decided about this draft.")


class RequestUnderWay(BankError):
    """The request is done, or a worker is still at it."""

    def __init__(self) -> None:
        super().__init__("This request is finished, or a worker is still working on it.")


def write_change(
    item: Item, seen: int, verb: ItemChange.Verb, by: User | None, *, detail: str = "", **fields: object
) -> ItemChange:
    """Change `item` only if it is still at the version that the writer saw; otherwise raise EditConflict."""
    unchanged = Item.including_secret.filter(pk=item.pk, version=seen)
    changed = unchanged.update(version=F("version") + 1, **fields)
    item.refresh_from_db()
    if not changed:
        raise EditConflict(item, seen)
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


Verb = ItemChange.Verb


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
