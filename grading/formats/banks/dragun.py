"""Rubrics of the TREC DRAGUN track: questions by importance, each with short answers, which are its nuggets.

A file is the rubric of one topic: `{topic_id, rubrics: [{question_id: "<topic>-<number>", question_text,
importance: "A: Have to Know", short_answers: [{answer_id, answer}]}]}`. A question is a subtopic, whose id
is its number; the weight of its importance, 4, 2 or 1, is the weight of each of its answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
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
    identifier,
    objects,
    ours,
    refuse_twins,
    text_of,
)
from grading.types import Importance, ItemKind, item_id

IMPORTANCES: Mapping[str, importance.Weighed] = {
    "A: Have to Know": importance.Weighed(Importance.VITAL, 4),
    "B: Good to Know": importance.Weighed(Importance.OKAY, 2),
    "C: Nice to Know": importance.Weighed(Importance.OKAY, 1),
}
"""What the word of a question says of its answers."""
_VITAL, _GOOD, _NICE = IMPORTANCES
TEXT = "answer"
"""The key of a new short answer's text; one that was read is the only text beside its id."""
ANSWER_ID = "answer_id"
_NUMBER = re.compile(r"(?:.*-)?([0-9]{1,9})", re.DOTALL)
_SHAPE = (
    "{topic_id, rubrics: [{question_id, question_text, importance, short_answers: [{answer_id, answer}]}]}"
)


def recognises(records: Sequence[Json]) -> bool:
    listed = records[0].get("rubrics")
    first = listed[0] if isinstance(listed, list) and listed else None
    is_of_question = isinstance(first, dict) and "short_answers" in first
    return "rubrics" in records[0] and ("topic_id" in records[0] or is_of_question)


def read(raw: Json, source: RecordPlace) -> BankLine:
    query_id = identifier(raw, "topic_id")
    if not query_id:
        raise BadFormat(f"no topic_id, expected {_SHAPE}")
    if raw.get("rubrics") is None:
        raise BadFormat(f"no rubrics, expected {_SHAPE}")
    items: list[BankItem] = []
    numbers: dict[str, str] = {}
    for place, question in enumerate(objects(raw["rubrics"], "rubrics")):
        number = _number_of(question, f"rubrics[{place}]")
        earlier = numbers.setdefault(number, f"rubrics[{place}]")
        if earlier != f"rubrics[{place}]":
            raise BadFormat(
                f"{earlier} and rubrics[{place}] have the number {number}, expected each number once a topic"
            )
        items += _items(question, query_id, number, f"rubrics[{place}]")
    _refuse_repeated_ids(items)
    foreign = raw | {"rubrics": [question | {"short_answers": []} for question in raw["rubrics"]]}
    return BankLine(query_id, source.line, items, parts=head_parts(foreign), foreign=foreign)


def _number_of(question: Json, place: str) -> str:
    """Return the number of a question, which stands after the last hyphen of its id. Raises BadFormat."""
    stated = question.get("question_id")
    match = _NUMBER.fullmatch(stated) if isinstance(stated, str) else None
    if match is None:
        raise BadFormat(f"{place}.question_id is {brief(stated)}, expected a topic, a hyphen and a number")
    return str(int(match[1]))


def _items(question: Json, query_id: str, number: str, place: str) -> list[BankItem]:
    text = text_of(question, "question_text", place).strip()
    stated = question.get("importance")
    if not isinstance(stated, str) or stated not in IMPORTANCES:
        raise BadFormat(f"{place}.importance is {brief(stated)}, expected {', '.join(IMPORTANCES)}")
    if question.get("short_answers") is None:
        raise BadFormat(f"{place} has no short_answers, expected [{{{ANSWER_ID}, {TEXT}}}, ...]")
    items = []
    for n, raw in enumerate(objects(question["short_answers"], f"{place}.short_answers")):
        own = f"{place}.short_answers[{n}]"
        if not identifier(raw, ANSWER_ID):
            raise BadFormat(f"{own} has no {ANSWER_ID}, expected one that is unique in the topic")
        answer = text_of(raw, _text_key(raw, own), own)
        items.append(
            BankItem(
                item_id(query_id, answer, number),
                ItemKind.NUGGET,
                answer,
                number,
                importance=IMPORTANCES[stated].importance,
                weight=IMPORTANCES[stated].weight,
                facet_text=text,
                parts=parts(raw),
                foreign=raw,
            )
        )
    refuse_twins(items, f"{place}.short_answers")
    return items


def _text_key(raw: Json, place: str) -> str:
    """Return the key that has the text of a short answer. Raises BadFormat."""
    keys = [key for key, value in raw.items() if isinstance(value, str) and key != ANSWER_ID]
    if TEXT in raw or not keys:
        return TEXT
    if len(keys) > 1:
        raise BadFormat(f"{place} has the texts {', '.join(keys)}, expected one, or one that is named {TEXT}")
    return keys[0]


def _refuse_repeated_ids(items: Iterable[BankItem]) -> None:
    seen: dict[str, BankItem] = {}
    for item in items:
        identity = answer_id(item)
        first = seen.setdefault(identity, item)
        if first is not item:
            raise BadFormat(
                f"{ANSWER_ID} {identity} is {brief(first.text)} in question {first.facet_id} and "
                f"{brief(item.text)} in question {item.facet_id}, expected each id once a topic"
            )


