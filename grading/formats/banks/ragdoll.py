"""Rubrics of RAGDoll: criteria with tiers, weights and types, and answers graded by them.

A rubric is `{qid, query, criteria: [{text, type, tier, weight, source_nugget}]}`, one line a topic. Graded, a
line is an answer: the same with `run_id`, `answer_text` and a `verdict` in every criterion. RAGDoll rounds
weights, cuts them to 0 to 5, and drops criteria of weight 0.
"""

from __future__ import annotations

import re
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
    RecordPlace,
    brief,
    emptied,
    identifier,
    objects,
    optional_text,
    ours,
    refuse_twins,
    text_of,
)
from grading.types import Importance, ItemKind, item_id

TIERS = {
    "mandatory": importance.Weighed(Importance.VITAL, 5),
    "optional": importance.Weighed(Importance.OKAY, 2),
}
"""What a tier says of importance, and the weight of a criterion that states none."""
VERDICTS = {
    "satisfied": "support",
    "partially_satisfied": "partial_support",
    "not_satisfied": "not_support",
    "failed": "failed",
}
"""The assignment that a verdict is."""
MOST = 5
"""The highest weight that RAGDoll keeps."""
CRITERION_KEYS = ("text", "type", "tier", "weight", "source_nugget")
_ANSWER_KEYS = ("run_id", "answer_text")
_SHAPE = "{qid, query, criteria: [{text, type, tier, weight}, ...]}"


def recognises(records: Sequence[Json]) -> bool:
    return "criteria" in records[0]


def recognises_graded(records: Sequence[Json]) -> bool:
    first = records[0]
    listed = first.get("criteria")
    return isinstance(listed, list) and (
        any(key in first for key in _ANSWER_KEYS)
        or any(isinstance(entry, dict) and "verdict" in entry for entry in listed)
    )


def read(raw: Json, source: RecordPlace) -> BankLine:
    return _line(raw, source, _items(raw), emptied(raw, "criteria"))


def read_graded(raw: Json, source: RecordPlace) -> BankLine:
    """Read one graded answer as a line.

    Verdicts are of answers, so the line keeps its criteria, and the items only what is the rubric's.
    """
    items = _items(raw)
    verdicts = [entry.get("verdict") for entry in raw["criteria"]]
    if any(verdicts):
        for place, verdict in enumerate(verdicts):
            assignment_of(verdict, f"criteria[{place}]")
    return _line(raw, source, items, raw)


def assignment_of(verdict: object, place: str) -> str:
    """Return the assignment that a verdict is. Raises BadFormat for another word.

    >>> assignment_of("Partially Satisfied", "")
    'partial_support'
    """
    word = re.sub(r"[\s_]+", "_", verdict.strip().lower()) if isinstance(verdict, str) else ""
    if word not in VERDICTS:
        expected = ", ".join(VERDICTS)
        raise BadFormat(
            f"{place}.verdict is {brief(verdict)}, expected {expected}, in every criterion or none"
        )
    return VERDICTS[word]


def _line(raw: Json, source: RecordPlace, items: list[BankItem], foreign: Json) -> BankLine:
    return BankLine(
        _query_id(raw),
        source.line,
        items,
        query_text=optional_text(raw, "query"),
        parts=head_parts(raw),
        foreign=foreign,
    )


def _query_id(raw: Json) -> str:
    query_id = identifier(raw, "qid", "query_id", "topic_id")
    if not query_id:
        raise BadFormat(f"no qid, expected {_SHAPE}")
    return query_id


