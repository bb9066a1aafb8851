"""Grades that other tools write: AutoJudge's grades of nuggets, and UMBRELA's labels.

A line of AutoJudge's rubric judges or annotation tool grades a whole response of a run, or with `doc_id` a
document that the response cites, paragraph by paragraph.

UMBRELA's output names neither topics nor passages: it is in the order of the requests, and only the request
file tells whose label a line has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, record_lines
from grading.formats.graded_records import DIRECT_ITEM, GradedBy, GradedLine, GradedPassage, ImportedGrade
from grading.formats.json_lines import Number, encode_json, in_words, json_object, real, records, whole
from grading.formats.passages import PassageEntry, read_passages
from grading.formats.reading import lines, write_lines
from grading.types import MAX_RATING, MIN_RATING, ItemKind, Outcome, Purpose, item_id, text_md5

_SHAPE = (
    '{"run_id", "query_id", "nugget_id", "question", "grade", "reasoning"?, "confidence"?, '
    '"addressed_quote"?, "passage"?, "doc_id"?, "paragraph_idx"?}'
)
PROMPT_CLASS = "AutoJudgeNuggetGrade"
"""The file does not say which prompt was asked."""
ResponseOf = Callable[[str, str], str | None]
"""(run tag, query id) -> the text of the run's response."""
_PURPOSES = (Purpose.RATE, Purpose.EXTRACT)
_TEXTS = ("reasoning", "addressed_quote", "passage")


MOST = 4
"""The highest label: 3 of UMBRELA's own scale, 4 of TREC RAG 2025."""
CLASSES = {3: "Umbrela", 4: "Umbrela-0-4"}
"""The prompt class of imported labels, by the highest label of their scale."""
SCALES: Mapping[str, tuple[tuple[int, int], int]] = {name: ((0, top), 2) for top, name in CLASSES.items()}
"""Prompt class -> (lowest label, highest) and the first that counts as relevant (arXiv 2406.06519)."""
_REQUEST_SHAPE = '{"query", "passage", "judgment", "model"?, "prediction"?, "result_status"?}'


@dataclass(frozen=True, slots=True)
class NuggetGrade:
    """One grade. Texts are None where the file has none: an empty quote was looked for, and not found."""

    run_id: str
    query_id: str
    nugget_id: str
    question: str
    grade: int
    """From 0 to 5."""
    reasoning: str | None = None
    addressed_quote: str | None = None
    passage: str | None = None
    """The graded text: the response, or a paragraph of the document."""
    confidence: float | None = None
    doc_id: str = ""
    """Empty for a grade of the response."""
    paragraph: int | None = None
    foreign: Mapping[str, Any] = field(default_factory=dict)
    """The JSON object as it was read."""
    line: int = field(default=0, compare=False)


def read_nugget_grades(path: Path) -> Iterator[NuggetGrade]:
    """Yield the grades in the file's order.

    Raises `BadFormat` with file and line for a missing or empty id, a grade that is not from 0 to 5, and
    values of another type; and for a response or paragraph that has two grades for a nugget.
    """
    seen: dict[tuple[object, ...], int] = {}
    for number, text in lines(path):
        try:
            grade = _grade(json_object(text, shape=_SHAPE), number)
            graded = grade.query_id, grade.nugget_id, grade.run_id, grade.doc_id, grade.paragraph
            first = seen.setdefault(graded, number)
            if first != number:
                raise BadFormat(f"nugget {grade.nugget_id} was graded on line {first}, expected one grade")
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        yield grade


def graded_lines(path: Path, *, llm: str, response_of: ResponseOf) -> Iterator[GradedLine]:
    """Yield the grades of the file a topic at a time, as a graded file would have them, by the grader `llm`.

    A response is the passage of its text's md5; a paragraph of a document is `<doc id>#<number>`. Of several
    grades of one text the highest counts, as in AutoJudge's qrels. A quote is an extracted answer. Raises
    `BadFormat` as `read_nugget_grades` does, and where nobody knows the text that was graded.
    """
    by_topic: dict[str, list[NuggetGrade]] = {}
    for grade in read_nugget_grades(path):
        by_topic.setdefault(grade.query_id, []).append(grade)
    by = tuple(GradedBy(ItemKind.QUESTION, llm, PROMPT_CLASS, purpose) for purpose in _PURPOSES)
    for query_id, grades in by_topic.items():
        best: dict[tuple[str, str], tuple[NuggetGrade, str]] = {}
        for grade in grades:
            doc_id, text = _graded_text(grade, path, response_of)
            best_one = best.setdefault((doc_id, _item(grade)), (grade, text))
            if grade.grade > best_one[0].grade:
                best[doc_id, _item(grade)] = grade, text
        yield GradedLine(query_id, grades[0].line, _passages(best, by))