def answer_id(item: BankItem) -> str:
    """Return the id of a short answer; empty for an item of another dialect."""
    return identifier(item.foreign or {}, ANSWER_ID)


def parts(raw: Json) -> Parts:
    return ours("dragun", raw, without=(_text_key(raw, ""),))


def head_parts(raw: Json) -> Parts:
    """Return what the line, and each of its questions by number, says besides what is modelled."""
    modelled = ("question_text", "importance", "short_answers")
    questions = {
        _number_of(question, ""): {key: value for key, value in question.items() if key not in modelled}
        for question in raw["rubrics"]
    }
    return ours("dragun", raw | {"questions": questions}, without=("topic_id", "rubrics"))


def write(line: BankLine) -> Json:
    """Return the questions as read, with the answers and importance of now, then those of new subtopics."""
    head: dict[str, Any] = line.foreign or {"topic_id": line.query_id, "rubrics": []}
    by_question: dict[str, list[BankItem]] = {}
    for place, item in enumerate(filter(_is_sayable, line.items)):
        by_question.setdefault(item.facet_id or f" {place}", []).append(item)
    ids = answer_ids(line.items)
    questions = []
    for question in head["rubrics"]:
        items = by_question.pop(_number_of(question, ""), [])
        questions.append(question | _question_fields(items, question, ids))
    numbers = _free_numbers(head["rubrics"], by_question)
    for facet_id, items in by_question.items():
        number = str(int(facet_id)) if _is_number(facet_id) else next(numbers)
        text = items[0].facet_text or (items[0].text if facet_id.startswith(" ") else facet_id)
        named = {"question_id": f"{line.query_id}-{number}", "question_text": text}
        questions.append(named | _question_fields(items, {}, ids))
    return head | {"rubrics": questions}


def _is_sayable(item: BankItem) -> bool:
    return item.kind is ItemKind.NUGGET and importance.weighed(item.importance, item.weight).weight >= 0


def _is_number(facet_id: str) -> bool:
    return re.fullmatch("[1-9][0-9]{0,8}", facet_id) is not None


def _question_fields(items: Sequence[BankItem], before: Json, ids: Mapping[str, str]) -> Json:
    """Return what a question says of its answers; its words and importance as read where they still hold."""
    fields: dict[str, Any] = {}
    if (
        items
        and items[0].facet_text
        and before.get("question_text", "").strip() != items[0].facet_text.strip()
    ):
        fields["question_text"] = items[0].facet_text
    present = [importance.weighed(item.importance, item.weight) for item in items]
    stated = IMPORTANCES.get(before.get("importance", ""))
    if present and stated not in present:
        fields["importance"] = min(_word_of(worth) for worth in present)
    return fields | {"short_answers": [_short_answer(item, ids) for item in items]}


def _word_of(worth: importance.Weighed) -> str:
    """Return the importance of DRAGUN: a nugget that is okay, and has no weight of its own, is good to know.

    >>> [_word_of(importance.weighed(Importance.OKAY, weight))[0] for weight in (None, 1, 1.5, 3)]
    ['B', 'C', 'B', 'B']
    """
    if worth.importance is Importance.VITAL:
        return _VITAL
    is_plain = worth == importance.weighed(worth.importance)
    return _GOOD if is_plain or worth.weight >= 1.5 else _NICE


def _short_answer(item: BankItem, ids: Mapping[str, str]) -> Json:
    if item.foreign is None:
        return {ANSWER_ID: ids[item.item_id], TEXT: item.text}
    key = _text_key(item.foreign, "")
    return item.foreign if item.foreign[key].strip() == item.text.strip() else item.foreign | {key: item.text}


def answer_ids(items: Iterable[BankItem]) -> dict[str, str]:
    """Return the id of each item as a short answer by its own: that of the file, or the next that is free."""
    items = list(items)
    taken = {answer_id(item) for item in items}
    free = (name for number in count(1) if (name := f"na-{number}") not in taken)
    return {item.item_id: answer_id(item) or next(free) for item in items}


def _free_numbers(questions: Iterable[Json], facet_ids: Iterable[str]) -> Iterator[str]:
    taken = {_number_of(question, "") for question in questions} | set(facet_ids)
    return (str(number) for number in count(1) if str(number) not in taken)


def notes(line: BankLine) -> list[str]:
    """Return which questions have no short answer: they are kept, and no score counts them."""
    answered = {item.facet_id for item in line.items}
    numbers = [_number_of(question, "") for question in (line.foreign or {}).get("rubrics", [])]
    lacking = ", ".join(number for number in numbers if number not in answered)
    problem = f"topic {line.query_id}: questions without short answers, which no score counts: {lacking}"
    return [problem] if lacking else []


DIALECT = Dialect(
    "dragun",
    "DRAGUN rubric",
    recognises,
    read,
    write,
    "TREC DRAGUN 2025 (arXiv 2602.24277)",
    parts,
    head_parts,
    file_name="{query_id}.json",
    notes=notes,
    keys=("topic_id", "rubrics"),
)
