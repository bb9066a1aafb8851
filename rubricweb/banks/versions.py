"""Versions of a bank: name its present state, compare two of them, restore one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from django.db import transaction
from django.db.models import Count, Max, QuerySet

from grading.types import Importance
from rubricweb.accounts.models import User
from rubricweb.banks import actions
from rubricweb.banks.changes import BankMoved, EditConflict, UnfitVersion
from rubricweb.banks.models import Bank, BankVersion, Item, VersionItem
from rubricweb.core import audit, events
from rubricweb.corpus.models import Topic

_WORD = re.compile(r"\S+\s*")
NAME_CHARS = 120


class VersionChange(StrEnum):
    ADDED = "added"
    RETIRED = "retired"
    REWORDED = "reworded"
    REWEIGHED = "reweighed"


class Piece(StrEnum):
    SAME = "same"
    GONE = "gone"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class VersionedItem:
    """An item as a version has it, or as it is now."""

    revision_id: int
    text: str
    importance: str
    weight: float

    @property
    def weighing(self) -> tuple[str, float]:
        return self.importance, self.weight


@dataclass(frozen=True, slots=True)
class ItemDiff:
    """An item that differs; None on the side that lacks it."""

    item_id: int
    kind: str
    before: VersionedItem | None
    after: VersionedItem | None

    @property
    def change(self) -> VersionChange:
        if self.before is None:
            return VersionChange.ADDED
        if self.after is None:
            return VersionChange.RETIRED
        return (
            VersionChange.REWEIGHED
            if self.before.revision_id == self.after.revision_id
            else VersionChange.REWORDED
        )

    @property
    def is_reweighed(self) -> bool:
        return bool(self.before and self.after and self.before.weighing != self.after.weighing)

    @property
    def pieces(self) -> list[tuple[Piece, str]]:
        """Return both texts merged into one, word by word."""
        return word_diff(self.before.text if self.before else "", self.after.text if self.after else "")


@dataclass(frozen=True, slots=True)
class TopicDiff:
    topic: Topic
    items: tuple[ItemDiff, ...]


def difference(bank: Bank, before: BankVersion | None, after: BankVersion | None) -> list[TopicDiff]:
    """Return the differences by topic, in the collection's order. None stands for the bank as it is now."""
    old, new = held(bank, before), held(bank, after)
    differing = {pk for pk in old.keys() | new.keys() if old.get(pk) != new.get(pk)}
    fields = ("pk", "topic_id", "kind")
    rows = bank.items.filter(pk__in=differing).order_by("topic__position", "topic_id", "position", "pk")
    topics = bank.collection.topics.in_bulk({row[1] for row in rows.values_list(*fields)})
    by_topic: dict[int, list[ItemDiff]] = {}
    for pk, topic_id, kind in rows.values_list(*fields):
        by_topic.setdefault(topic_id, []).append(ItemDiff(pk, kind, old.get(pk), new.get(pk)))
    return [TopicDiff(topics[topic_id], tuple(items)) for topic_id, items in by_topic.items()]


def held(bank: Bank, version: BankVersion | None) -> dict[int, VersionedItem]:
    """Return the items of a version, or of the bank now, by item id."""
    if version is None:
        return {item.pk: _held(item) for item in bank.items.active().select_related("revision")}
    return {entry.item_id: _held(entry) for entry in version.entries.select_related("revision")}


def _held(row: Item | VersionItem) -> VersionedItem:
    return VersionedItem(row.revision_id, str(row.revision), row.importance, row.weight)


