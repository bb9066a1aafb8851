"""ResearchRubrics: criteria with weights, negative for what a good answer avoids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    Source,
    emptied,
    identifier,
    objects,
    ours,
    refuse_twins,
    text_of,
)
from grading.types import ItemKind, item_id

_SHAPE = "{qid, rubrics: [{criterion, weight, axis}, ...]}"


def recognises(records: Sequence[Json]) -> bool:
    return "rubrics" in records[0]


def read(raw: Json, source: Source) -> BankLine:
    query_id = identifier(raw, "qid", "query_id")
    if not query_id:
        raise BadFormat(f"no qid, expected {_SHAPE}")
    if raw.get("rubrics") is None:
        raise BadFormat(f"no rubrics, expected {_SHAPE}")
    entries = objects(raw["rubrics"], "rubrics")
    items = [_item(entry, query_id, f"rubrics[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, "rubrics")
    return BankLine(query_id, source.line, items, parts=head_parts(raw), foreign=emptied(raw, "rubrics"))


def _item(raw: Json, query_id: str, place: str) -> BankItem:
    text = text_of(raw, "criterion", place)
    weighed = importance.of_weight(raw.get("weight"), f"{place}.weight")
    return BankItem(
        item_id(query_id, text),
        ItemKind.NUGGET,
        text,
        importance=weighed.importance,
        weight=weighed.weight,
        parts=parts(raw),
        foreign=raw,
    )


def parts(raw: Json) -> Parts:
    return ours("researchrubrics", raw, without=("criterion", "weight"))


def head_parts(raw: Json) -> Parts:
    return ours("researchrubrics", raw, without=("qid", "query_id", "rubrics"))


def write(line: BankLine) -> Json:
    head = line.foreign or {"qid": line.query_id}
    return head | {"rubrics": [_written(item) for item in line.items if item.kind is ItemKind.NUGGET]}


def _written(item: BankItem) -> Json:
    now = importance.weighed(item.importance, item.weight)
    raw: dict[str, Any] = dict(item.foreign or {"criterion": item.text, "weight": now.weight})
    raw["criterion"] = raw["criterion"] if raw["criterion"].strip() == item.text.strip() else item.text
    return raw if raw["weight"] == now.weight else raw | {"weight": now.weight}


DIALECT = Dialect(
    "researchrubrics",
    "ResearchRubrics",
    recognises,
    read,
    write,
    "TREC RAG 2026",
    parts,
    head_parts,
    keys=("qid", "rubrics"),
)
