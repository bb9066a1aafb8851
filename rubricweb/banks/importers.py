"""Import bank files; items that only a graded file names go to the bank `imported`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.formats.banks import bank_files, read_bank
from grading.formats.banks.importance import Weighed, weighed
from grading.formats.banks.records import BankItem, BankLine, Dialect
from grading.types import Importance, ItemKind, facet_of
from rubricweb.accounts.models import User
from rubricweb.banks.actions import KEY_CHARS
from rubricweb.banks.convert import UnmodelledFields
from rubricweb.banks.models import (
    DIRECT_UID,
    LEAST_WEIGHT,
    MOST_WEIGHT,
    AnswerKey,
    Bank,
    Item,
    ItemChange,
    ItemRevision,
)
from rubricweb.corpus.import_base import FilePosition, Tally, TopicImporter, fitting
from rubricweb.corpus.models import Collection, Topic

IMPORTED_BANK = "imported"
"""Holds items that a graded file knows by id only, until a bank file brings their texts."""
UID_LIMIT = 400
NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """An item of a file."""

    topic: Topic
    uid: str
    kind: ItemKind
    facet_id: str
    text: str
    at: FilePosition
    answers: tuple[str, ...] = ()
    """Accepted answers, if the file has an answer key."""
    weight: Weighed | None = None
    """None if the file does not say."""
    foreign: dict[str, Any] | None = None
    """The item as the file has it, if it has fields that we do not model."""
    is_secret: bool = False


class BankImporter:
    """The collection's wordings and items, read once and kept current during the import."""

    def __init__(
        self, collection: Collection, topics: TopicImporter, tally: Tally, *, by: User | None
    ) -> None:
        self._collection, self._topics, self._tally, self._by = collection, topics, tally, by
        self._banks: dict[str, Bank] = {bank.name: bank for bank in collection.banks.all()}
        revisions = ItemRevision.objects.filter(topic__collection=collection)
        self._revisions = {(revision.topic_id, revision.uid): revision for revision in revisions}
        self._items: dict[int, Item] = {}
        self._by_wording: dict[int, set[int]] = defaultdict(set)  # revision -> items that ever had it
        self._end: dict[tuple[int, int], int] = {}  # (bank, topic) -> the next position
        self._seen: set[int] = set()
        self._file_of: dict[str, Path] = {}
        self.keyed: set[int] = set()
        """Wordings whose answer key this import changed."""
        for item in Item.objects.filter(bank__collection=collection).select_related("revision"):
            self._hold(item)
        changes = ItemChange.objects.filter(item__bank__collection=collection)
        for revision_id, item_id in changes.values_list("revision_id", "item_id"):
            self._by_wording[revision_id].add(item_id)

    def read_bank(self, path: Path, *, bank_name: str) -> None:
        """Add the items of a file of any dialect, or of a folder of files, to the bank of that name.

        Those that it has or ever had stay as they are.
        """
        for file in bank_files(path):
            dialect, lines = read_bank(file)
            if dialect.file_name:
                self._refuse_second_file(file, lines)
            self.add_lines(file, dialect, lines, bank_name=bank_name)

    def _refuse_second_file(self, file: Path, lines: list[BankLine]) -> None:
        """Raise BadFormat where another file of this import has a topic, of which a file has all."""
        for line in lines:
            first = self._file_of.setdefault(line.query_id, file)
            if first != file:
                problem = f"topic {line.query_id} is in {first.name}, too, expected one file a topic"
                raise FilePosition(file, line.line).error(problem)

    def add_lines(self, path: Path, dialect: Dialect, lines: list[BankLine], *, bank_name: str) -> Bank:
        """Add the items of these lines of the file to the bank of that name, and return it."""
        bank = self._bank(bank_name)
        foreign = UnmodelledFields(path, dialect, self._tally)
        items = [item for line in lines for item in self._asked_of(line, path)]
        revisions = self._wordings(items)
        self._add_keys(items, revisions)
        fresh: dict[tuple[int, ItemKind], Item] = {}
        for item, revision in zip(items, revisions, strict=True):
            if (revision.pk, item.kind) in fresh:
                continue
            if present := self._in_bank(bank, revision, item.kind):
                self._count(revision, is_changed=foreign.add_to(present, item.foreign, item.weight))
            elif moving := self._named_elsewhere(bank, revision):
                foreign.set_on(moving, item.foreign)
                self._move(moving, bank, item)
            else:
                fresh[revision.pk, item.kind] = self._new_item(bank, revision, item)
                foreign.set_on(fresh[revision.pk, item.kind], item.foreign)
        self._make(fresh.values())
        self._tally.of("banks").changed += foreign.save(bank, lines, self._topics.by_query_id) and not fresh
        return bank

    def graded_wordings(
        self, topic: Topic, kinds: Mapping[str, ItemKind], *, at: FilePosition
    ) -> dict[str, int]:
        """Return the keys of the wordings that a graded file names by id; unknown ids go to `imported`."""
        items = [self._graded(topic, uid, kind, at) for uid, kind in kinds.items()]
        revisions = self._wordings(items)
        fresh = []
        for item, revision in zip(items, revisions, strict=True):
            if item.kind is ItemKind.DIRECT:
                continue
            if self._by_wording.get(revision.pk):
                self._count(revision, is_changed=False)
            else:
                fresh.append(self._new_item(self._bank(IMPORTED_BANK), revision, item))
        self._make(fresh)
        return {revision.uid: revision.pk for revision in revisions}

    def finish(self) -> None:
        """Update the direct items to the topics' queries; delete the bank `imported` if it is empty."""
        for topic in self._topics.by_query_id.values():
            direct = self._revisions.get((topic.pk, DIRECT_UID))
            if direct is not None and direct.text != topic.text:
                self._supply(direct, topic.text)
        imported = self._banks.get(IMPORTED_BANK)
        if imported is not None and not imported.items.exists():
            imported.delete()
            self._tally.of("banks").changed += 1

    def _asked_of(self, line: BankLine, path: Path) -> Iterable[ImportedItem]:
        at = FilePosition(path, line.line)
        topic = self._topics.require(line.query_id, text=line.query_text, at=at)
        if line.facet_id:
            self._topics.require_subtopic(topic, line.facet_id, text=line.facet_text, at=at)
        for item in line.items:
            if item.facet_id and item.facet_id != line.facet_id:
                self._topics.require_subtopic(topic, item.facet_id, text=item.facet_text, at=at)
            yield self._imported_item(topic, item, at)

    def _imported_item(self, topic: Topic, item: BankItem, at: FilePosition) -> ImportedItem:
        answers = item.gold_answers if item.kind is ItemKind.QUESTION else ()
        weight = weighed(item.importance, item.weight) if item.importance or item.weight is not None else None
        if weight and not LEAST_WEIGHT <= weight.weight <= MOST_WEIGHT:
            raise at.error(
                f"the weight of item {item.item_id} is {weight.weight:g}, "
                f"expected {LEAST_WEIGHT} to {MOST_WEIGHT}"
            )
        text = item.text.strip()
        return ImportedItem(
            topic,
            item.item_id,
            item.kind,
            item.facet_id,
            text,
            at,
            answers,
            weight,
            item.foreign,
            item.is_secret,
        )

    def _graded(self, topic: Topic, uid: str, kind: ItemKind, at: FilePosition) -> ImportedItem:
        facet_id = facet_of(topic.query_id, uid)
        if facet_id and kind is not ItemKind.DIRECT:
            self._topics.require_subtopic(topic, facet_id, at=at)
        return ImportedItem(topic, uid, kind, facet_id, topic.text if kind is ItemKind.DIRECT else "", at)

    def _wordings(self, items: list[ImportedItem]) -> list[ItemRevision]:
        """Return a revision for each item, creating new ones and supplying texts that were unknown."""
        fresh: dict[tuple[int, str], ItemRevision] = {}
        for item in items:
            key = item.topic.pk, item.uid
            revision = self._revisions.get(key) or fresh.get(key)
            if revision is None:
                fitting(item.uid, what="the item id", at=item.at, limit=UID_LIMIT)
                fresh[key] = ItemRevision(
                    topic=item.topic, uid=item.uid, text=item.text, is_secret=item.is_secret
                )
            elif item.text and not revision.text:
                self._supply(revision, item.text)
            elif item.text and item.kind is not ItemKind.DIRECT and item.text != revision.text.strip():
                raise item.at.error(
                    f"item {item.uid} is {item.text!r} here and {revision.text!r} before, "
                    "expected one text an id"
                )
        for revision in ItemRevision.objects.bulk_create(fresh.values()):
            self._revisions[revision.topic_id, revision.uid] = revision
        self._tally.of("revisions").new += len(fresh)
        return [self._revisions[item.topic.pk, item.uid] for item in items]

    def _add_keys(self, items: list[ImportedItem], revisions: list[ItemRevision]) -> None:
        """Add new accepted answers; a key that people have changed stays as it is."""
        named = {
            (
                revision.pk,
                fitting(answer, what=f"item {item.uid}: an accepted answer", at=item.at, limit=KEY_CHARS),
            ): None
            for item, revision in zip(items, revisions, strict=True)
            for text in item.answers
            if (answer := " ".join(text.split()))
        }
        if not named:
            return
        stored = AnswerKey.objects.filter(revision__topic__collection=self._collection)
        present = set(stored.values_list("revision_id", "text"))
        changes = ItemChange.objects.filter(item__bank__collection=self._collection)
        edited = set(changes.filter(verb=ItemChange.Verb.KEYED).values_list("revision_id", flat=True))
        fresh = [key for key in named if key not in present and key[0] not in edited]
        AnswerKey.objects.bulk_create(AnswerKey(revision_id=pk, text=text, by=self._by) for pk, text in fresh)
        self.keyed.update(pk for pk, _ in fresh)
        counts = self._tally.of("answer_keys")
        counts.new += len(fresh)
        counts.unchanged += len(named) - len(fresh)

    def _supply(self, revision: ItemRevision, text: str) -> None:
        revision.text = text
        if revision.pk is not None:
            revision.save(update_fields=["text"])
            self._tally.of("revisions").changed += 1

    def _in_bank(self, bank: Bank, revision: ItemRevision, kind: ItemKind) -> Item | None:
        """Return the bank's item that has or had this wording; an active one, if there are several."""
        items = (self._items[pk] for pk in self._by_wording.get(revision.pk, ()))
        held = [item for item in items if item.bank_id == bank.pk and item.kind == kind]
        return min(held, key=lambda item: (item.is_retired, item.pk), default=None)

    def _named_elsewhere(self, bank: Bank, revision: ItemRevision) -> Item | None:
        """Return the item of `imported` that waits for this text."""
        imported = self._banks.get(IMPORTED_BANK)
        if imported is None or imported.pk == bank.pk:
            return None
        items = (self._items[pk] for pk in self._by_wording.get(revision.pk, ()))
        return next((i for i in items if i.bank_id == imported.pk and i.revision_id == revision.pk), None)

    def _move(self, item: Item, bank: Bank, imported: ImportedItem) -> None:
        """Move the item to the file's bank, with the kind and subtopic that the graded file did not have."""
        item.bank, item.kind, item.facet_id = bank, imported.kind.value, imported.facet_id
        item.position, item.version = self._next_position(bank, imported.topic), item.version + 1
        item.importance, item.weight = imported.weight or weighed(None)
        fields = ["bank", "kind", "facet_id", "position", "version", "importance", "weight", "foreign"]
        item.save(update_fields=fields)
        self._remember([item])
        self._seen.add(item.revision_id)
        self._tally.of("items").changed += 1

    def _new_item(self, bank: Bank, revision: ItemRevision, imported: ImportedItem) -> Item:
        self._seen.add(revision.pk)
        importance, weight = imported.weight or weighed(None)
        return Item(
            bank=bank,
            topic=imported.topic,
            kind=imported.kind.value,
            facet_id=imported.facet_id,
            revision=revision,
            position=self._next_position(bank, imported.topic),
            importance=importance.value,
            weight=weight,
        )

    def _make(self, fresh: Iterable[Item]) -> None:
        made = Item.objects.bulk_create(fresh)
        for item in made:
            self._hold(item)
        self._remember(made)
        self._tally.of("items").new += len(made)

    def _remember(self, items: Iterable[Item]) -> None:
        verb = ItemChange.Verb.IMPORTED
        ItemChange.objects.bulk_create(
            ItemChange(
                item=item,
                number=item.version,
                verb=verb,
                revision_id=item.revision_id,
                detail=_weight_words(item),
                by=self._by,
            )
            for item in items
        )

    def _hold(self, item: Item) -> None:
        self._items[item.pk] = item
        self._by_wording[item.revision_id].add(item.pk)
        place = item.bank_id, item.topic_id
        self._end[place] = max(self._end.get(place, 0), item.position + 1)

    def _next_position(self, bank: Bank, topic: Topic) -> int:
        position = self._end.get((bank.pk, topic.pk), 0)
        self._end[bank.pk, topic.pk] = position + 1
        return position

    def _bank(self, name: str) -> Bank:
        if name not in self._banks:
            self._banks[name] = self._collection.banks.create(name=name)
            self._tally.of("banks").new += 1
        return self._banks[name]

    def _count(self, revision: ItemRevision, *, is_changed: bool) -> None:
        counts, is_first = self._tally.of("items"), revision.pk not in self._seen
        counts.changed += is_first and is_changed
        counts.unchanged += is_first and not is_changed
        self._seen.add(revision.pk)


def _weight_words(item: Item) -> str:
    """Return what the history says of an importance that came with the item; empty for that of most items."""
    is_plain = (item.importance, item.weight) == weighed(None)
    return "" if is_plain else f"{Importance(item.importance)}, weight {item.weight:g}"
