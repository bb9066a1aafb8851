"""Nuggets of nuggetizer, and the development nuggets of TREC RAG, which have the same form.

Nuggetizer creates nuggets (AutoJudge's bank v4) and assigns them to answers. `assignment: failed`, which it
writes where no reply could be read, is kept: it is neither support nor its absence. AutoJudge refuses the
value, so the dialect v4 leaves the key out.

Assessors edited the development nuggets of TREC RAG 2025 and 2026, each of a sub-narrative. Such a part
is a subtopic here; its id is made from its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    RecordPlace,
    brief,
    emptied,
    identifier,
    objects,
    optional_text,
    ours,
    refuse_twins,
    slug,
    text_of,
)
from grading.types import Importance, ItemKind, item_id

FAILED_WORDS = ("failed", "fail")
"""Where no reply could be read; the second is of old files."""
ASSIGNMENTS = ("support", "partial_support", "not_support", *FAILED_WORDS)
ANSWER_KEYS = ("answer_text", "candidate_text")
"""What assignments have and created nuggets do not: the answer, or the passage, that they are about."""
_SHAPE = "{query, qid, nuggets: [{text, importance, ...}, ...]}"


_NARRATIVE = "mapped_sub_narrative"
_OWN = (_NARRATIVE, "source")


def recognises(records: Sequence[Json]) -> bool:
    return "nuggets" in records[0]


def recognises_assignments(records: Sequence[Json]) -> bool:
    return recognises(records) and any(key in records[0] for key in ANSWER_KEYS)


def read(raw: Json, source: RecordPlace) -> BankLine:
    items = _items(raw)
    return _line(raw, source, items, emptied(raw, "nuggets"))


def read_assignments(raw: Json, source: RecordPlace) -> BankLine:
    """Read one answer's assignments as a line.

    Assignments are of answers, so the line keeps its nuggets and the items have no foreign part.
    """
    items = [
        BankItem(
            item.item_id,
            item.kind,
            item.text,
            importance=item.importance,
            parts=unknown_importance(item.foreign),
        )
        for item in _items(raw)
    ]
    return _line(raw, source, items, raw)


def query_id_of(raw: Json) -> str:
    query = raw.get("query")
    query_id = identifier(raw, "qid", "query_id") or identifier(
        query if isinstance(query, dict) else {}, "qid"
    )
    if not query_id:
        raise BadFormat(f"no qid, expected {_SHAPE}")
    return query_id


def _line(raw: Json, source: RecordPlace, items: list[BankItem], foreign: Json) -> BankLine:
    query = raw.get("query")
    text = query.get("text") if isinstance(query, dict) else query or optional_text(raw, "text")
    if text is not None and not isinstance(text, str):
        raise BadFormat(f"query is {brief(query)}, expected text")
    return BankLine(
        query_id_of(raw), source.line, items, query_text=text or "", parts=head_parts(raw), foreign=foreign
    )


def _items(raw: Json) -> list[BankItem]:
    if raw.get("nuggets") is None:
        raise BadFormat(f"no nuggets, expected {_SHAPE}")
    query_id = query_id_of(raw)
    entries = objects(raw["nuggets"], "nuggets")
    items = [_item(entry, query_id, f"nuggets[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, "nuggets")
    return items


def _item(raw: Json, query_id: str, place: str) -> BankItem:
    text = text_of(raw, "text", place)
    if raw.get("assignment") not in (None, *ASSIGNMENTS):
        expected = ", ".join(ASSIGNMENTS[:-1])
        raise BadFormat(f"{place}.assignment is {brief(raw['assignment'])}, expected {expected}")
    return BankItem(
        item_id(query_id, text),
        ItemKind.NUGGET,
        text,
        importance=importance.of_token(raw.get("importance")),
        parts=parts(raw),
        foreign=raw,
    )


def parts(raw: Json) -> Parts:
    return ours("nuggetizer", raw, without=("text", "importance")) | unknown_importance(raw)


def unknown_importance(raw: Json | None) -> Json:
    token = (raw or {}).get("importance")
    return {} if importance.is_known(token) else {"importance": token}


def head_parts(raw: Json) -> Parts:
    return ours("nuggetizer", raw, without=("qid", "query", "nuggets"))


def write(line: BankLine) -> Json:
    head = line.foreign or {"query": line.query_text, "qid": line.query_id}
    return head | {"nuggets": [_written(item) for item in line.items if is_sayable(item)]}


def is_sayable(item: BankItem) -> bool:
    """Return whether it is a nugget, and not one to avoid, for which these files have no word."""
    now = importance.weighed(item.importance, item.weight).importance
    before = importance.of_token((item.foreign or {}).get("importance"))
    return item.kind is ItemKind.NUGGET and (now is not Importance.AVOID or before is now)


def write_v4(line: BankLine) -> Json:
    written = write(line)
    nuggets = [
        {key: value for key, value in nugget.items() if key != "assignment" or value not in FAILED_WORDS}
        for nugget in written["nuggets"]
    ]
    return written | {"nuggets": nuggets}


def write_assignments(line: BankLine) -> Json:
    """Return the nuggets that were assigned to this answer.

    Those that are retired or reworded are left out.
    """
    if line.foreign is None:
        raise BadFormat(f"topic {line.query_id} has no assigned answers, expected some from an import")
    texts = {item.text.strip(): item for item in line.items if item.kind is ItemKind.NUGGET}
    kept = [nugget for nugget in line.foreign["nuggets"] if nugget["text"].strip() in texts]
    return line.foreign | {"nuggets": [weighed(nugget, texts[nugget["text"].strip()]) for nugget in kept]}


def _written(item: BankItem) -> Json:
    raw: dict[str, Any] = dict(item.foreign if item.foreign is not None else _new_item(item))
    if raw["text"].strip() != item.text.strip():
        raw["text"] = item.text
        raw.pop("assignment", None)  # it was of the old words
    return weighed(raw, item)


def _new_item(item: BankItem) -> Json:
    token = item.parts.get("importance")
    return {"text": item.text, "importance": token or str(importance.weighed(item.importance).importance)}


def weighed(raw: Json, item: BankItem) -> Json:
    """Keep the file's word for the importance unless it has become another."""
    now = importance.weighed(item.importance, item.weight).importance
    before = importance.weighed(importance.of_token(raw.get("importance"))).importance
    return raw if before is now else raw | {"importance": str(now)}


