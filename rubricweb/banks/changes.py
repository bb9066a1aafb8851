"""Changes to a bank: how one is written, and why one is refused."""

from __future__ import annotations

from django.db.models import F

from rubricweb.accounts.models import User
from rubricweb.banks.models import Item, ItemChange
from rubricweb.core import audit, events


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


class Conflict(BankError):
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