def _items(raw: Json) -> list[BankItem]:
    if raw.get("criteria") is None:
        raise BadFormat(f"no criteria, expected {_SHAPE}")
    query_id, entries = _query_id(raw), objects(raw["criteria"], "criteria")
    items = [_item(entry, query_id, f"criteria[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, "criteria")
    return items


def _item(raw: Json, query_id: str, place: str) -> BankItem:
    text = text_of(raw, "text", place)
    worth = _worth(raw, place)
    for key in ("type", "source_nugget"):
        if not isinstance(raw.get(key), str | None):
            raise BadFormat(f"{place}.{key} is {brief(raw[key])}, expected text")
    return BankItem(
        item_id(query_id, text),
        ItemKind.NUGGET,
        text,
        importance=worth.importance,
        weight=worth.weight,
        parts=parts(raw),
        foreign=raw,
    )


def _worth(raw: Json, place: str) -> importance.Weighed:
    tier = raw.get("tier")
    if tier is not None and tier not in ("mandatory", "optional"):
        raise BadFormat(f"{place}.tier is {brief(tier)}, expected {' or '.join(TIERS)}")
    by_tier = TIERS.get(str(tier))
    if by_tier and raw.get("weight") is None:
        return by_tier
    stated = importance.of_weight(raw.get("weight"), f"{place}.weight")
    return stated if by_tier is None or stated.weight < 0 else stated._replace(importance=by_tier.importance)


def parts(raw: Json) -> Parts:
    return ours("ragdoll", raw, without=("text", "tier", "weight", "verdict"))


def head_parts(raw: Json) -> Parts:
    return ours("ragdoll", raw, without=("qid", "query_id", "topic_id", "query", "criteria"))


def write(line: BankLine) -> Json:
    head = line.foreign or {"qid": line.query_id, "query": line.query_text}
    # RAGDoll counts a nugget to avoid as weight 0 and drops it.
    return head | {
        "criteria": [
            criterion(item)
            for item in line.items
            if item.kind is ItemKind.NUGGET
            and (importance.weighed(item.importance, item.weight).weight >= 0 or item.foreign is not None)
        ]
    }


def criterion(item: BankItem) -> Json:
    """Return the criterion as read, with the words, tier and weight of now."""
    now = importance.weighed(item.importance, item.weight)
    if item.foreign is None:
        return {"text": item.text, "type": "explicit", **_tier_of(now), "source_nugget": None}
    raw: dict[str, Any] = dict(item.foreign)
    if raw["text"].strip() != item.text.strip():
        raw["text"] = item.text
    return raw if _worth(raw, "") == now else raw | _tier_of(now)


def _tier_of(now: importance.Weighed) -> Json:
    """Return tier and weight: that of the tier where the item has none of its own."""
    tier = "mandatory" if now.importance is Importance.VITAL else "optional"
    is_plain = now == importance.weighed(now.importance)
    weight = TIERS[tier].weight if is_plain else min(now.weight, MOST)
    return {"tier": tier, "weight": int(weight) if weight == int(weight) else weight}


def without_verdict(raw: Json) -> Json:
    """Return what a graded criterion says of the rubric."""
    return {key: raw[key] for key in CRITERION_KEYS if key in raw}


def write_graded(line: BankLine) -> Json:
    """Return the criteria that this answer was graded by.

    Those that are retired or reworded are left out.
    """
    if line.foreign is None:
        raise BadFormat(f"topic {line.query_id} has no graded answers, expected some from an import")
    texts = {item.text.strip() for item in line.items if item.kind is ItemKind.NUGGET}
    kept = [entry for entry in line.foreign["criteria"] if entry["text"].strip() in texts]
    return line.foreign | {"criteria": kept}


def warns(item: BankItem) -> str:
    weight = importance.weighed(item.importance, item.weight).weight
    if weight == 0:
        return "has weight 0: RAGDoll drops the criterion"
    return "" if 0 < weight <= MOST else f"has weight {weight:g}: RAGDoll cuts it to 0 to {MOST}"


def notes(line: BankLine) -> list[str]:
    """Return what RAGDoll does to criteria that are kept here as they are."""
    return [
        f"topic {line.query_id}, {brief(item.text)} {warning}"
        for item in line.items
        if (warning := warns(item))
    ]


DIALECT = Dialect(
    "ragdoll",
    "RAGDoll rubric",
    recognises,
    read,
    write,
    "castorini: RAGDoll 0.1.0",
    parts,
    head_parts,
    warns=warns,
    notes=notes,
    keys=("qid", "criteria"),
)
GRADED = Dialect(
    "ragdoll-graded",
    "RAGDoll graded rubric",
    recognises_graded,
    read_graded,
    write_graded,
    "castorini: RAGDoll 0.1.0",
    lambda raw: {},
    lambda raw: {},
    repeats_topics=True,
    keys=("qid", "run_id", "answer_text", "criteria"),
)
