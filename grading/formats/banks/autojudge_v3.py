"""The nugget bank v3 of AutoJudge, Auto-ARGUE and RAGTIME 2025, and the export of AJA.

A bank holds one topic: questions with answers and references, claims, sub-nuggets. Equal texts, which
AutoJudge's reader merges without a message, are refused.

The export of AJA (autojudge-annotate) is v3 whose importance is must_have, should_have or avoid, without
answers and references, with `metadata.source_spans` and `creator[].created_at`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.records import (
    OURS,
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    RecordPlace,
    brief,
    emptied,
    identifier,
    in_container,
    is_md5_of,
    kept_answers,
    keyed,
    md5_as_is,
    objects,
    optional_text,
    refuse_twins,
    text_of,
    words_of,
)
from grading.types import Importance, ItemKind, item_id

AGGREGATORS = ("AND", "OR", "NOT", "SUM", "Default")
TEXT_KEY = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "claim"}
BANK_KEY = {ItemKind.QUESTION: "nugget_bank", ItemKind.NUGGET: "claim_bank"}
_SHAPE = "{query_id, nugget_bank: questions, claim_bank: claims}"
_HEAD = {"query_id", "title_query", "test_collection", "format_version", *BANK_KEY.values()}


WORDS = {Importance.VITAL: "must_have", Importance.OKAY: "should_have", Importance.AVOID: "avoid"}
_DROPPED = ("answers", "references")


def recognises(records: Sequence[Json]) -> bool:
    return any(key in records[0] for key in BANK_KEY.values())


def read(raw: Json, source: RecordPlace) -> BankLine:
    if not recognises([raw]):
        raise BadFormat(f"neither nugget_bank nor claim_bank, expected {_SHAPE}")
    query_id = query_id_of(raw)
    items = [item for kind in TEXT_KEY for item in _items(raw, kind, query_id)]
    return BankLine(
        query_id,
        source.line,
        items,
        query_text=optional_text(raw, "title_query"),
        test_collection=optional_text(raw, "test_collection"),
        parts=head_parts(raw),
        foreign=emptied(raw, *BANK_KEY.values()),
    )


def query_id_of(raw: Json) -> str:
    """Return query_id, the md5 of title_query, metadata.topic_id or metadata.query_id, as AutoJudge does."""
    if query_id := identifier(raw, "query_id"):
        return query_id
    if title := optional_text(raw, "title_query"):
        return md5_as_is(title)
    metadata = raw.get("metadata")
    query_id = identifier(metadata, "topic_id", "query_id") if isinstance(metadata, dict) else ""
    if not query_id:
        raise BadFormat("no query_id, title_query, metadata.topic_id or metadata.query_id, expected one")
    return query_id


def _items(raw: Json, kind: ItemKind, query_id: str) -> list[BankItem]:
    bank, key = BANK_KEY[kind], TEXT_KEY[kind]
    entries = keyed(raw.get(bank), key, bank)
    items = [_item(entry, kind, query_id, f"{bank}[{place}]") for place, entry in enumerate(entries)]
    refuse_twins(items, bank)
    return items


def _item(raw: Json, kind: ItemKind, query_id: str, place: str) -> BankItem:
    text = text_of(raw, TEXT_KEY[kind], place)
    checked(raw, place)
    facet_id, facet_text, weight = (_ours(raw).get(key) for key in ("facet_id", "facet_text", "weight"))
    facet_id = facet_id if isinstance(facet_id, str) else ""
    return BankItem(
        item_id(query_id, text, facet_id),
        kind,
        text,
        facet_id,
        tuple(dict.fromkeys([answer["answer"] for answer in _answers(raw) if words_of(answer["answer"])])),
        importance.of_token(raw.get("importance")),
        float(weight) if isinstance(weight, int | float) and not isinstance(weight, bool) else None,
        facet_text if isinstance(facet_text, str) else "",
        parts(raw),
        raw,
        _ours(raw).get("secret") is True,
    )


def _ours(raw: Json) -> Json:
    metadata = raw.get("metadata")
    held = metadata.get(OURS) if isinstance(metadata, dict) else None
    return held if isinstance(held, dict) else {}


def checked(raw: Json, place: str) -> None:
    """Raise `BadFormat` for an aggregator, answer, reference or sub-nugget of another shape."""
    if raw.get("aggregator_type") not in (None, *AGGREGATORS):
        raise BadFormat(
            f"{place}.aggregator_type is {brief(raw['aggregator_type'])}, expected {', '.join(AGGREGATORS)}"
        )
    if not isinstance(raw.get("metadata"), dict | None):
        raise BadFormat(f"{place}.metadata is {brief(raw['metadata'])}, expected an object")
    _check_references(raw, place)
    for number, answer in enumerate(keyed(raw.get("answers"), "answer", f"{place}.answers")):
        if not isinstance(answer.get("answer"), str):
            raise BadFormat(
                f"{place}.answers[{number}].answer is {brief(answer.get('answer'))}, expected text"
            )
        _check_references(answer, f"{place}.answers[{number}]")
    for number, nugget in enumerate(objects(raw.get("sub_nuggets"), f"{place}.sub_nuggets")):
        inner = f"{place}.sub_nuggets[{number}]"
        text_of(nugget, "claim" if "claim" in nugget else "question", inner)
        checked(nugget, inner)


def _check_references(raw: Json, place: str) -> None:
    references = raw.get("references")
    if references is not None and not isinstance(references, list):
        raise BadFormat(f"{place}.references is {brief(references)}, expected a list")
    for number, reference in enumerate(references or []):
        where = f"{place}.references[{number}]"
        if isinstance(reference, dict):
            text_of(reference, "doc_id", where)
        elif not isinstance(reference, str):
            raise BadFormat(f"{where} is {brief(reference)}, expected a document id or {{doc_id, ...}}")


def _answers(raw: Json) -> list[Json]:
    return keyed(raw.get("answers"), "answer", "answers")


def parts(raw: Json) -> Parts:
    """Return all but text and importance; an id that is the md5 of the text says nothing of its own."""
    key = "question" if isinstance(raw.get("question"), str) else "claim"
    rest = {name: value for name, value in raw.items() if name not in {key, "importance", "query_id"}}
    if is_md5_of(rest.get(f"{key}_id"), raw[key]):
        del rest[f"{key}_id"]
    if "answers" in rest:
        rest["answers"] = _answers(raw)
    if not importance.is_known(raw.get("importance")):
        rest["importance"] = raw["importance"]
    return rest


def head_parts(raw: Json) -> Parts:
    return {key: value for key, value in raw.items() if key not in _HEAD}


def write(line: BankLine) -> Json:
    head = line.foreign or _new_head(line)
    for kind, bank in BANK_KEY.items():
        entries = [_of_topic(item, line.query_id) for item in line.items if item.kind is kind]
        # AutoJudge 1.0.0 fails on two lists.
        before = head.get(bank, {} if entries else None)
        written = in_container(before, entries, TEXT_KEY[kind])
        if bank in head or written is not None:
            head = head | {bank: written}
    return head


def _of_topic(item: BankItem, query_id: str) -> Json:
    """Return the item's object; a claim that is new to the format names its topic.

    AutoJudge refuses a claim without topic.
    """
    needs_topic = item.kind is ItemKind.NUGGET and item.foreign is None
    return write_item(item) | ({"query_id": query_id} if needs_topic else {})


def _new_head(line: BankLine) -> Json:
    head = {
        "query_id": line.query_id,
        "title_query": line.query_text,
        "test_collection": line.test_collection,
    }
    return {"format_version": "v3", **{k: v for k, v in head.items() if v}, **line.parts, "nugget_bank": []}


def write_item(item: BankItem) -> Json:
    """Return what the file had, with the words, importance and accepted answers that the item has now."""
    raw = dict(_new_item(item) if item.foreign is None else item.foreign)
    key = TEXT_KEY[item.kind]
    if raw[key].strip() != item.text.strip():
        if is_md5_of(raw.get(f"{key}_id"), raw[key]):
            raw[f"{key}_id"] = md5_as_is(item.text)
        raw.pop(f"{key}_markup", None)
        raw[key] = item.text
    # The file's word for the importance stays unless it has become another.
    now = importance.weighed(item.importance, item.weight)
    if importance.weighed(importance.of_token(raw.get("importance"))).importance is not now.importance:
        raw["importance"] = str(now.importance)
    stated = _ours(raw).get("weight")
    if (now.importance.weight if stated is None else stated) != now.weight:
        _state(raw, "weight", None if now.weight == now.importance.weight else now.weight)
    _state(raw, "secret", item.is_secret or None)
    if item.kind is ItemKind.QUESTION:
        _answer(raw, item)
    return raw


def _new_item(item: BankItem) -> Json:
    key = TEXT_KEY[item.kind]
    raw: dict[str, Any] = {key: item.text, f"{key}_id": md5_as_is(item.text)}
    raw["importance"] = str(importance.weighed(item.importance).importance)
    raw |= item.parts
    _state(raw, "facet_id", item.facet_id or None)
    _state(raw, "facet_text", item.facet_text or None)
    return raw


def _state(raw: Json, key: str, value: object) -> None:
    """Set or remove what only we say of an item."""
    metadata, held = dict(raw.get("metadata") or {}), dict(_ours(raw))
    if value is None and key not in held:
        return
    held.pop(key, None)
    held |= {} if value is None else {key: value}
    metadata.pop(OURS, None)
    metadata |= {OURS: held} if held else {}
    raw["metadata"] = metadata


def _answer(raw: Json, item: BankItem) -> None:
    before = raw.get("answers")
    written = kept_answers(
        _answers(raw),
        item.gold_answers,
        text=lambda entry: entry["answer"],
        made=lambda text: {"answer": text},
    )
    answers = in_container(before, written, "answer")
    if "answers" in raw or answers is not None:
        raw["answers"] = answers


def warns(item: BankItem) -> str:
    """Return a warning where Auto-ARGUE drops the question: no answers, or answers without documents."""
    if item.kind is not ItemKind.QUESTION:
        return ""
    answers = _answers({"answers": item.parts.get("answers")})
    cited = {words_of(answer["answer"]) for answer in answers if answer.get("references")}
    bare = [answer for answer in item.gold_answers if words_of(answer) not in cited]
    if not item.gold_answers:
        return "has no answers: Auto-ARGUE drops the question"
    if bare:
        return f"Auto-ARGUE drops answers without documents: {'; '.join(map(brief, bare))}"
    return ""


DIALECT = Dialect(
    "v3",
    "Nugget bank v3",
    recognises,
    read,
    write,
    "TREC AutoJudge, autojudge-base 1.0.0; Auto-ARGUE (arXiv 2509.26184)",
    parts,
    head_parts,
    warns=warns,
    keys=("query_id", "nugget_bank"),
)


def recognises_aja(records: Sequence[Json]) -> bool:
    """Return whether any question has a word or key that only AJA writes."""
    return recognises(records) and any(
        _is_marked(entry) for record in records for bank in BANK_KEY.values() for entry in _of(record, bank)
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


def read_aja(raw: Json, source: RecordPlace) -> BankLine:
    line = read(raw, source)
    # AJA's importance is should_have where it has none.
    return replace(
        line, items=[replace(item, importance=item.importance or Importance.OKAY) for item in line.items]
    )


def write_aja(line: BankLine) -> Json:
    items = [_aja_item(item) for item in line.items]
    return write(replace(line, items=items))


def _aja_item(item: BankItem) -> BankItem:
    """Return the item with its importance in AJA's words; v3 writes it as it is then."""
    now = importance.weighed(item.importance, item.weight)
    if item.foreign is None:
        kept = {key: value for key, value in item.parts.items() if key not in _DROPPED}
        own = kept | {"importance": WORDS[now.importance]}
        return replace(item, parts=own, gold_answers=())
    before = importance.of_token(item.foreign.get("importance")) or Importance.OKAY
    if before is now.importance:  # v3 compares with the file's word, which may be none
        weight = None if now.weight == now.importance.weight else now.weight
        return replace(item, importance=importance.of_token(item.foreign.get("importance")), weight=weight)
    return replace(item, foreign=item.foreign | {"importance": WORDS[now.importance]})


AJA = Dialect(
    "aja",
    "AJA export (v3)",
    recognises_aja,
    read_aja,
    write_aja,
    "autojudge-annotate 0.3.7",
    parts,
    head_parts,
)
