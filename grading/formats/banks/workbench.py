"""Banks of the RUBRIC Workbench: the questions or nuggets of a topic, or of one of its subtopics, a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    RecordPlace,
    kept_answers,
    ours,
)
from grading.formats.json_lines import records
from grading.formats.reading import write_lines
from grading.types import ItemKind, md5_of_id, text_md5

_SHAPE = "{query_id, query_text, items: [{question_id, question_text} or {nugget_id, nugget_text}, ...]}"
_SUBTOPIC_MARK = " / "

_Identifier = str | int


class _ItemJson(msgspec.Struct, omit_defaults=True):
    query_id: _Identifier | None = None
    facet_id: _Identifier | None = None
    question_id: _Identifier | None = None
    question_text: str | None = None
    nugget_id: _Identifier | None = None
    nugget_text: str | None = None
    gold_answers: list[str | int | float | bool] | None = None


class _LineJson(msgspec.Struct, omit_defaults=True):
    query_id: _Identifier
    query_text: str
    items: list[_ItemJson]
    facet_id: _Identifier | None = None
    facet_text: str | None = None
    test_collection: str | None = None


_DECODER = msgspec.json.Decoder()
_ITEM_KEYS, _LINE_KEYS = (kind.__struct_fields__ for kind in (_ItemJson, _LineJson))


def read_bank(path: Path) -> Iterator[BankLine]:
    """Yield the lines of a bank. An item listed twice in a line, all of it equal, counts once.

    Raises `BadFormat` for an item of another topic or subtopic than its line, an id whose md5 is not the md5
    of its stripped text, and an id with two texts. CAR banks write a subtopic as `query_text` "Title /
    Subtopic" and have no `facet_text`: it is split there.
    """
    return records(
        path, _DECODER, lambda raw, number: read(raw, RecordPlace(number, path.name)), shape=_SHAPE
    )


def write_bank(path: Path, bank: Iterable[BankLine]) -> None:
    """Write what `read_bank` reads; reading a written file and writing it again gives the same bytes."""
    write_lines(path, (msgspec.json.encode(write(line)) for line in bank))


def recognises(records: Sequence[Json]) -> bool:
    """Return whether the records are a bank: a number of items is that of a leaderboard's JSON."""
    return "items" in records[0] and not isinstance(records[0]["items"], int)


def read(raw: Json, source: RecordPlace) -> BankLine:
    try:
        typed = msgspec.convert(raw, _LineJson)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        raise BadFormat(f"{problem} at {path.strip('`') or '$'}; a line is {_SHAPE}") from error
    query_id, query_text = str(typed.query_id), typed.query_text
    facet_id, facet_text = _optional(typed.facet_id), typed.facet_text or ""
    if not query_id.strip():
        raise BadFormat("query_id is empty, expected an id")
    if facet_id and not facet_text and _SUBTOPIC_MARK in query_text:
        query_text, _, facet_text = query_text.rpartition(_SUBTOPIC_MARK)
    items: dict[str, BankItem] = {}
    for position, typed_item in enumerate(typed.items):
        foreign = raw["items"][position]
        item = _item(typed_item, foreign, (query_id, facet_id), position)
        first = items.setdefault(item.item_id, item)
        if first.text.strip() != item.text.strip():
            raise BadFormat(f"item {item.item_id} has two texts, expected one text an id")
        if (first.kind, first.foreign, first) != (item.kind, item.foreign, item):
            raise BadFormat(f"item {item.item_id} is listed twice with other contents, expected it once")
    return BankLine(
        query_id,
        source.line,
        list(items.values()),
        query_text=query_text,
        facet_id=facet_id,
        facet_text=facet_text,
        test_collection=typed.test_collection or "",
        parts=head_parts(raw),
        foreign=raw | {"items": []},
    )


def _item(raw: _ItemJson, foreign: Json, place: tuple[str, str], position: int) -> BankItem:
    query_id, facet_id = place
    kind, item_id, text = _wording(raw, position)
    own_query, own_facet = _optional(raw.query_id) or query_id, _optional(raw.facet_id) or facet_id
    if own_query != query_id:
        raise BadFormat(f"item {item_id} has query_id {own_query}, expected that of its line, {query_id}")
    if facet_id and own_facet != facet_id:
        raise BadFormat(f"item {item_id} has facet_id {own_facet}, expected that of its line, {facet_id}")
    stated, own = md5_of_id(item_id), text_md5(text)
    if stated not in (None, own):
        raise BadFormat(f"item {item_id} does not carry the md5 of its text, expected it to end with {own}")
    gold_answers = tuple(_gold(answer) for answer in raw.gold_answers or [])
    item = BankItem(item_id, kind, text, own_facet, gold_answers, parts=parts(foreign))
    return item if _new_item(item, query_id) == foreign else replace(item, foreign=foreign)


def _wording(raw: _ItemJson, position: int) -> tuple[ItemKind, str, str]:
    """Return (kind, id, text) of an item; nuggets are known by `nugget_id`."""
    is_nugget = raw.nugget_id is not None
    kind, item_id, text = (
        (ItemKind.NUGGET, raw.nugget_id, raw.nugget_text)
        if is_nugget
        else (ItemKind.QUESTION, raw.question_id, raw.question_text)
    )
    if item_id is None or not str(item_id).strip():
        raise BadFormat(f"item {position + 1} of the line has no id, expected question_id or nugget_id")
    if text is None or not text.strip():
        raise BadFormat(f"item {item_id} has no text, expected {kind}_text")
    return kind, str(item_id), text


def _gold(answer: str | int | float | bool) -> str:
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


def _optional(value: _Identifier | None) -> str:
    return "" if value is None else str(value)


def parts(raw: Json) -> Parts:
    return ours("workbench", raw, without=_ITEM_KEYS)


def head_parts(raw: Json) -> Parts:
    return ours("workbench", raw, without=_LINE_KEYS)


def write(line: BankLine) -> Json:
    head = _new_head(line) if line.foreign is None else line.foreign
    return head | {"items": [_written(item, line.query_id) for item in line.items]}


def _new_head(line: BankLine) -> Json:
    optional = {
        "facet_id": line.facet_id,
        "facet_text": line.facet_text,
        "test_collection": line.test_collection,
    }
    stated = {key: value for key, value in optional.items() if value}
    return {"query_id": line.query_id, "query_text": line.query_text, "items": [], **stated}


def _new_item(item: BankItem, query_id: str) -> Json:
    raw: Json = {"query_id": query_id} | ({"facet_id": item.facet_id} if item.facet_id else {})
    raw |= {f"{item.kind}_id": item.item_id, f"{item.kind}_text": item.text}
    return raw | ({"gold_answers": list(item.gold_answers)} if item.gold_answers else {})


def _written(item: BankItem, query_id: str) -> Json:
    """Return what the file had, with the words and accepted answers that the item has now."""
    if item.foreign is None:
        return _new_item(item, query_id)
    raw, kind = dict(item.foreign), item.kind
    if raw[f"{kind}_text"].strip() != item.text.strip():
        raw |= {f"{kind}_id": item.item_id, f"{kind}_text": item.text}
    before: list[Any] = raw.get("gold_answers") or []
    answers = kept_answers(before, item.gold_answers, text=_gold, made=str)
    if answers != before and kind is ItemKind.QUESTION:
        raw["gold_answers"] = answers
    return raw


DIALECT = Dialect(
    "workbench",
    "RUBRIC Workbench",
    recognises,
    read,
    write,
    "EXAM++ (arXiv 2402.00309)",
    parts,
    head_parts,
    repeats_topics=True,
    keys=("query_id", "query_text", "items"),
)
