"""Assignments of nuggets to whole answers, as nuggetizer writes them, and NIST did for TREC RAG 2024.

A line is an answer of a run with all nuggets of its topic, or, as RAGDoll grades rubrics, with all criteria
and their verdicts. The file does not say who assigned them: whoever imports it does. `failed` (in old files
`fail`) is no label: no reply could be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.banks import ragdoll
from grading.formats.banks.nuggetizer import ASSIGNMENTS_DIALECT, FAILED_WORDS, read_assignments
from grading.formats.banks.records import (
    BankLine,
    Dialect,
    Json,
    RecordPlace,
    brief,
    identifier,
    read_records,
)
from grading.formats.graded_records import GradedBy, ImportedGrade
from grading.types import CONTRADICTS, ItemKind, Outcome, Purpose

ASSIGNED, GRADED_RUBRIC = (f"{dialect.name}-bank" for dialect in (ASSIGNMENTS_DIALECT, ragdoll.GRADED))
"""The names of their formats, by which a bank takes the nuggets or criteria alone."""
_NUGGETS_ALONE = replace(ASSIGNMENTS_DIALECT, name="assigned")
PROMPT_CLASS = "NuggetAssignment"
"""What assignments answer, whoever made them: support 2, partial support 1, none 0."""
PEOPLE = "people"
"""The author of assignments that people made, whose names no file has."""
FULL, PARTIAL = 2, 1
RATINGS: Mapping[str, int] = {"support": FULL, "partial_support": PARTIAL, "not_support": 0}
WORDS: Mapping[int, str] = {rating: word for word, rating in RATINGS.items()}
FAILED_WORD = FAILED_WORDS[0]
IMPORTANCES = ("vital", "okay", "failed")
KEYS = ("query", "qid", "nuggets", "run_id", "answer_text", "response_length")
NUGGET_KEYS = ("text", "importance", "assignment")
RUN_KEYS = ("run_id", "runtag", "run")
_SHAPE = "{query, qid, nuggets: [{text, importance, assignment}, ...], run_id, answer_text, response_length}"


@dataclass(frozen=True, slots=True)
class AssignedAnswer:
    """An answer of a run, and how far it supports each nugget of its topic."""

    bank_line: BankLine
    """The topic with its nuggets or criteria, in the file's order; none where none was assigned."""
    run_id: str
    text: str | None
    """The answer, as the file has it; it may be empty. None where the file has no text."""
    ratings: tuple[int | None, ...]
    """The rating of each nugget; None for an assignment that failed."""
    foreign: Json
    """The line as it was read."""
    path: Path
    dialect: Dialect | None
    """The bank's dialect that a line with its items, and nothing of the answer, is of.

    None where the items are the bank's.
    """
    prompt_class: str = PROMPT_CLASS
    replies: tuple[str, ...] = ()
    """Why, by nugget, where the file says it."""

    @property
    def query_id(self) -> str:
        return self.bank_line.query_id

    @property
    def line(self) -> int:
        return self.bank_line.line

    @property
    def place(self) -> str:
        return f"{self.path.name}:{self.line}"

    def grades(self, by: str) -> list[ImportedGrade]:
        """Return the assignments as grades of the grader of that name."""
        grader = GradedBy(ItemKind.NUGGET, by, self.prompt_class, Purpose.RATE)
        replies = self.replies or ("",) * len(self.ratings)
        cells = zip(self.bank_line.items, self.ratings, replies, strict=True)
        return [_grade(item.item_id, rating, reply, grader) for item, rating, reply in cells]


def read_assigned(paths: Iterable[Path]) -> list[AssignedAnswer]:
    """Return the answers of some files that one author assigned nuggets to.

    Raises `BadFormat` with file, line and field for a missing id or text, an unknown assignment or
    importance, a nugget or an answer that is there twice, and another list of nuggets than on an earlier line
    of the topic.
    """
    answers = [answer for path in paths for answer in _answers(path)]
    first_of_topic: dict[str, AssignedAnswer] = {}
    first_of_run: dict[tuple[str, str], AssignedAnswer] = {}
    for answer in answers:
        before = first_of_run.setdefault((answer.run_id, answer.query_id), answer)
        if before is not answer:
            problem = f"run {answer.run_id} answers topic {answer.query_id} here and in {before.place}"
            raise _error(answer, f"{problem}, expected one answer a run and topic")
        if answer.ratings:
            _refuse_other_nuggets(answer, first_of_topic.setdefault(answer.query_id, answer))
    return answers


def read_assignment_file(path: Path) -> list[AssignedAnswer]:
    """Return the answers of one file. Raises as `read_assigned`."""
    return read_assigned([path])


def in_order(raw: Json) -> Json:
    """Return a line with its keys, and those of its nuggets, in nuggetizer's order, unknown ones last."""
    nuggets = [_sorted(nugget, NUGGET_KEYS) for nugget in raw["nuggets"]]
    return _sorted(raw | {"nuggets": nuggets}, KEYS)