def word_diff(before: str, after: str) -> list[tuple[Piece, str]]:
    """Return both texts as one, word by word.

    >>> [f"{kind}: {words}" for kind, words in word_diff("Did it begin?", "When did it begin?")]
    ['gone: Did ', 'new: When did ', 'same: it begin?']
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    pieces: list[tuple[Piece, str]] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append((Piece.SAME, "".join(old[a:b])))
            continue
        pieces += [
            (kind, "".join(tokens))
            for kind, tokens in ((Piece.GONE, old[a:b]), (Piece.NEW, new[c:d]))
            if tokens
        ]
    return pieces


@transaction.atomic
def name_version(bank: Bank, *, name: str, by: User | None, note: str = "") -> BankVersion:
    """Save the active items, their wordings, order and weights as the bank's next version."""
    name = " ".join(name.split())
    if not name or len(name) > NAME_CHARS:
        raise UnfitVersion(f"Give the version a name of at most {NAME_CHARS} characters.")
    Bank.objects.select_for_update().get(pk=bank.pk)  # numbers are given out in turn
    if bank.versions.filter(name=name).exists():
        raise UnfitVersion(f"This rubric has a version named \u201c{name}\u201d already.")
    number = (bank.versions.aggregate(last=Max("number"))["last"] or 0) + 1
    version = bank.versions.create(number=number, name=name, note=note.strip(), by=by)
    VersionItem.including_secret.bulk_create(
        VersionItem(
            version=version,
            item=item,
            revision_id=item.revision_id,
            position=item.position,
            importance=item.importance,
            weight=item.weight,
        )
        for item in bank.all_items.active()
    )
    audit.record("bank version named", version, by=by, detail=f"{bank.name} {number}")
    events.publish_on_commit(bank.collection.channel, "items")
    return version


def versions(bank: Bank) -> QuerySet[BankVersion]:
    """Return the versions, newest first, with their author and number of items (`held`)."""
    return bank.versions.select_related("by").annotate(held=Count("entries")).order_by("-number")


def bank_stamp(bank: Bank) -> str:
    """Return a value that changes with every change to any item of the bank."""
    rows = bank.all_items.order_by("pk").values_list("pk", "version", "position")
    return hashlib.sha256(repr(list(rows)).encode()).hexdigest()[:24]


@transaction.atomic
def restore_version(version: BankVersion, *, seen: str, by: User | None) -> int:
    """Restore a version, and return how many items changed.

    `seen` is the stamp of the bank that the writer saw. Each item is changed by an action of its own, for
    its history. Raises BankMoved, changing nothing, if somebody changed the bank meanwhile.
    """
    bank = Bank.objects.select_for_update(of=("self",)).select_related("collection").get(pk=version.bank_id)
    if bank_stamp(bank) != seen:
        raise BankMoved
    held = bank.all_items.select_for_update(of=("self",))
    items = {item.pk: item for item in held.select_related("revision", "topic", "bank__collection")}
    entries = {entry.item_id: entry for entry in version.all_entries.select_related("revision")}
    before = {pk: item.version for pk, item in items.items()}
    try:
        _clear_way(items, entries, by)
        for pk, entry in entries.items():
            _bring_back(items[pk], entry, by)
    except EditConflict as conflict:
        raise BankMoved from conflict
    _put_in_order(bank, items, entries, by)
    audit.record("bank version restored", version, by=by, detail=f"{bank.name} {version.number}")
    return sum(item.version != before[pk] for pk, item in items.items())


def _clear_way(items: dict[int, Item], entries: dict[int, VersionItem], by: User | None) -> None:
    """Retire items that the version lacks, and temporarily those whose wording another item gets back."""
    needed = {(entry.revision_id, items[pk].kind): pk for pk, entry in entries.items()}
    for pk, item in items.items():
        stands_in_the_way = needed.get((item.revision_id, item.kind), pk) != pk
        if not item.is_retired and (pk not in entries or stands_in_the_way):
            actions.retire_item(item, seen=item.version, by=by)


def _bring_back(item: Item, entry: VersionItem, by: User | None) -> None:
    actions.reuse_wording(item, entry.revision, seen=item.version, by=by)
    actions.restore_item(item, seen=item.version, by=by)
    actions.weigh_item(
        item, importance=Importance(entry.importance), weight=entry.weight, seen=item.version, by=by
    )


def _put_in_order(
    bank: Bank, items: dict[int, Item], entries: dict[int, VersionItem], by: User | None
) -> None:
    topics = {item.topic_id: item.topic for item in items.values()}
    for topic_id, topic in topics.items():
        held = [pk for pk in entries if items[pk].topic_id == topic_id]
        order = sorted(held, key=lambda pk: (entries[pk].position, pk))
        if order != sorted(held, key=lambda pk: (items[pk].position, pk)):
            actions.reorder_items(bank, topic, order=order, by=by)