def _graded_text(grade: NuggetGrade, path: Path, response_of: ResponseOf) -> tuple[str, str]:
    """Return (id of the passage, its text)."""
    text = grade.passage
    if text is None and not grade.doc_id:
        text = response_of(grade.run_id, grade.query_id)
    if not text or not text.strip():
        problem = f"nobody knows what was graded of run {grade.run_id}, expected passage (or its responses)"
        raise BadFormat(problem, file=path.name, line=grade.line)
    number = "" if grade.paragraph is None else f"#{grade.paragraph}"
    return (f"{grade.doc_id}{number}" if grade.doc_id else text_md5(text)), text


def _item(grade: NuggetGrade) -> str:
    if grade.question.strip():
        return item_id(grade.query_id, grade.question)
    return f"{grade.query_id}/{grade.nugget_id}"


def _passages(
    best: Mapping[tuple[str, str], tuple[NuggetGrade, str]], by: tuple[GradedBy, ...]
) -> list[GradedPassage]:
    rating, quoting = by
    passages: dict[str, GradedPassage] = {}
    for (doc_id, item), (grade, text) in best.items():
        passage = passages.setdefault(doc_id, GradedPassage(doc_id, text, [], [], []))
        reply = grade.reasoning or ""
        passage.grades.append(ImportedGrade(item, rating, grade.grade, reply, Outcome.NUMERIC))
        if grade.addressed_quote:
            quote = grade.addressed_quote
            passage.grades.append(ImportedGrade(item, quoting, None, quote, Outcome.EXTRACTED))
    return list(passages.values())


def write_nugget_grades(path: Path, grades: Iterable[NuggetGrade]) -> None:
    """Write each as it was read; of grades that were not read, what they say."""
    write_lines(path, (encode_json(_object(grade)) for grade in grades))


def _grade(raw: dict[str, Any], line: int) -> NuggetGrade:
    grade = whole(raw.get("grade"), what="the grade")
    if not MIN_RATING <= grade <= MAX_RATING:
        raise BadFormat(f"the grade is {grade}, expected {MIN_RATING} to {MAX_RATING}")
    reasoning, quote, passage = (_text(raw, name) for name in _TEXTS)
    confidence, paragraph = raw.get("confidence"), raw.get("paragraph_idx")
    return NuggetGrade(
        run_id=_id(raw, "run_id"),
        query_id=_id(raw, "query_id"),
        nugget_id=_id(raw, "nugget_id"),
        question=_text(raw, "question") or "",
        grade=grade,
        reasoning=reasoning,
        addressed_quote=quote,
        passage=passage,
        confidence=None if confidence is None else _number(confidence),
        doc_id="" if raw.get("doc_id") is None else _id(raw, "doc_id"),
        paragraph=None if paragraph is None else whole(paragraph, what="paragraph_idx"),
        foreign=raw,
        line=line,
    )


def _id(raw: Mapping[str, Any], name: str) -> str:
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        raise BadFormat(f"{name} is missing or no id, expected {_SHAPE}")
    return str(value).strip()


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    value = raw.get(name)
    if value is not None and not isinstance(value, str):
        raise BadFormat(f"{name} is {in_words(value)}, expected text")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadFormat(f"confidence is {in_words(value)}, expected a number")
    return real(value, what="confidence")


def _object(grade: NuggetGrade) -> dict[str, Any]:
    if grade.foreign:
        return dict(grade.foreign)
    stated: dict[str, Any] = {
        "run_id": grade.run_id,
        "query_id": grade.query_id,
        "nugget_id": grade.nugget_id,
        "question": grade.question,
        "grade": grade.grade,
        "reasoning": grade.reasoning,
        "confidence": grade.confidence,
    }
    others = {
        "addressed_quote": grade.addressed_quote,
        "passage": grade.passage,
        "doc_id": grade.doc_id or None,
        "paragraph_idx": grade.paragraph,
    }
    return stated | {name: value for name, value in others.items() if value is not None}