def _sorted(raw: Json, keys: Sequence[str]) -> Json:
    return {key: raw[key] for key in keys if key in raw} | raw


def assignment_of(rating: int | None, *, full: int = FULL, partial: int = PARTIAL) -> str:
    """Return the word for a rating; None and what lies below the scale are `failed`.

    There is none for a contradiction, which is no support.

    >>> [assignment_of(rating) for rating in (2, 1, 0, CONTRADICTS, None)]
    ['support', 'partial_support', 'not_support', 'not_support', 'failed']
    """
    if rating == CONTRADICTS:
        return WORDS[0]
    if rating is None or rating < 0:
        return FAILED_WORD
    return WORDS[FULL if rating >= full else PARTIAL if rating >= partial else 0]


def _answers(path: Path) -> Iterator[AssignedAnswer]:
    records = read_records(path)
    read = _graded if records and ragdoll.recognises_graded([records[0].value]) else _assigned
    for record in records:
        try:
            yield read(record.value, RecordPlace(record.line, path.name), path)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=record.line) from error


def _assigned(raw: Json, source: RecordPlace, path: Path) -> AssignedAnswer:
    line = read_assignments(raw, source)
    run_id, text = _answer(raw)
    labels = (_word(nugget, f"nuggets[{place}]") for place, nugget in enumerate(raw["nuggets"]))
    ratings = tuple(RATINGS.get(label) for label in labels)
    return AssignedAnswer(line, run_id, text, ratings, raw, path, _NUGGETS_ALONE)


def _graded(raw: Json, source: RecordPlace, path: Path) -> AssignedAnswer:
    line = ragdoll.read(raw, source)
    run_id, text = _answer(raw)
    labels = (
        ragdoll.assignment_of(criterion.get("verdict"), f"criteria[{place}]")
        for place, criterion in enumerate(raw["criteria"])
    )
    items = [replace(item, foreign=ragdoll.without_verdict(item.foreign or {})) for item in line.items]
    alone = replace(line, items=items, parts={}, foreign=None)
    ratings = tuple(RATINGS.get(label) for label in labels)
    return AssignedAnswer(alone, run_id, text, ratings, raw, path, ragdoll.DIALECT)


def _answer(raw: Json) -> tuple[str, str]:
    """Return (run, text). Raises BadFormat."""
    run_id = identifier(raw, *RUN_KEYS)
    if not run_id:
        raise BadFormat(f"no run_id, expected {_SHAPE}")
    text, length = raw.get("answer_text"), raw.get("response_length")
    if not isinstance(text, str):
        raise BadFormat(f"answer_text is {brief(text)}, expected the text of the answer")
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
        raise BadFormat(f"response_length is {brief(length)}, expected a number of words")
    return run_id, text


def _word(nugget: Json, place: str) -> str:
    """Return the nugget's assignment."""
    word, importance = nugget.get("assignment"), nugget.get("importance")
    if importance not in IMPORTANCES:
        raise BadFormat(f"{place}.importance is {brief(importance)}, expected {', '.join(IMPORTANCES)}")
    if word not in RATINGS and word not in FAILED_WORDS:
        expected = ", ".join((*RATINGS, FAILED_WORD))
        raise BadFormat(f"{place}.assignment is {brief(word)}, expected {expected}")
    return str(word)


def _refuse_other_nuggets(answer: AssignedAnswer, first: AssignedAnswer) -> None:
    """Raise `BadFormat` where the answer has other nuggets than the first of its topic."""
    if answer is first:
        return
    key = "criteria" if "criteria" in answer.foreign else "nuggets"
    for place, (here, there) in enumerate(zip_longest(_listed(answer), _listed(first))):
        if here != there:
            problem = (
                f"{key}[{place}] of topic {answer.query_id} is {_named(here)} here and {_named(there)} in "
                f"{first.place}, expected the same {key} in the same order in all lines of a topic"
            )
            raise _error(answer, problem)


def _listed(answer: AssignedAnswer) -> list[tuple[str, str]]:
    """Return (text, importance) of each nugget, or importance and weight of each criterion."""
    if "nuggets" in answer.foreign:
        return [(nugget["text"], nugget["importance"]) for nugget in answer.foreign["nuggets"]]
    return [(item.text, f"{item.importance}, weight {item.weight:g}") for item in answer.bank_line.items]


def _named(nugget: tuple[str, str] | None) -> str:
    return f"{brief(nugget[0])} ({nugget[1]})" if nugget else "missing"


def _grade(item_id: str, rating: int | None, reply: str, by: GradedBy) -> ImportedGrade:
    if rating is not None:
        return ImportedGrade(item_id, by, rating, reply, Outcome.NUMERIC)
    return ImportedGrade(item_id, by, None, "", Outcome.FAILED, f"the file has the assignment {FAILED_WORD}")


def _error(answer: AssignedAnswer, problem: str) -> BadFormat:
    return BadFormat(problem, file=answer.path.name, line=answer.line)
