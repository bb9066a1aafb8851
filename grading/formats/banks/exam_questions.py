"""Questions of EXAM++: the textbook questions of TQA, and generated ones as the Workbench's `genq` has them.

TQA is a list of lessons with multiple-choice questions; a lesson is the topic `tqa2:<globalID>`, as in TREC
CAR Y3, and questions about diagrams are kept and not asked. `genq` is one object, `{query id: {subtopic id:
{title, facet, questions: ["1. ...", ...]}}}`; the numbers before its questions are no part of their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from grading.errors import BadFormat
from grading.formats.banks.records import (
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    Record,
    RecordPlace,
    brief,
    identifier,
    optional_text,
    ours,
    text_of,
    words_of,
)
from grading.types import ItemKind, item_id

PREFIX = "tqa2:"
"""What TREC CAR Y3 puts before the id of a lesson."""
_LESSON = re.compile(r"L_\d+")
_ASKED = "nonDiagramQuestions"
_TEXT = "processedText"
_LESSON_SHAPE = (
    "{globalID, lessonName, questions: {nonDiagramQuestions: {id: {beingAsked, answerChoices, ...}}}}"
)
_NUMBER = re.compile(r"\s*\d+\.\s+")
_FACET_SHAPE = "{query id: {subtopic id: {title, facet, questions: [text, ...]}}}"


def recognises_lessons(records: Sequence[Json]) -> bool:
    return "globalID" in records[0] and "lessonName" in records[0]


def read_lesson(raw: Json, source: RecordPlace) -> BankLine:
    lesson = identifier(raw, "globalID")
    if not lesson:
        raise BadFormat(f"no globalID, expected {_LESSON_SHAPE}")
    query_id = f"{PREFIX}{lesson}" if _LESSON.fullmatch(lesson) else lesson
    questions = _object(raw.get("questions"), "questions")
    entries = _object(questions.get(_ASKED), f"questions.{_ASKED}")
    items = [_question(key, entry) for key, entry in entries.items()]
    head = raw | {"questions": questions | {_ASKED: {}}}
    title = optional_text(raw, "lessonName")
    return BankLine(query_id, source.line, items, query_text=title, parts=lesson_parts(head), foreign=head)


def _object(value: Any, place: str) -> Json:
    if not isinstance(value, dict):
        raise BadFormat(f"{place} is {brief(value)}, expected an object; a lesson is {_LESSON_SHAPE}")
    return value


def _question(key: str, raw: Any) -> BankItem:
    place = f"questions.{_ASKED}[{brief(key)}]"
    if not key.strip():
        raise BadFormat(f"{place} has no id, expected one")
    entry = _object(raw, place)
    text = text_of(_object(entry.get("beingAsked"), f"{place}.beingAsked"), _TEXT, f"{place}.beingAsked")
    choices = entry.get("answerChoices")
    for name, choice in _object({} if choices is None else choices, f"{place}.answerChoices").items():
        optional_text(_object(choice, f"{place}.answerChoices[{brief(name)}]"), _TEXT)
    answer = entry.get("correctAnswer")
    optional_text(_object({} if answer is None else answer, f"{place}.correctAnswer"), _TEXT)
    foreign = {"id": key, "question": entry}
    return BankItem(
        key, ItemKind.QUESTION, text, gold_answers=_key(entry), parts=parts(foreign), foreign=foreign
    )


def _key(entry: Json) -> tuple[str, ...]:
    """Return the text of the right choice; nothing where it is none of the choices."""
    right = (entry.get("correctAnswer") or {}).get(_TEXT)
    choice = (entry.get("answerChoices") or {}).get(right) or {}
    text = choice.get(_TEXT) or ""
    return (text,) if words_of(text) else ()


def parts(raw: Json) -> Parts:
    entry = raw["question"]
    answers = [{"answer": text} for text in _key(entry)]
    return {"question_id": raw["id"], "answers": answers} | ours(
        "tqa", entry, without=("beingAsked", "correctAnswer", "globalID")
    )


def lesson_parts(raw: Json) -> Parts:
    return ours("tqa", raw, without=("globalID", "lessonName", "questions"))


def write_lesson(line: BankLine) -> Json:
    lesson = line.query_id.removeprefix(PREFIX)
    own = lesson if _LESSON.fullmatch(lesson) else line.query_id
    head = line.foreign or {"globalID": own, "lessonName": line.query_text, "questions": {}}
    written = dict(_written(item) for item in line.items if item.kind is ItemKind.QUESTION)
    return head | {"questions": head["questions"] | {_ASKED: written}}


def _written(item: BankItem) -> tuple[str, Json]:
    """Return (id, question) as read, with the words and the right answer of now."""
    if item.foreign is None:
        key = str(item.parts.get("question_id") or item.item_id)
        entry: Json = {"beingAsked": {_TEXT: item.text}, "answerChoices": {}, "correctAnswer": {_TEXT: ""}}
    else:
        key, entry = item.foreign["id"], dict(item.foreign["question"])
    if entry["beingAsked"][_TEXT].strip() != item.text.strip():
        entry["beingAsked"] = entry["beingAsked"] | {_TEXT: item.text}
    before = _key(entry)
    if words_of("".join(before)) in {words_of(answer) for answer in item.gold_answers} or not (
        before or item.gold_answers
    ):
        return key, entry
    right = (entry.get("correctAnswer") or {}).get(_TEXT) or "a"
    if not item.gold_answers:
        return key, entry | {"correctAnswer": {_TEXT: ""}}
    choices = entry.get("answerChoices") or {}
    choice = (choices.get(right) or {}) | {_TEXT: item.gold_answers[0]}
    return key, entry | {"answerChoices": choices | {right: choice}, "correctAnswer": {_TEXT: right}}


TQA = Dialect(
    "tqa",
    "TQA textbook questions",
    recognises_lessons,
    read_lesson,
    write_lesson,
    "TQA (CVPR 2017); EXAM++ (arXiv 2402.00309)",
    parts,
    lesson_parts,
    join=list,
    keys=("globalID", "lessonName", "questions"),
)


def recognises_generated(records: Sequence[Json]) -> bool:
    facets = next(iter(records[0].values()), None)
    first = next(iter(facets.values()), None) if isinstance(facets, dict) else None
    return isinstance(first, dict) and isinstance(first.get("questions"), list)


def split(records: Sequence[Record]) -> Sequence[Record]:
    """Return a record for each topic."""
    return [
        Record(record.line, {query_id: facets})
        for record in records
        for query_id, facets in record.value.items()
    ]


def join(records: Sequence[Json]) -> Json:
    return {query_id: facets for record in records for query_id, facets in record.items()}


def read_generated(raw: Json, source: RecordPlace) -> BankLine:
    ((query_id, facets),) = raw.items()
    if not query_id.strip():
        raise BadFormat(f"the id {brief(query_id)} is blank, expected {_FACET_SHAPE}")
    if not isinstance(facets, dict):
        raise BadFormat(f"{brief(query_id)} is {brief(facets)}, expected {_FACET_SHAPE}")
    items = [item for facet_id, entry in facets.items() for item in _generated(query_id, facet_id, entry)]
    title = next((optional_text(entry, "title") for entry in facets.values()), "")
    return BankLine(
        query_id, source.line, items, query_text=title, parts=generated_head_parts(raw), foreign=raw
    )


def _generated(query_id: str, facet_id: str, entry: Any) -> Iterator[BankItem]:
    """Yield the questions of a subtopic; one that is there twice counts once."""
    place = f"{brief(query_id)}[{brief(facet_id)}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("questions"), list):
        raise BadFormat(f"{place} is {brief(entry)}, expected {{title, facet, questions: [text, ...]}}")
    facet_text, _ = optional_text(entry, "facet"), optional_text(entry, "title")
    seen: set[str] = set()
    for number, question in enumerate(entry["questions"]):
        if not isinstance(question, str) or not question.strip():
            raise BadFormat(f"{place}.questions[{number}] is {brief(question)}, expected text")
        text = _unnumbered(question)
        if not text:
            raise BadFormat(
                f"{place}.questions[{number}] is {brief(question)}, expected text after the number"
            )
        if text not in seen:
            seen.add(text)
            yield BankItem(
                item_id(query_id, text, facet_id.strip()),
                ItemKind.QUESTION,
                text,
                facet_id.strip(),
                facet_text=facet_text if facet_id.strip() else "",
                foreign={"question": question},
            )


def _unnumbered(question: str) -> str:
    """Return a question without the number of its list.

    >>> _unnumbered("12. Who keeps bees?")
    'Who keeps bees?'
    """
    return _NUMBER.sub("", question, count=1).strip() if _NUMBER.match(question) else question.strip()


def generated_head_parts(raw: Json) -> Parts:
    modelled = ("title", "facet", "questions")
    rest = {
        facet_id: {key: value for key, value in entry.items() if key not in modelled}
        for facets in raw.values()
        for facet_id, entry in facets.items()
    }
    return ours("genq", {facet_id: values for facet_id, values in rest.items() if values}, without=())


def write_generated(line: BankLine) -> Json:
    """Return the topic's questions as they stand in the file, with the words of now, and then new ones."""
    left = [item for item in line.items if item.kind is ItemKind.QUESTION]
    by_place = {
        (item.facet_id, _unnumbered(item.foreign["question"]) if item.foreign else item.text.strip()): item
        for item in left
    }
    facets: dict[str, Json] = {}
    for facet_id, entry in (line.foreign or {}).get(line.query_id, {}).items():
        kept = [(text, by_place.get((facet_id.strip(), _unnumbered(text)))) for text in entry["questions"]]
        questions = [
            text if _unnumbered(text) == item.text.strip() else item.text
            for text, item in kept
            if item is not None
        ]
        facets[facet_id] = entry | {"questions": questions}
        left = [item for item in left if all(item is not other for _, other in kept)]
    names = {facet_id.strip(): facet_id for facet_id in facets}
    for item in left:
        own = names.setdefault(item.facet_id, item.facet_id)
        new = {"title": line.query_text, "facet": item.facet_text, "questions": []}
        facets.setdefault(own, new)["questions"].append(item.text)
    return {line.query_id: facets}


GENERATED = Dialect(
    "genq",
    "Generated questions of the Workbench (genq)",
    recognises_generated,
    read_generated,
    write_generated,
    "RUBRIC Workbench",
    lambda raw: {},
    generated_head_parts,
    split=split,
    join=join,
)
