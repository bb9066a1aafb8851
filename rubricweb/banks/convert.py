"""Rows of a bank as the lines that writers of bank files take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grading.formats.banks import BY_NAME, BankItem, BankLine, Dialect, Loss
from grading.types import Importance, ItemKind
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Subtopic, Topic

Foreign = Mapping[str, Any]


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


def bank_lines(bank: Bank, dialect: Dialect) -> list[BankLine]:
    """The active items, by topic in the collection's order, for a writer of this dialect."""
    return [line for rows in _topics(bank) for line in _lines(rows, dialect)]


def without_text(bank: Bank) -> list[Loss]:
    """The items whose text nobody has supplied: no file can have them."""
    items = bank.items.active().filter(revision__text="").select_related("topic", "revision")
    return [
        Loss(item.topic.query_id, item.revision.uid, "the text of this id is not known") for item in items
    ]


def _topics(bank: Bank) -> Iterator[BankTopicRows]:
    items: dict[int, list[Item]] = defaultdict(list)
    rows = bank.items.active().exclude(revision__text="").select_related("revision")
    for item in rows.prefetch_related("revision__answer_keys"):
        items[item.topic_id].append(item)
    foreign = dict(bank.bank_topics.values_list("topic_id", "foreign"))
    facets: dict[int, dict[str, str]] = defaultdict(dict)
    subtopics = Subtopic.objects.filter(topic__collection=bank.collection_id)
    for topic_id, facet_id, text in subtopics.values_list("topic_id", "facet_id", "text"):
        facets[topic_id][facet_id] = text
    for topic in bank.collection.topics.all():
        if topic.pk in items or topic.pk in foreign:
            held = tuple(items[topic.pk])
            yield BankTopicRows(topic, held, foreign.get(topic.pk, {}), facets[topic.pk])


def _lines(rows: BankTopicRows, dialect: Dialect) -> Iterator[BankLine]:
    """One line a topic; but in the Workbench's one a subtopic, and one for each answer with assignments."""
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
    return BankLine(query_id, text, facet_id, facet_text, "", 1, items, _head_parts(rows.foreign), foreign)


def _head_parts(foreign: Foreign) -> Foreign:
    parts = [BY_NAME[name].head_parts(lines[0]) for name, lines in foreign.items() if lines]
    return _merged(parts)


def _by_subtopic(rows: BankTopicRows, items: list[BankItem], heads: list[Foreign]) -> Iterator[BankLine]:
    """An item goes to the line of its subtopic, or to that of the whole topic where the file had one."""
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
    )


def _merged(parts: list[Foreign]) -> Foreign:
    """Of several dialects together; `metadata` is joined key by key."""
    whole: dict[str, Any] = {}
    for said in parts:
        both = {key: value for key, value in said.items() if key in whole and isinstance(value, dict)}
        joined = {key: whole[key] | value for key, value in both.items() if isinstance(whole[key], dict)}
        whole |= {**said, **joined}
    return whole
