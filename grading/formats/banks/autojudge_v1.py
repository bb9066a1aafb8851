"""Nuggets of AutoJudge, version 1: a record for each question or claim, which names its topic.

A record is `{query_id, question_text, question_id, info: {aggregator_type}, gold_answers: [{answer,
citations}], references}`, with `claim_text` and `claim_id` and without answers for a claim. Citations and
references are document ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.autojudge_v3 import AGGREGATORS
from grading.formats.banks.records import (
    identifier,
    is_md5_of,
    kept_answers,
    md5_as_is,
    objects,
    ours,
    shown,
    text_of,
    words_of,
)
from grading.formats.banks.types import BankItem, BankLine, Dialect, Json, Parts, Source
from grading.formats.ids import item_id
from grading.types import ItemKind

PREFIX = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "claim"}
_INFO = ("aggregator_type",)
_ANSWER = ("answer", "citations")
_RECORD = ("query_id", "info", "gold_answers", "references")


def recognises(records: Sequence[Json]) -> bool:
    return any(f"{prefix}_text" in records[0] for prefix in PREFIX.values())


def read(raw: Json, source: Source) -> BankLine:
    query_id = identifier(raw, "query_id")
    if not query_id:
        raise BadFormat("no query_id, expected the id of the topic")
    if not recognises([raw]):
        raise BadFormat("neither question_text nor claim_text, expected one")
    return BankLine(query_id, "", "", "", "", source.line, [_item(raw, query_id)])


def _item(raw: Json, query_id: str) -> BankItem:
    kind = _kind(raw)
    text = text_of(raw, f"{PREFIX[kind]}_text", "")
    _check(raw)
    return BankItem(
        item_id(query_id, text),
        kind,
        text,
        gold_answers=tuple(dict.fromkeys(one["answer"] for one in _gold(raw) if words_of(one["answer"]))),
        parts=parts(raw),
        foreign=raw,
    )


def _kind(raw: Json) -> ItemKind:
    return ItemKind.QUESTION if "question_text" in raw else ItemKind.NUGGET


def _check(raw: Json) -> None:
    if not isinstance(raw.get("info"), dict | None):
        raise BadFormat(f"info is {shown(raw['info'])}, expected {{aggregator_type}}")
    if (aggregator := _info(raw).get("aggregator_type")) not in (None, *AGGREGATORS):
        raise BadFormat(f"info.aggregator_type is {shown(aggregator)}, expected {', '.join(AGGREGATORS)}")
    for number, answer in enumerate(_gold(raw)):
        place = f"gold_answers[{number}]"
        if not isinstance(answer.get("answer"), str):
            raise BadFormat(f"{place}.answer is {shown(answer.get('answer'))}, expected text")
        _check_documents(answer, "citations", f"{place}.citations")
    _check_documents(raw, "references", "references")


def _check_documents(raw: Json, key: str, place: str) -> None:
    value = raw.get(key)
    if value is not None and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise BadFormat(f"{place} is {shown(value)}, expected a list of document ids")


def _info(raw: Json) -> Json:
    return raw.get("info") or {}


def _gold(raw: Json) -> list[Json]:
    return objects(raw.get("gold_answers"), "gold_answers")


def parts(raw: Json) -> Parts:
    """By the keys of v3; an id that is the md5 of the text says nothing of its own."""
    prefix = PREFIX[_kind(raw)]
    identity, text = raw.get(f"{prefix}_id"), raw[f"{prefix}_text"]
    said: dict[str, Any] = {
        f"{prefix}_id": None if is_md5_of(identity, text) else identity,
        "aggregator_type": _info(raw).get("aggregator_type"),
        "answers": [_answer_parts(answer) for answer in _gold(raw)] if "gold_answers" in raw else None,
        "references": raw.get("references"),
    }
    rest = {key: value for key, value in raw.items() if key not in _RECORD}
    rest |= {f"info.{key}": value for key, value in _info(raw).items() if key not in _INFO}
    kept = ours("v1", rest, without=(f"{prefix}_id", f"{prefix}_text"))
    return {key: value for key, value in said.items() if value is not None} | kept


def _answer_parts(answer: Json) -> Json:
    references = {"references": answer["citations"]} if answer.get("citations") is not None else {}
    return {"answer": answer["answer"]} | references | ours("v1", answer, without=_ANSWER)


def write(line: BankLine) -> Json:
    """The record of a line of one item."""
    (item,) = line.items
    raw = dict(_new_item(item, line.query_id) if item.foreign is None else item.foreign)
    prefix = PREFIX[item.kind]
    before = raw[f"{prefix}_text"]
    if before.strip() != item.text.strip():
        if is_md5_of(raw.get(f"{prefix}_id"), before):
            raw[f"{prefix}_id"] = md5_as_is(item.text)
        raw[f"{prefix}_text"] = item.text
    if item.kind is ItemKind.QUESTION and (item.gold_answers or raw.get("gold_answers")):
        raw["gold_answers"] = kept_answers(
            _gold(raw), item.gold_answers, text=lambda entry: entry["answer"], made=_new_answer
        )
    return raw


def _new_item(item: BankItem, query_id: str) -> Json:
    prefix, said = PREFIX[item.kind], item.parts
    raw: Json = {
        "query_id": query_id,
        f"{prefix}_text": item.text,
        f"{prefix}_id": said.get(f"{prefix}_id") or md5_as_is(item.text),
    }
    raw |= {"info": {"aggregator_type": said["aggregator_type"]}} if said.get("aggregator_type") else {}
    if item.kind is ItemKind.QUESTION:
        raw["gold_answers"] = [
            {"answer": answer["answer"], "citations": _document_ids(answer.get("references"))}
            for answer in said.get("answers") or []
        ]
    references = _document_ids(said.get("references"))
    return raw | ({"references": references} if references else {})


def _new_answer(text: str) -> Json:
    return {"answer": text, "citations": []}


def _document_ids(references: Any) -> list[str]:
    return [one["doc_id"] if isinstance(one, dict) else one for one in references or []]


def leaves_out(item: BankItem) -> bool:
    """There is no word for any importance, so what is to be avoided is left out."""
    return importance.weighed(item.importance, item.weight).weight <= 0


DIALECT = Dialect(
    "v1",
    "Nuggets of AutoJudge v1",
    recognises,
    read,
    write,
    "TREC AutoJudge, autojudge-base 1.0.0",
    parts,
    lambda raw: {},
    has_item_per_record=True,
    leaves_out=leaves_out,
)
