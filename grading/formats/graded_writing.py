"""Writer of Workbench graded files, the other half of `graded`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import msgspec

from grading.formats.graded_json import (
    AnswerJson,
    DirectGradeJson,
    ErrorJson,
    ExamGradesJson,
    JudgmentJson,
    PassageJson,
    PoolingJson,
    PromptJson,
    RankingJson,
    SelfRatingJson,
    TopicJson,
)
from grading.formats.graded_records import GradedBy, GradedLine, GradedPassage, ImportedGrade
from grading.formats.reading import write_lines
from grading.types import ItemKind, Outcome, Purpose

_PROMPT_TYPE = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "direct_grading"}


def write_graded(path: Path, topics: Iterable[GradedLine]) -> None:
    """Write what `read_graded` and the published Workbench read, a topic a line.

    Grades of one grader that follow each other become one entry. Reading a written file and writing it again
    gives the same bytes; what `read_graded` does not keep of other files (fields it ignores, entries left
    out) is not written.
    """
    write_lines(path, (msgspec.json.encode(_topic(topic)) for topic in topics))


def _topic(topic: GradedLine) -> TopicJson:
    return TopicJson(topic.query_id, [_passage(passage, topic.query_id) for passage in topic.passages])


def _passage(passage: GradedPassage, query_id: str) -> PassageJson:
    exam_grades = [
        _entry(by, list(grades))
        for by, grades in groupby(passage.grades, key=attrgetter("by"))
        if by.purpose is not Purpose.DIRECT
    ]
    grades = [_direct(grade) for grade in passage.grades if grade.by.purpose is Purpose.DIRECT]
    pooling = PoolingJson(_judgments(passage), _rankings(passage, query_id))
    return PassageJson(passage.doc_id, passage.text, pooling, exam_grades, grades)


def _judgments(passage: GradedPassage) -> list[JudgmentJson]:
    return [
        JudgmentJson(
            relevance=judgment.relevance,
            query="/".join(filter(None, (judgment.query_id, judgment.facet_id))),
            title_query=judgment.query_id,
            paragraph_id=passage.doc_id,
        )
        for judgment in passage.judgments
    ]


def _rankings(passage: GradedPassage, query_id: str) -> list[RankingJson]:
    return [
        RankingJson(ranked.run_tag, ranked.rank, ranked.score, query_id, passage.doc_id)
        for ranked in passage.rankings
    ]


def _entry(by: GradedBy, grades: list[ImportedGrade]) -> ExamGradesJson:
    counted = [grade for grade in grades if grade.outcome is not Outcome.FAILED]
    correct = [grade.item_id for grade in counted if _is_correct(grade)]
    return ExamGradesJson(
        correct=list[str | int](correct),
        wrong=[grade.item_id for grade in counted if not _is_correct(grade)],
        answers=[AnswerJson(grade.item_id, grade.answer) for grade in counted if _has_answer(grade)],
        llm=by.llm,
        llm_options=dict(by.options),
        exam_ratio=len(correct) / len(counted) if counted else 0.0,
        prompt_info=_prompt(by),
        prompt_type=_PROMPT_TYPE[by.kind],
        self_ratings=[_self_rating(grade) for grade in counted] if by.purpose is Purpose.RATE else None,
        llm_response_errors={
            grade.item_id: _error(grade) for grade in grades if grade.outcome is Outcome.FAILED
        },
    )


def _is_correct(grade: ImportedGrade) -> bool:
    return grade.rating is None or grade.rating > 0


def _has_answer(grade: ImportedGrade) -> bool:
    """An empty reply is one, unless the rating came without any."""
    return bool(grade.answer) or grade.outcome is not Outcome.NUMERIC


def _self_rating(grade: ImportedGrade) -> SelfRatingJson:
    if grade.by.kind is ItemKind.NUGGET:
        return SelfRatingJson(grade.rating, nugget_id=grade.item_id)
    return SelfRatingJson(grade.rating, question_id=grade.item_id)


def _prompt(by: GradedBy) -> PromptJson:
    return PromptJson(by.prompt_class, by.purpose is Purpose.RATE, by.purpose is Purpose.VERIFY)


def _error(grade: ImportedGrade) -> ErrorJson | str | None:
    return ErrorJson(response=grade.answer, failure_reason=grade.reason)


def _direct(grade: ImportedGrade) -> DirectGradeJson:
    is_failed = grade.outcome is Outcome.FAILED
    return DirectGradeJson(
        correct=bool(grade.rating),
        llm=grade.by.llm,
        answer=grade.answer,
        llm_options=dict(grade.by.options),
        prompt_info=_prompt(grade.by),
        prompt_type=_PROMPT_TYPE[ItemKind.DIRECT],
        self_ratings=grade.rating,
        llm_response_error=_error(grade) if is_failed else None,
    )