DIALECT = Dialect(
    "nuggetizer",
    "nuggetizer create",
    recognises,
    read,
    write,
    "AutoNuggetizer (arXiv 2411.09607)",
    parts,
    head_parts,
    keys=("qid", "nuggets"),
)
V4 = Dialect(
    "v4",
    "Nugget bank v4 (nuggetizer, for AutoJudge)",
    recognises,
    read,
    write_v4,
    "TREC AutoJudge, autojudge-base 1.0.0",
    parts,
    head_parts,
    is_read=False,
    shares="nuggetizer",
)
ASSIGNMENTS_DIALECT = Dialect(
    "assign",
    "nuggetizer assign",
    recognises_assignments,
    read_assignments,
    write_assignments,
    "AutoNuggetizer (arXiv 2411.09607)",
    lambda raw: {},
    head_parts,
    repeats_topics=True,
)


def recognises_development(records: Sequence[Json]) -> bool:
    if not recognises(records) or "query" in records[0]:
        return False
    nuggets = [record.get("nuggets") for record in records]
    return any(
        isinstance(nugget, dict) and key in nugget
        for listed in nuggets
        if isinstance(listed, list)
        for nugget in listed
        for key in _OWN
    )


def read_development(raw: Json, source: RecordPlace) -> BankLine:
    line = read(raw, source)
    items = [_of_narrative(item, line.query_id, place) for place, item in enumerate(line.items)]
    return replace(line, items=items)


def _of_narrative(item: BankItem, query_id: str, place: int) -> BankItem:
    raw = item.foreign or {}
    narrative = raw.get(_NARRATIVE)
    if narrative is not None and not isinstance(narrative, str):
        raise BadFormat(f"nuggets[{place}].{_NARRATIVE} is {brief(narrative)}, expected text")
    facet_id = slug(narrative or "")
    return replace(
        item,
        item_id=item_id(query_id, item.text, facet_id),
        facet_id=facet_id,
        facet_text=(narrative or "").strip() if facet_id else "",
        parts=parts_development(raw),
    )


def parts_development(raw: Json) -> Parts:
    return ours("rag-development", raw, without=("text", "importance")) | unknown_importance(raw)


def write_development(line: BankLine) -> Json:
    head = line.foreign or {"qid": line.query_id}
    sayable = [item for item in line.items if is_sayable(item)]
    written = write(replace(line, items=sayable))
    return head | {
        "nuggets": [_with_narrative(*pair) for pair in zip(sayable, written["nuggets"], strict=True)]
    }


def _with_narrative(item: BankItem, raw: Json) -> Json:
    if item.foreign is not None or not item.facet_id:
        return raw
    return raw | {_NARRATIVE: item.facet_text or item.facet_id}


DEVELOPMENT = Dialect(
    "rag-development",
    "TREC RAG development nuggets",
    recognises_development,
    read_development,
    write_development,
    "TREC RAG 2025 and 2026",
    parts_development,
    head_parts,
)
