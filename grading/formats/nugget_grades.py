"""Grades of nuggets as AutoJudge's rubric judges and annotation tool write them, one grade a line.

A line grades a whole response of a run, or with `doc_id` a document that it cites, paragraph by paragraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grading.errors import BadFormat
from grading.formats.base import Content, Format, Sample
from grading.formats.graded_records import GradedBy, GradedLine, GradedPassage, ImportedGrade
from grading.formats.ids import item_id, text_md5
from grading.formats.json_lines import encode_json, in_words, json_object, real, whole
from grading.formats.reading import lines, write_lines
from grading.types import MAX_RATING, MIN_RATING, ItemKind, Outcome, Purpose

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
    """What was graded: the response, or a paragraph of the document."""
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
            known = best.setdefault((doc_id, _item(grade)), (grade, text))
            if grade.grade > known[0].grade:
                best[doc_id, _item(grade)] = grade, text
        yield GradedLine(query_id, grades[0].line, _passages(best, by))


def _graded_text(grade: NuggetGrade, path: Path, response_of: ResponseOf) -> tuple[str, str]:
    """(id of the passage, its text)."""
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


def _is_nugget_grades(sample: Sample) -> bool:
    return {"run_id", "query_id", "nugget_id", "grade"} <= sample.first_object.keys()


NUGGET_GRADES = Format(
    "nugget-grades",
    "Nugget grades of AutoJudge",
    Content.GRADES,
    _is_nugget_grades,
    read_nugget_grades,
    write_nugget_grades,
    is_lossless=True,
    source="TREC AutoJudge: rubric judges, autojudge-annotate 0.3.7",
)
