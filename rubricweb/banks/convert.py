"""Rows of a bank as the lines of bank files, and the fields of such files that we do not model.

Lines of assignment files are kept with the bank so that an export has them again. The grades of an author say
how far an answer supports each nugget; the kept line says all else: the order of the lines, the type of the
topic's id, blanks around texts, and keys that nobody knows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db.models import Prefetch, QuerySet

from grading.formats.banks import BY_NAME, OF_ANSWERS, Loss
from grading.formats.banks.importance import Weighed, is_known
from grading.formats.banks.records import BankItem, BankLine, Dialect
from grading.types import Importance, ItemKind
from rubricweb.banks.models import AnswerKey, Bank, BankTopic, BankVersion, Item, ItemRevision, VersionItem
from rubricweb.banks.secrecy import public
from rubricweb.corpus.import_base import Tally, some
from rubricweb.corpus.models import Subtopic, Topic

Foreign = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BankScope:
    """The part of a bank that a file has: by default its present public items."""

    bank: Bank
    version: BankVersion | None = None
    has_secrets: bool = False

    def items(self, **only: str) -> list[Item]:
        """Return the active items, or those of a version with the wording and weight that they have there.

        `only` are conditions that hold for both: of their wordings.
        """
        answer_keys = Prefetch("revision__answer_keys", AnswerKey.objects.all())  # one gate for all
        if self.version is None:
            present: QuerySet[Any] = self._allowed(self.bank.all_items.active()).filter(**only)
            return list(present.select_related("revision", "topic").prefetch_related(answer_keys))
        entries: QuerySet[Any] = self._allowed(self.version.all_entries).filter(**only)
        full = entries.select_related("item__topic", "revision").prefetch_related(answer_keys)
        return [_as_of(entry) for entry in full]

    def _allowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows if self.has_secrets else public(rows)

    def left_out(self) -> dict[str, int]:
        """Return, by query id, how many items are left out because they are secret."""
        if self.has_secrets:
            return {}
        rows: QuerySet[Any] = self.version.all_entries if self.version else self.bank.all_items.active()
        path = "topic" if self.version is None else "item__topic"
        secret = rows.filter(revision__is_secret=True).order_by(f"{path}__position")
        return dict(Counter(secret.values_list(f"{path}__query_id", flat=True)))


@dataclass(frozen=True, slots=True)
class BankTopicRows:
    """The rows of one topic of a bank."""

    topic: Topic
    items: tuple[Item, ...]
    """Active ones with text, in the bank's order."""
    foreign: Foreign
    """Lines by dialect, as `BankTopic` has them."""
    facets: Mapping[str, str]
    """The texts of the topic's subtopics."""


def bank_lines(scope: BankScope, dialect: Dialect) -> list[BankLine]:
    """Return the items, by topic in the collection's order, for a writer of this dialect."""
    return [line for rows in _topics(scope) for line in _lines(rows, dialect)]


def without_text(scope: BankScope) -> list[Loss]:
    """Return the items without text, which no file can have."""
    return [
        Loss(item.topic.query_id, item.revision.uid, "the text of this id is not known")
        for item in scope.items(revision__text="")
    ]


def secret_losses(scope: BankScope) -> list[Loss]:
    """Return how many items of each topic are left out because they are secret."""
    return [
        Loss(query_id, "", f"{count} secret item{'' if count == 1 else 's'} left out, with what quotes them")
        for query_id, count in scope.left_out().items()
    ]


def _as_of(entry: VersionItem) -> Item:
    """Return the item, not to be saved, as its version had it."""
    item: Item = entry.item
    item.revision, item.importance, item.weight = entry.revision, entry.importance, entry.weight
    return item


class _Quotes:
    """Tells what of a file's foreign parts quotes a secret item of its topic."""

    def __init__(self, scope: BankScope) -> None:
        self._by_topic: dict[int, list[str]] = defaultdict(list)
        rows = ItemRevision.including_secret.filter(
            is_secret=True, topic__collection=scope.bank.collection_id
        )
        for topic_id, uid, text in () if scope.has_secrets else rows.values_list("topic_id", "uid", "text"):
            texts = [_folded(text), _folded(uid.rpartition("/")[2])]
            self._by_topic[topic_id] += filter(None, texts)

    def without(self, foreign: Foreign | None, topic_id: int) -> dict[str, Any]:
        """Return the fields by dialect, without lines or items that quote a secret text."""
        secrets = self._by_topic.get(topic_id, [])
        kept: dict[str, Any] = {}
        for dialect, fields in (foreign or {}).items():
            if isinstance(fields, list):
                kept[dialect] = [line for line in fields if not _quotes(line, secrets)]
            elif not _quotes(fields, secrets):
                kept[dialect] = fields
        return kept


