"""Nuggets of RAGTIME 2026, as submitted to its task 3.

Questions whose answers are all needed (AND) or any of them (OR). There are neither ids nor claims nor
sub-nuggets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import autojudge_v3 as v3, importance
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
    kept_answers,
    objects,
    refuse_twins,
    text_of,
    words_of,
)
from grading.types import Importance, ItemKind, item_id

AGGREGATORS = ("AND", "OR")
MOST_RUN_ID = 25
NUMBERS = {Importance.VITAL: 2, Importance.OKAY: 1}
_SHAPE = "{metadata: {team_id, topic_id, run_id}, nugget_bank: [{question, aggregator_type, answers}, ...]}"


def recognises(records: Sequence[Json]) -> bool:
    first = records[0]
    if first.get("format_version") == "RAGTIME26":
        return True
    metadata = first.get("metadata")
    is_named_otherwise = any(first.get(key) for key in ("query_id", "title_query", "claim_bank"))
    return (
        isinstance(first.get("nugget_bank"), list)
        and isinstance(metadata, dict)
        and "topic_id" in metadata
        and not is_named_otherwise
    )


def read(raw: Json, source: RecordPlace) -> BankLine:
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        raise BadFormat(f"metadata is {brief(metadata)}, expected {_SHAPE}")
    query_id = identifier(metadata, "topic_id")
    if not query_id:
        raise BadFormat("no metadata.topic_id, expected the id of the topic")
    if len(identifier(metadata, "run_id")) > MOST_RUN_ID:
        raise BadFormat(
            f"metadata.run_id is {brief(metadata['run_id'])}, expected at most {MOST_RUN_ID} characters"
        )
    if raw.get("nugget_bank") is None:
        raise BadFormat(f"no nugget_bank, expected {_SHAPE}")
    entries = objects(raw["nugget_bank"], "nugget_bank")
    items = [_item(entry, query_id, f"nugget_bank[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, "nugget_bank")
    return BankLine(query_id, source.line, items, parts=head_parts(raw), foreign=emptied(raw, "nugget_bank"))


def _item(raw: Json, query_id: str, place: str) -> BankItem:
    text = text_of(raw, "question", place)
    if raw.get("aggregator_type") not in (None, *AGGREGATORS):
        raise BadFormat(f"{place}.aggregator_type is {brief(raw['aggregator_type'])}, expected AND or OR")
    if raw.get("sub_nuggets"):
        raise BadFormat(f"{place}.sub_nuggets is {brief(raw['sub_nuggets'])}, expected none")
    answers = objects(raw.get("answers"), f"{place}.answers")
    v3.checked(raw, place)
    accepted = dict.fromkeys(answer["answer"] for answer in answers if words_of(answer["answer"]))
    return BankItem(
        item_id(query_id, text),
        ItemKind.QUESTION,
        text,
        "",
        tuple(accepted),
        importance.of_token(raw.get("importance")),
        parts=v3.parts(raw),
        foreign=raw,
    )


def head_parts(raw: Json) -> Parts:
    return {key: value for key, value in raw.items() if key not in {"nugget_bank", "format_version"}}


def write(line: BankLine) -> Json:
    """Return the record of a line.

    Raises `BadFormat` for an item that `refuses` names.
    """
    for item in line.items:
        if problem := refuses(item):
            raise BadFormat(f"{brief(item.text)} {problem}")
    head = line.foreign or {"metadata": {"topic_id": line.query_id}}
    return head | {"nugget_bank": [_written(item) for item in line.items if _is_sayable(item)]}


def _is_sayable(item: BankItem) -> bool:
    """Return whether the format can express the importance; a file's own negative number stays."""
    now = importance.weighed(item.importance, item.weight).importance
    return now in NUMBERS or importance.of_token((item.foreign or {}).get("importance")) is now


def _written(item: BankItem) -> Json:
    raw = dict(_new_item(item) if item.foreign is None else item.foreign)
    raw["question"] = raw["question"] if raw["question"].strip() == item.text.strip() else item.text
    now = importance.weighed(item.importance, item.weight).importance
    if importance.weighed(importance.of_token(raw.get("importance"))).importance is not now:
        raw["importance"] = NUMBERS[now]
    before = raw.get("answers")
    answers = kept_answers(
        before or [],
        item.gold_answers,
        text=lambda entry: entry["answer"],
        made=lambda text: {"answer": text, "references": []},
    )
    return raw | ({"answers": answers} if answers or isinstance(before, list) else {})


def _new_item(item: BankItem) -> Json:
    aggregator = item.parts.get("aggregator_type")
    raw: dict[str, Any] = {
        "question": item.text,
        "aggregator_type": aggregator if aggregator in AGGREGATORS else "OR",
    }
    raw["importance"] = NUMBERS[importance.weighed(item.importance).importance]
    answers = item.parts.get("answers") or []
    kept = [{key: answer[key] for key in ("answer", "references") if key in answer} for answer in answers]
    return raw | {"answers": kept}


def refuses(item: BankItem) -> str:
    if item.kind is not ItemKind.QUESTION:
        return "is a claim; RAGTIME 2026 has questions only"
    if item.parts.get("aggregator_type") in ("NOT", "SUM"):
        return f"has the aggregator {item.parts['aggregator_type']}; RAGTIME 2026 has AND and OR"
    return "has sub-nuggets, which RAGTIME 2026 lacks" if item.parts.get("sub_nuggets") else ""


DIALECT = Dialect(
    "ragtime26",
    "RAGTIME 2026 nuggets",
    recognises,
    read,
    write,
    "TREC RAGTIME 2026, task 3",
    v3.parts,
    head_parts,
    refuses=refuses,
    keys=("metadata", "nugget_bank"),
)
