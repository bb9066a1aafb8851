"""The export of AJA (autojudge-annotate): v3 whose importance is must_have, should_have or avoid, without
answers and references, with `metadata.source_spans` and `creator[].created_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grading.formats.banks import autojudge_v3 as v3
from grading.formats.banks import importance
from grading.formats.banks.types import BankItem, BankLine, Dialect, Json, Source
from grading.types import Importance

WORDS = {Importance.VITAL: "must_have", Importance.OKAY: "should_have", Importance.AVOID: "avoid"}
_DROPPED = ("answers", "references")


def recognises(records: Sequence[Json]) -> bool:
    """Whether any question has a word or key that only AJA writes."""
    return v3.recognises(records) and any(
        _is_marked(entry)
        for record in records
        for bank in v3.BANK_KEY.values()
        for entry in _of(record, bank)
    )


def _of(record: Json, bank: str) -> list[Json]:
    held = record.get(bank)
    entries = held.values() if isinstance(held, dict) else held if isinstance(held, list) else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _is_marked(entry: Json) -> bool:
    metadata, creators = entry.get("metadata"), entry.get("creator")
    if entry.get("importance") in ("must_have", "should_have"):
        return True
    if isinstance(metadata, dict) and {"source_spans", "freetext_notes"} & set(metadata):
        return True
    named = creators if isinstance(creators, list) else []
    return any(isinstance(creator, dict) and "created_at" in creator for creator in named)


def read(raw: Json, source: Source) -> BankLine:
    line = v3.read(raw, source)
    return replace(line, items=[_with_default(item) for item in line.items])


def _with_default(item: BankItem) -> BankItem:
    """AJA's default is should_have."""
    return replace(item, importance=item.importance or Importance.OKAY)


def write(line: BankLine) -> Json:
    items = [_item(item) for item in line.items]
    return v3.write(replace(line, items=items))


def _item(item: BankItem) -> BankItem:
    """The item with its importance in AJA's words; v3 writes it as it is then."""
    now = importance.weighed(item.importance, item.weight)
    if item.foreign is None:
        kept = {key: value for key, value in item.parts.items() if key not in _DROPPED}
        parts = kept | {"importance": WORDS[now.importance]}
        return replace(item, parts=parts, gold_answers=())
    before = importance.of_token(item.foreign.get("importance")) or Importance.OKAY
    if before is now.importance:  # v3 compares with the file's word, which may be none
        weight = None if now.weight == now.importance.weight else now.weight
        return replace(item, importance=importance.of_token(item.foreign.get("importance")), weight=weight)
    return replace(item, foreign=item.foreign | {"importance": WORDS[now.importance]})


DIALECT = Dialect(
    "aja",
    "AJA export (v3)",
    recognises,
    read,
    write,
    "autojudge-annotate 0.3.7",
    v3.parts,
    v3.head_parts,
)