def _quotes(foreign: object, secrets: list[str]) -> bool:
    """Return whether the value quotes any of the texts. Without recursion: a file may have any depth."""
    left = [foreign]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            left += [*part.keys(), *part.values()]
        elif isinstance(part, list):
            left += part
        elif isinstance(part, str) and any(secret in _folded(part) for secret in secrets):
            return True
    return False


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _topics(scope: BankScope) -> Iterator[BankTopicRows]:
    bank, quotes = scope.bank, _Quotes(scope)
    items: dict[int, list[Item]] = defaultdict(list)
    for item in scope.items():
        if item.revision.text:
            item.foreign = quotes.without(item.foreign, item.topic_id)
            items[item.topic_id].append(item)
    foreign = {
        topic_id: quotes.without(fields, topic_id)
        for topic_id, fields in bank.bank_topics.values_list("topic_id", "foreign")
    }
    facets: dict[int, dict[str, str]] = defaultdict(dict)
    subtopics = Subtopic.objects.filter(topic__collection=bank.collection_id)
    for topic_id, facet_id, text in subtopics.values_list("topic_id", "facet_id", "text"):
        facets[topic_id][facet_id] = text
    for topic in bank.collection.topics.all():
        if topic.pk in items or topic.pk in foreign:
            held = tuple(items[topic.pk])
            yield BankTopicRows(topic, held, foreign.get(topic.pk, {}), facets[topic.pk])


def _lines(rows: BankTopicRows, dialect: Dialect) -> Iterator[BankLine]:
    """Yield one line a topic; in the Workbench's one a subtopic, and one for each answer with assignments."""
    heads = rows.foreign.get(dialect.foreign_name) or []
    if not heads and not rows.items:
        return
    items = [_item(item, rows, dialect) for item in rows.items]
    if dialect.name == "workbench":
        yield from _by_subtopic(rows, items, heads)
    elif dialect.repeats_topics:
        yield from (_line(rows, items, head) for head in heads)
    else:
        yield _line(rows, items, heads[0] if heads else None)


def _line(rows: BankTopicRows, items: list[BankItem], head: Foreign | None, facet_id: str = "") -> BankLine:
    query_id, text = rows.topic.query_id, rows.topic.text
    facet_text = rows.facets.get(facet_id, "")
    foreign = dict(head) if head is not None else None
    return BankLine(
        query_id,
        1,
        items,
        query_text=text,
        facet_id=facet_id,
        facet_text=facet_text,
        parts=_head_parts(rows.foreign),
        foreign=foreign,
    )


def _head_parts(foreign: Foreign) -> Foreign:
    dialects = {name: lines for name, lines in foreign.items() if lines and name != KEPT}
    parts = [BY_NAME[name].head_parts(lines[0]) for name, lines in dialects.items()]
    return _merged(parts)


def _by_subtopic(rows: BankTopicRows, items: list[BankItem], heads: list[Foreign]) -> Iterator[BankLine]:
    """Yield lines by subtopic; an item goes to the whole topic's line where the file had one."""
    placed: dict[str, Foreign | None] = {}
    for head in heads:
        placed.setdefault(str(head.get("facet_id") or ""), head)
    by_line: dict[str, list[BankItem]] = {facet_id: [] for facet_id in placed}
    for item in items:
        facet_id = item.facet_id if item.facet_id in placed or "" not in placed else ""
        by_line.setdefault(facet_id, []).append(item)
    for facet_id, held in by_line.items():
        yield _line(rows, held, placed.get(facet_id), facet_id)


def _item(item: Item, rows: BankTopicRows, dialect: Dialect) -> BankItem:
    foreign: Foreign = item.foreign or {}
    parts = _merged([BY_NAME[name].parts(raw) for name, raw in foreign.items()])
    return BankItem(
        item.revision.uid,
        ItemKind(item.kind),
        item.revision.text.strip(),
        item.facet_id,
        tuple(key.text for key in item.revision.answer_keys.all()),
        Importance(item.importance),
        item.weight,
        rows.facets.get(item.facet_id, ""),
        parts,
        foreign.get(dialect.foreign_name),
        item.is_secret,
    )


def _merged(parts: list[Foreign]) -> Foreign:
    """Return the fields of several dialects together; `metadata` is joined key by key."""
    whole: dict[str, Any] = {}
    for fields in parts:
        both = {key: value for key, value in fields.items() if key in whole and isinstance(value, dict)}
        joined = {key: whole[key] | value for key, value in both.items() if isinstance(whole[key], dict)}
        whole |= {**fields, **joined}
    return whole


