"""The development nuggets of TREC RAG 2025 and 2026: nuggets that assessors edited, each of a sub-narrative.

A sub-narrative is a subtopic here; its id is made of its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grading.errors import BadFormat
from grading.formats.banks import nuggetizer
from grading.formats.banks.records import ours, shown, slug
from grading.formats.banks.types import BankItem, BankLine, Dialect, Json, Parts, Source
from grading.formats.ids import item_id

_NARRATIVE = "mapped_sub_narrative"
_OWN = (_NARRATIVE, "source")


def recognises(records: Sequence[Json]) -> bool:
    if not nuggetizer.recognises(records) or "query" in records[0]:
        return False
    nuggets = [record.get("nuggets") for record in records]
    return any(
        isinstance(nugget, dict) and key in nugget
        for listed in nuggets
        if isinstance(listed, list)
        for nugget in listed
        for key in _OWN
    )


def read(raw: Json, source: Source) -> BankLine:
    line = nuggetizer.read(raw, source)
    items = [_of_narrative(item, line.query_id, place) for place, item in enumerate(line.items)]
    return replace(line, items=items)


def _of_narrative(item: BankItem, query_id: str, place: int) -> BankItem:
    raw = item.foreign or {}
    narrative = raw.get(_NARRATIVE)
    if narrative is not None and not isinstance(narrative, str):
        raise BadFormat(f"nuggets[{place}].{_NARRATIVE} is {shown(narrative)}, expected text")
    facet_id = slug(narrative or "")
    return replace(
        item,
        item_id=item_id(query_id, item.text, facet_id),
        facet_id=facet_id,
        facet_text=(narrative or "").strip() if facet_id else "",
        parts=parts(raw),
    )


def parts(raw: Json) -> Parts:
    return ours("rag-development", raw, without=("text", "importance")) | nuggetizer.unknown_importance(raw)


def write(line: BankLine) -> Json:
    head = line.foreign or {"qid": line.query_id}
    sayable = [item for item in line.items if nuggetizer.is_sayable(item)]
    written = nuggetizer.write(replace(line, items=sayable))
    return head | {
        "nuggets": [_with_narrative(*pair) for pair in zip(sayable, written["nuggets"], strict=True)]
    }


def _with_narrative(item: BankItem, raw: Json) -> Json:
    if item.foreign is not None or not item.facet_id:
        return raw
    return raw | {_NARRATIVE: item.facet_text or item.facet_id}


DIALECT = Dialect(
    "rag-development",
    "TREC RAG development nuggets",
    recognises,
    read,
    write,
    "TREC RAG 2025 and 2026",
    parts,
    nuggetizer.head_parts,
)
