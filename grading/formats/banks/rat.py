"""Banks of RAT, version 1, and of Collaborator: questions with the documents of each answer, a topic a file.

Neither names its topic; the file does: `nuggets_<query id>.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks import importance
from grading.formats.banks.autojudge_v3 import AGGREGATORS
from grading.formats.banks.records import identifier, refuse_twins, shown, words_of
from grading.formats.banks.types import BankItem, BankLine, Dialect, Json, Parts, Source
from grading.formats.ids import item_id
from grading.types import ItemKind

OPEN = "OPEN_ENDED_ANSWER"
"""Stands where Collaborator knows documents and no answer."""
FILE_NAME = "nuggets_{query_id}.json"
_NAMED = re.compile(r"(?:nuggets_)?(.+?)(?:\.rat|\.v1)?(?:\.jsonl?)?(?:\.gz)?")
_PAIR = 2


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


def read_rat(raw: Json, source: Source) -> BankLine:
    banked, groups = raw.get("nugget_dict"), raw.get("group_assignment")
    if not isinstance(banked, dict):
        raise BadFormat(f"nugget_dict is {shown(banked)}, expected {{question: {{answer: [docid]}}}}")
    if groups is not None and not isinstance(groups, dict):
        raise BadFormat(f"group_assignment is {shown(groups)}, expected {{question: group}}")
    grouped: Json = groups or {}
    own = {
        question: {"answers": answers} | ({"group": grouped[question]} if question in grouped else {})
        for question, answers in banked.items()
    }
    head = raw | {"nugget_dict": {}}
    if groups is not None:
        head["group_assignment"] = {text: group for text, group in groups.items() if text not in banked}
    return _line(raw, source, own, parts=rat_parts, head=head)


def read_collaborator(raw: Json, source: Source) -> BankLine:
    if raw and not recognises_collaborator([raw]):
        raise BadFormat('a question without its pair, expected {question: ["OR", {answer: [docid]}]}')
    own = {text: {"aggregator": pair[0], "answers": pair[1]} for text, pair in raw.items()}
    for text, item in own.items():
        if item["aggregator"] not in AGGREGATORS:
            expected = ", ".join(AGGREGATORS)
            raise BadFormat(f"{shown(text)}[0] is {shown(item['aggregator'])}, expected {expected}")
    return _line({}, source, own, parts=collaborator_parts, head={})


def _line(raw: Json, source: Source, own: Mapping[str, Json], *, parts: Any, head: Json) -> BankLine:
    named = _NAMED.fullmatch(source.file)
    query_id = identifier(raw, "query_id", "topic_id", "qid") or (named[1] if named else source.file)
    items = []
    for text, item in own.items():
        if not text.strip():
            raise BadFormat(f"the question {shown(text)} is blank, expected text")
        _check(item["answers"], text)
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
    return BankLine(query_id, "", "", "", "", source.line, items, parts=head_parts(head), foreign=head)


def _check(answers: Any, question: str) -> None:
    if not isinstance(answers, dict):
        raise BadFormat(f"{shown(question)} has {shown(answers)}, expected {{answer: [docid]}}")
    for answer, documents in answers.items():
        if not isinstance(documents, list) or not all(isinstance(one, str) for one in documents):
            raise BadFormat(f"{shown(question)}, {shown(answer)} has {shown(documents)}, expected [docid]")


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


def head_parts(raw: Json) -> Parts:
    kept = {
        key: value for key, value in raw.items() if key not in {"nugget_dict", "query_id", "topic_id", "qid"}
    }
    return {key: value for key, value in kept.items() if value or key != "group_assignment"}


def write_rat(line: BankLine) -> Json:
    head = line.foreign or {}
    items = [item for item in line.items if is_sayable(item)]
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
        if is_sayable(item):
            aggregator = (item.foreign or {}).get("aggregator") or item.parts.get("aggregator_type") or "OR"
            documents = _documents(item) or {OPEN: _doc_ids(item.parts.get("references"))}
            written[_question(item)] = [aggregator, documents]
    return written


def is_sayable(item: BankItem) -> bool:
    """Whether it is a question; there is no word for any importance, so what is to be avoided is left out."""
    now = importance.weighed(item.importance, item.weight)
    return item.kind is ItemKind.QUESTION and now.weight > 0


def _question(item: BankItem) -> str:
    """As read, unless it was reworded."""
    before = str((item.foreign or {}).get("question", ""))
    return before if before.strip() == item.text.strip() else item.text


def _documents(item: BankItem) -> dict[str, list[str]]:
    """The documents of each answer that is accepted now, as read or by the references of other dialects."""
    own = (item.foreign or {}).get("answers")
    if own is None:
        own = {
            answer["answer"]: _doc_ids(answer.get("references")) for answer in item.parts.get("answers") or []
        }
    accepted = {words_of(answer) for answer in item.gold_answers}
    kept = {
        text: documents
        for text, documents in own.items()
        if text == OPEN or not words_of(text) or words_of(text) in accepted
    }
    present = {words_of(text) for text in kept}
    return kept | {answer: [] for answer in item.gold_answers if words_of(answer) not in present}


def _doc_ids(references: Any) -> list[str]:
    return [one["doc_id"] if isinstance(one, dict) else one for one in references or []]


RAT = Dialect(
    "rat",
    "RAT v1",
    recognises_rat,
    read_rat,
    write_rat,
    "Auto-ARGUE (arXiv 2509.26184)",
    rat_parts,
    head_parts,
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
    head_parts,
    file_name=FILE_NAME,
)