class UnmodelledFields:
    """The foreign parts of one file. What the bank has already stays, with a note where the file differs."""

    def __init__(self, path: Path, dialect: Dialect, tally: Tally) -> None:
        self._file, self._dialect, self._tally = path.name, dialect, tally
        self._changed: list[Item] = []
        self._differing: list[str] = []
        self._weighed_otherwise: list[str] = []

    def set_on(self, item: Item, foreign: dict[str, Any] | None) -> None:
        """Set the fields of an item that is about to be saved."""
        if foreign is not None:
            item.foreign = {**(item.foreign or {}), self._dialect.foreign_name: foreign}

    def add_to(self, item: Item, foreign: dict[str, Any] | None, weight: Weighed | None) -> bool:
        """Return whether they were added to an item that the bank has.

        Its importance stays, since people may have chosen it.
        """
        if weight is not None and (item.importance, item.weight) != weight:
            self._weighed_otherwise.append(item.revision.uid)
        before = (item.foreign or {}).get(self._dialect.foreign_name)
        if foreign is not None and before is None:
            self.set_on(item, foreign)
            self._changed.append(item)
            return True
        if foreign not in (None, before):
            self._differing.append(item.revision.uid)
        return False

    def save(self, bank: Bank, lines: list[BankLine], topics: Mapping[str, Topic]) -> bool:
        """Save them, and return whether the file says of a topic what the bank did not have."""
        Item.objects.bulk_update(self._changed, ["foreign"])
        is_changed = self._save_heads(bank, lines, topics)
        self._note(lines)
        return is_changed

    def _save_heads(self, bank: Bank, lines: list[BankLine], topics: Mapping[str, Topic]) -> bool:
        held = {row.topic_id: row for row in bank.bank_topics.all()}
        stored, changed = set(held), dict[int, BankTopic]()
        for line in lines:
            topic = topics[line.query_id]
            row = held.setdefault(topic.pk, BankTopic(bank=bank, topic=topic))
            if line.foreign is not None and self._is_added(row, line):
                changed[topic.pk] = row
        BankTopic.objects.bulk_update([row for pk, row in changed.items() if pk in stored], ["foreign"])
        BankTopic.objects.bulk_create([row for pk, row in changed.items() if pk not in stored])
        return bool(changed)

    def _is_added(self, row: BankTopic, line: BankLine) -> bool:
        """Add the line to those of its topic, unless it is there, or another one where only one may be."""
        lines = row.foreign.setdefault(self._dialect.foreign_name, [])
        if line.foreign in lines:
            return False
        if lines and not self._dialect.repeats_topics:
            self._differing.append(f"topic {line.query_id}")
            return False
        lines.append(line.foreign)
        return True

    def _note(self, lines: list[BankLine]) -> None:
        items = [item for line in lines for item in line.items]
        unknown = [item for item in items if not is_known(item.parts.get("importance"))]
        nested = sum(len(item.parts.get("sub_nuggets") or []) for item in items)
        if self._differing:
            self._tally.note(
                f"{self._file} says more or other things than an earlier file, whose stay: "
                f"{some(dict.fromkeys(self._differing))}"
            )
        if self._weighed_otherwise:
            self._tally.note(
                f"{self._file} has another importance or weight than the rubric, whose stays: "
                f"{some(dict.fromkeys(self._weighed_otherwise))}"
            )
        if unknown:
            levels = some(dict.fromkeys(str(item.parts["importance"]) for item in unknown))
            self._tally.note(
                f"{self._file} has importances that are no known words and count as vital: {levels}"
            )
        if nested:
            self._tally.note(
                f"{self._file}: sub-nuggets that are kept with their items and not graded: {nested:,}"
            )
        for note in dict.fromkeys(note for line in lines for note in self._dialect.notes(line)):
            self._tally.note(f"{self._file}: {note}")
        if self._dialect.name in OF_ANSWERS:
            self._tally.note(
                f"{self._file}: assignments are kept with the rubric; they become grades where their author "
                "is named (--assignments FILE --by NAME)"
            )


KEPT = "assignments"
"""The name among the foreign parts of a bank's topic."""


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A line as its file had it."""

    by: str
    """Who assigned: people, or the name of a grader."""
    run_tag: str
    place: int
    """The line's place among all that the bank keeps, from 0."""
    line: dict[str, Any]
    """The JSON object; without the answer's text where that is the response's."""


def kept_lines(bank: Bank, by: str) -> list[tuple[int, KeptLine]]:
    """Return (topic, line) of what an author assigned, in the order of the files."""
    rows = bank.bank_topics.values_list("topic_id", "foreign")
    pairs = [(topic, KeptLine(**line)) for topic, foreign in rows for line in foreign.get(KEPT, ())]
    return sorted((pair for pair in pairs if pair[1].by == by), key=lambda pair: pair[1].place)


def keep_lines(bank: Bank, lines: Iterable[tuple[Topic, KeptLine]]) -> bool:
    """Keep these lines behind those of earlier files; an answer's own line takes its old one's place.

    Return whether anything is new.
    """
    rows = {row.topic_id: row for row in bank.bank_topics.all()}
    before = [line["place"] for row in rows.values() for line in row.foreign.get(KEPT, ())]
    following = max(before, default=-1) + 1
    changed: dict[int, BankTopic] = {}
    for topic, line in lines:
        row = rows.setdefault(topic.pk, BankTopic(bank=bank, topic=topic))
        of_topic: list[dict[str, Any]] = row.foreign.setdefault(KEPT, [])
        same = (n for n, old in enumerate(of_topic) if (old["by"], old["run_tag"]) == (line.by, line.run_tag))
        number = next(same, None)
        if number is None:
            of_topic.append(asdict(line) | {"place": following + line.place})
        elif of_topic[number]["line"] != line.line:
            of_topic[number] = of_topic[number] | {"line": line.line}
        else:
            continue
        changed[topic.pk] = row
    BankTopic.objects.bulk_update([row for row in changed.values() if row.pk], ["foreign"])
    BankTopic.objects.bulk_create([row for row in changed.values() if not row.pk])
    return bool(changed)
