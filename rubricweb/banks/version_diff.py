"""Compare the texts of two versions of a bank, or of a version and the bank as it is now."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from rubricweb.banks.models import Bank, BankVersion, Item, VersionItem
from rubricweb.corpus.models import Topic

_WORD = re.compile(r"\S+\s*")


class Change(StrEnum):
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
    def change(self) -> Change:
        if self.before is None:
            return Change.ADDED
        if self.after is None:
            return Change.RETIRED
        return Change.REWEIGHED if self.before.revision_id == self.after.revision_id else Change.REWORDED

    @property
    def is_reweighed(self) -> bool:
        return bool(self.before and self.after and self.before.weighing != self.after.weighing)

    @property
    def pieces(self) -> list[tuple[Piece, str]]:
        """Both texts merged into one, word by word."""
        return word_diff(self.before.text if self.before else "", self.after.text if self.after else "")


@dataclass(frozen=True, slots=True)
class TopicDiff:
    topic: Topic
    items: tuple[ItemDiff, ...]


def difference(bank: Bank, before: BankVersion | None, after: BankVersion | None) -> list[TopicDiff]:
    """By topic, in the collection's order. None stands for the bank as it is now."""
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
    """By item id: the items of a version, or of the bank now."""
    if version is None:
        return {item.pk: _held(item) for item in bank.items.active().select_related("revision")}
    return {entry.item_id: _held(entry) for entry in version.entries.select_related("revision")}


def _held(row: Item | VersionItem) -> VersionedItem:
    return VersionedItem(row.revision_id, str(row.revision), row.importance, row.weight)


def word_diff(before: str, after: str) -> list[tuple[Piece, str]]:
    """Both texts as one, word by word.

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
            (kind, "".join(words)) for kind, words in ((Piece.GONE, old[a:b]), (Piece.NEW, new[c:d])) if words
        ]
    return pieces
