"""Banks that name documents for each answer: AutoJudge's version 1, RAT and Collaborator.

A record of AutoJudge is `{query_id, question_text, question_id, info: {aggregator_type}, gold_answers:
[{answer, citations}], references}`, with `claim_text` and `claim_id` and without answers for a claim.
Citations and references are document ids.

A file of RAT (version 1) or of Collaborator has the questions of one topic with the documents of each answer.
It does not name the topic; its own name does: `nuggets_<query id>.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.autojudge_v3 import AGGREGATORS
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    RecordPlace,
    brief,
    identifier,
    is_md5_of,
    kept_answers,
    md5_as_is,
    objects,
    ours,
    refuse_twins,
    text_of,
    words_of,
)
from grading.types import ItemKind, item_id

PREFIX = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "claim"}
_INFO = ("aggregator_type",)
_ANSWER = ("answer", "citations")
_RECORD = ("query_id", "info", "gold_answers", "references")


OPEN = "OPEN_ENDED_ANSWER"
"""Stands where Collaborator knows documents and no answer."""
FILE_NAME = "nuggets_{query_id}.json"
_NAMED = re.compile(r"(?:nuggets_)?(.+?)(?:\.rat|\.v1)?(?:\.jsonl?)?(?:\.gz)?")
_PAIR = 2


def recognises(records: Sequence[Json]) -> bool:
    return any(f"{prefix}_text" in records[0] for prefix in PREFIX.values())


def read(raw: Json, source: RecordPlace) -> BankLine:
    query_id = identifier(raw, "query_id")
    if not query_id:
        raise BadFormat("no query_id, expected the id of the topic")
    if not recognises([raw]):
        raise BadFormat("neither question_text nor claim_text, expected one")
    return BankLine(query_id, source.line, [_item(raw, query_id)])


def _item(raw: Json, query_id: str) -> BankItem:
    kind = _kind(raw)
    text = text_of(raw, f"{PREFIX[kind]}_text", "")
    _check(raw)
    return BankItem(
        item_id(query_id, text),
        kind,
        text,
        gold_answers=tuple(
            dict.fromkeys(answer["answer"] for answer in _gold(raw) if words_of(answer["answer"]))
        ),
        parts=parts(raw),
        foreign=raw,
    )


def _kind(raw: Json) -> ItemKind:
    return ItemKind.QUESTION if "question_text" in raw else ItemKind.NUGGET


def _check(raw: Json) -> None:
    if not isinstance(raw.get("info"), dict | None):
        raise BadFormat(f"info is {brief(raw['info'])}, expected {{aggregator_type}}")
    if (aggregator := _info(raw).get("aggregator_type")) not in (None, *AGGREGATORS):
        raise BadFormat(f"info.aggregator_type is {brief(aggregator)}, expected {', '.join(AGGREGATORS)}")
    for number, answer in enumerate(_gold(raw)):
        place = f"gold_answers[{number}]"
        if not isinstance(answer.get("answer"), str):
            raise BadFormat(f"{place}.answer is {brief(answer.get('answer'))}, expected text")
        _check_documents(answer, "citations", f"{place}.citations")
    _check_documents(raw, "references", "references")


def _check_documents(raw: Json, key: str, place: str) -> None:
    value = raw.get(key)
    if value is not None and not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
        raise BadFormat(f"{place} is {brief(value)}, expected a list of document ids")


def _info(raw: Json) -> Json:
    return raw.get("info") or {}


def _gold(raw: Json) -> list[Json]:
    return objects(raw.get("gold_answers"), "gold_answers")


def parts(raw: Json) -> Parts:
    """Return the parts by the keys of v3; an id that is the md5 of the text says nothing of its own."""
    prefix = PREFIX[_kind(raw)]
    identity, text = raw.get(f"{prefix}_id"), raw[f"{prefix}_text"]
    values: dict[str, Any] = {
        f"{prefix}_id": None if is_md5_of(identity, text) else identity,
        "aggregator_type": _info(raw).get("aggregator_type"),
        "answers": [_answer_parts(answer) for answer in _gold(raw)] if "gold_answers" in raw else None,
        "references": raw.get("references"),
    }
    rest = {key: value for key, value in raw.items() if key not in _RECORD}
    rest |= {f"info.{key}": value for key, value in _info(raw).items() if key not in _INFO}
    kept = ours("v1", rest, without=(f"{prefix}_id", f"{prefix}_text"))
    return {key: value for key, value in values.items() if value is not None} | kept


def _answer_parts(answer: Json) -> Json:
    references = {"references": answer["citations"]} if answer.get("citations") is not None else {}
    return {"answer": answer["answer"]} | references | ours("v1", answer, without=_ANSWER)


def write(line: BankLine) -> Json:
    """Return the record of a line of one item."""
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
            _gold(raw),
            item.gold_answers,
            text=lambda entry: entry["answer"],
            made=lambda text: {"answer": text, "citations": []},
        )
    return raw


def _new_item(item: BankItem, query_id: str) -> Json:
    prefix, parts_of_item = PREFIX[item.kind], item.parts
    raw: Json = {
        "query_id": query_id,
        f"{prefix}_text": item.text,
        f"{prefix}_id": parts_of_item.get(f"{prefix}_id") or md5_as_is(item.text),
    }
    raw |= (
        {"info": {"aggregator_type": parts_of_item["aggregator_type"]}}
        if parts_of_item.get("aggregator_type")
        else {}
    )
    if item.kind is ItemKind.QUESTION:
        raw["gold_answers"] = [
            {"answer": answer["answer"], "citations": _document_ids(answer.get("references"))}
            for answer in parts_of_item.get("answers") or []
        ]
    references = _document_ids(parts_of_item.get("references"))
    return raw | ({"references": references} if references else {})


def _document_ids(references: Any) -> list[str]:
    return [
        reference["doc_id"] if isinstance(reference, dict) else reference for reference in references or []
    ]


def leaves_out(item: BankItem) -> bool:
    """Return whether the item is to be avoided, which version 1 cannot express."""
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
    keys=("query_id", "question_text"),
)


def recognises_rat(records: Sequence[Json]) -> bool:
    return "nugget_dict" in records[0]


def recognises_collaborator(records: Sequence[Json]) -> bool:
    values = list(records[0].values())
    return bool(values) and all(
        isinstance(value, list)
        and len(value) == _PAIR
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
        for value in values
    )


def read_rat(raw: Json, source: RecordPlace) -> BankLine:
    banked, groups = raw.get("nugget_dict"), raw.get("group_assignment")
    if not isinstance(banked, dict):
        raise BadFormat(f"nugget_dict is {brief(banked)}, expected {{question: {{answer: [docid]}}}}")
    if groups is not None and not isinstance(groups, dict):
        raise BadFormat(f"group_assignment is {brief(groups)}, expected {{question: group}}")
    grouped: Json = groups or {}
    own = {
        question: {"answers": answers} | ({"group": grouped[question]} if question in grouped else {})
        for question, answers in banked.items()
    }
    head = raw | {"nugget_dict": {}}
    if groups is not None:
        head["group_assignment"] = {text: group for text, group in groups.items() if text not in banked}
    return _line(raw, source, own, parts=rat_parts, head=head)


def read_collaborator(raw: Json, source: RecordPlace) -> BankLine:
    if raw and not recognises_collaborator([raw]):
        raise BadFormat('a question without its pair, expected {question: ["OR", {answer: [docid]}]}')
    own = {text: {"aggregator": pair[0], "answers": pair[1]} for text, pair in raw.items()}
    for text, item in own.items():
        if item["aggregator"] not in AGGREGATORS:
            expected = ", ".join(AGGREGATORS)
            raise BadFormat(f"{brief(text)}[0] is {brief(item['aggregator'])}, expected {expected}")
    return _line({}, source, own, parts=collaborator_parts, head={})


def _line(raw: Json, source: RecordPlace, own: Mapping[str, Json], *, parts: Any, head: Json) -> BankLine:
    named = _NAMED.fullmatch(source.file)
    query_id = identifier(raw, "query_id", "topic_id", "qid") or (named[1] if named else source.file)
    items = []
    for text, item in own.items():
        if not text.strip():
            raise BadFormat(f"the question {brief(text)} is blank, expected text")
        answers = item["answers"]
        if not isinstance(answers, dict):
            raise BadFormat(f"{brief(text)} has {brief(answers)}, expected {{answer: [docid]}}")
        for answer, documents in answers.items():
            if not isinstance(documents, list) or not all(
                isinstance(document, str) for document in documents
            ):
                raise BadFormat(f"{brief(text)}, {brief(answer)} has {brief(documents)}, expected [docid]")
        accepted = dict.fromkeys(answer for answer in item["answers"] if words_of(answer) and answer != OPEN)
        items.append(
            BankItem(
                item_id(query_id, text),
                ItemKind.QUESTION,
                text,
                gold_answers=tuple(accepted),
                parts=parts(item),
                foreign=item | {"question": text},
            )
        )
    refuse_twins(items, "questions")
    return BankLine(query_id, source.line, items, parts=rat_head_parts(head), foreign=head)


def _answers(raw: Json) -> list[Json]:
    return [{"answer": text, "references": documents} for text, documents in raw["answers"].items()]


def rat_parts(raw: Json) -> Parts:
    group = {"metadata": {"rubricweb": {"rat": {"group": raw["group"]}}}} if "group" in raw else {}
    return {"answers": _answers(raw)} | group


def collaborator_parts(raw: Json) -> Parts:
    answers = [answer for answer in _answers(raw) if answer["answer"] != OPEN]
    return {
        "aggregator_type": raw["aggregator"],
        "answers": answers,
        "references": raw["answers"].get(OPEN, []),
    }


def rat_head_parts(raw: Json) -> Parts:
    kept = {
        key: value for key, value in raw.items() if key not in {"nugget_dict", "query_id", "topic_id", "qid"}
    }
    return {key: value for key, value in kept.items() if value or key != "group_assignment"}


def write_rat(line: BankLine) -> Json:
    head = line.foreign or {}
    items = [item for item in line.items if is_sayable_in_rat(item)]
    groups = {
        _question(item): item.foreign["group"] for item in items if item.foreign and "group" in item.foreign
    }
    written = head | {"nugget_dict": {_question(item): _documents(item) for item in items}}
    if groups or head.get("group_assignment") is not None:  # null stays null
        written["group_assignment"] = {**(head.get("group_assignment") or {}), **groups}
    return written


def write_collaborator(line: BankLine) -> Json:
    written = {}
    for item in line.items:
        if is_sayable_in_rat(item):
            aggregator = (item.foreign or {}).get("aggregator") or item.parts.get("aggregator_type") or "OR"
            documents = _documents(item) or {OPEN: _document_ids(item.parts.get("references"))}
            written[_question(item)] = [aggregator, documents]
    return written


def is_sayable_in_rat(item: BankItem) -> bool:
    """Return whether it is a question, and not to be avoided, which the format cannot express."""
    now = importance.weighed(item.importance, item.weight)
    return item.kind is ItemKind.QUESTION and now.weight > 0


def _question(item: BankItem) -> str:
    """Return the question as read, unless it was reworded."""
    before = str((item.foreign or {}).get("question", ""))
    return before if before.strip() == item.text.strip() else item.text


def _documents(item: BankItem) -> dict[str, list[str]]:
    """Return the documents of each answer that is accepted now.

    They are as read, or by the references of other dialects.
    """
    own = (item.foreign or {}).get("answers")
    if own is None:
        own = {
            answer["answer"]: _document_ids(answer.get("references"))
            for answer in item.parts.get("answers") or []
        }
    accepted = {words_of(answer) for answer in item.gold_answers}
    kept = {
        text: documents
        for text, documents in own.items()
        if text == OPEN or not words_of(text) or words_of(text) in accepted
    }
    present = {words_of(text) for text in kept}
    return kept | {answer: [] for answer in item.gold_answers if words_of(answer) not in present}


RAT = Dialect(
    "rat",
    "RAT v1",
    recognises_rat,
    read_rat,
    write_rat,
    "Auto-ARGUE (arXiv 2509.26184)",
    rat_parts,
    rat_head_parts,
    file_name=FILE_NAME,
)
COLLABORATOR = Dialect(
    "collaborator",
    "Collaborator",
    recognises_collaborator,
    read_collaborator,
    write_collaborator,
    "Auto-ARGUE (arXiv 2509.26184)",
    collaborator_parts,
    rat_head_parts,
    file_name=FILE_NAME,
)