NUGGET_GRADES = Format(
    "nugget-grades",
    "Nugget grades of AutoJudge",
    Content.GRADES,
    lambda sample: {"run_id", "query_id", "nugget_id", "grade"} <= sample.first_object.keys(),
    read_nugget_grades,
    write_nugget_grades,
    is_lossless=True,
    source="TREC AutoJudge: rubric judges, autojudge-annotate 0.3.7",
)


class _OutputJson(msgspec.Struct):
    query: str
    passage: str
    judgment: Number | None
    model: str = "umbrela"
    prediction: object = None
    result_status: int | bool | None = None


_DECODER = msgspec.json.Decoder(_OutputJson)


@dataclass(frozen=True, slots=True)
class UmbrelaOutput:
    """One label; None where the reply could not be read, which UMBRELA writes as 0."""

    query: str
    passage: str
    label: int | None
    model: str
    reply: str
    line: int


@dataclass(frozen=True, slots=True)
class LabelledRequest:
    """The labels of one request, as a graded file would have them."""

    query_text: str
    graded: GradedLine


def read_umbrela(path: Path) -> Iterator[UmbrelaOutput]:
    """Yield the labels in the file's order. Raises `BadFormat` for a label that is not from 0 to 4."""
    return records(path, _DECODER, _output, shape=_REQUEST_SHAPE, numbered=record_lines(path))


def read_labels(path: Path, requests: Path) -> Iterator[LabelledRequest]:
    """Yield the labels of each request with the ids of its topic and candidates.

    Raises `BadFormat` where the two files differ in a query, a passage or the number of candidates.
    """
    top = 4 if any(output.label == MOST for output in read_umbrela(path)) else 3
    pairs = zip_longest(read_umbrela(path), read_passages(requests))
    checked = (_same(path, requests, output, entry) for output, entry in pairs)
    for (query_id, _), labelled in groupby(checked, key=lambda pair: (pair[1].query_id, pair[1].line)):
        listed = list(labelled)
        passages = [
            GradedPassage(entry.doc_id, entry.text, [], [], [_umbrela_grade(output, CLASSES[top])])
            for output, entry in listed
        ]
        graded = GradedLine(query_id or "", listed[0][0].line, passages)
        yield LabelledRequest(listed[0][1].query_text, graded)


def _output(raw: _OutputJson, line: int) -> UmbrelaOutput:
    has_failed = raw.judgment is None or raw.result_status == 0
    label = None if has_failed else whole(raw.judgment, what="the judgment")
    if label is not None and not 0 <= label <= MOST:
        raise BadFormat(f"the judgment is {label}, expected 0 to {MOST}")
    reply = "" if raw.prediction is None else str(raw.prediction)
    return UmbrelaOutput(raw.query, raw.passage, label, raw.model, reply, line)


def _same(
    path: Path, requests: Path, output: UmbrelaOutput | None, entry: PassageEntry | None
) -> tuple[UmbrelaOutput, PassageEntry]:
    """Return the pair, which has to be of the same query and passage."""
    if output is None or entry is None:
        line = output.line if output else entry.line if entry else 1
        file = path if output else requests
        problem = f"{file.name} has more lines or candidates, expected one output a candidate"
        raise BadFormat(problem, file=file.name, line=line)
    if entry.query_id is None:
        raise BadFormat("passages without a query, expected reranker requests", file=requests.name, line=1)
    for name, here, there in (
        ("query", output.query, entry.query_text),
        ("passage", output.passage, entry.text),
    ):
        if there.strip() not in here:
            problem = f"the {name} is another than that of {entry.doc_id} in {requests.name}:{entry.line}"
            raise BadFormat(f"{problem}, expected outputs in its order", file=path.name, line=output.line)
    return output, entry


def _umbrela_grade(output: UmbrelaOutput, prompt_class: str) -> ImportedGrade:
    by = GradedBy(ItemKind.DIRECT, output.model, prompt_class, Purpose.DIRECT)
    if output.label is None:
        reason = "UMBRELA found no label in the reply"
        return ImportedGrade(DIRECT_ITEM, by, None, output.reply, Outcome.FAILED, reason)
    return ImportedGrade(DIRECT_ITEM, by, output.label, output.reply, Outcome.NUMERIC)


UMBRELA = Format(
    "umbrela-output",
    "Output of UMBRELA",
    Content.LABELS,
    lambda sample: {"query", "passage", "judgment"} <= sample.first_object.keys(),
    read_umbrela,
    None,
    is_lossless=False,
    source="UMBRELA (arXiv 2406.06519)",
)
