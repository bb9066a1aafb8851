"""Workbench question and nugget banks: one topic, or one subtopic of a topic, a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.ids import md5_of_id, text_md5
from grading.formats.jsonl import records
from grading.formats.reading import write_lines
from grading.types import ItemKind

_SHAPE = "{query_id, query_text, items: [{question_id, question_text} or {nugget_id, nugget_text}, ...]}"
_SUBTOPIC_MARK = " / "

_Identifier = str | int


class BankItem(msgspec.Struct, frozen=True):
    """`gold_answers` is empty where the bank has no answer key."""

    item_id: str
    kind: ItemKind
    text: str
    facet_id: str = ""
    gold_answers: tuple[str, ...] = ()


class BankLine(msgspec.Struct, frozen=True):
    """One line of a bank. `facet_id` and `facet_text` are empty for a whole topic; a topic may take several
    lines.
    """

    query_id: str
    query_text: str
    facet_id: str
    facet_text: str
    test_collection: str
    line: int
    items: list[BankItem]


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


_DECODER = msgspec.json.Decoder(_LineJson)


def read_bank(path: Path) -> Iterator[BankLine]:
    """Yield the lines of a bank. An item listed twice in a line counts once.

    Raises `BadFormat` for an item of another topic or subtopic than its line, an id whose md5 is not the md5
    of its stripped text, and an id with two texts. CAR banks write a subtopic as `query_text` "Title /
    Subtopic" and have no `facet_text`: it is split there.
    """
    return records(path, _DECODER, _line, shape=_SHAPE)


def write_bank(path: Path, bank: Iterable[BankLine]) -> None:
    """Write what `read_bank` reads; reading a written file and writing it again gives the same bytes."""
    write_lines(path, (msgspec.json.encode(_line_json(line)) for line in bank))


def _line(raw: _LineJson, number: int) -> BankLine:
    query_id, query_text = str(raw.query_id), raw.query_text
    facet_id, facet_text = _optional(raw.facet_id), raw.facet_text or ""
    if not query_id.strip():
        raise BadFormat("query_id is empty, expected an id")
    if facet_id and not facet_text and _SUBTOPIC_MARK in query_text:
        query_text, _, facet_text = query_text.rpartition(_SUBTOPIC_MARK)
    items: dict[str, BankItem] = {}
    for position, raw_item in enumerate(raw.items):
        item = _item(raw_item, query_id=query_id, facet_id=facet_id, position=position)
        if items.setdefault(item.item_id, item).text.strip() != item.text.strip():
            raise BadFormat(f"item {item.item_id} has two texts, expected one text an id")
    test_collection = raw.test_collection or ""
    return BankLine(query_id, query_text, facet_id, facet_text, test_collection, number, list(items.values()))


def _item(raw: _ItemJson, *, query_id: str, facet_id: str, position: int) -> BankItem:
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
    return BankItem(item_id, kind, text, own_facet, gold_answers)


def _wording(raw: _ItemJson, position: int) -> tuple[ItemKind, str, str]:
    """(kind, id, text) of an item; nuggets are known by `nugget_id`."""
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


def _line_json(line: BankLine) -> _LineJson:
    return _LineJson(
        query_id=line.query_id,
        query_text=line.query_text,
        items=[_item_json(item, line.query_id) for item in line.items],
        facet_id=line.facet_id or None,
        facet_text=line.facet_text or None,
        test_collection=line.test_collection,
    )


def _item_json(item: BankItem, query_id: str) -> _ItemJson:
    raw = _ItemJson(
        query_id=query_id, facet_id=item.facet_id or None, gold_answers=list(item.gold_answers) or None
    )
    if item.kind is ItemKind.NUGGET:
        raw.nugget_id, raw.nugget_text = item.item_id, item.text
    else:
        raw.question_id, raw.question_text = item.item_id, item.text
    return raw


def _is_bank(sample: Sample) -> bool:
    return "query_id" in sample.first_object and isinstance(sample.first_object.get("items"), list)


WORKBENCH_BANK = Format(
    "workbench-bank",
    "Workbench bank",
    Content.BANK,
    _is_bank,
    read_bank,
    write_bank,
    is_lossless=False,
    source="EXAM++ (arXiv 2402.00309)",
)
