"""Reader and writer of Workbench graded files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.graded_entries import direct_grade, graded_by, item_grades, labelled_by
from grading.formats.graded_records import (
    SHAPE,
    AnswerJson,
    ConfigKey,
    DirectGradeJson,
    ErrorJson,
    ExamGradesJson,
    GradedBy,
    GradedLine,
    GradedPassage,
    Identifier,
    ImportedGrade,
    Judgment,
    JudgmentJson,
    PassageJson,
    PooledRank,
    PoolingJson,
    PromptJson,
    RankingJson,
    SelfRatingJson,
    TopicJson,
)
from grading.formats.json_lines import decode, real, records, whole
from grading.formats.reading import write_lines
from grading.types import ItemKind, Outcome, Purpose

_PROMPT_TYPE = {ItemKind.QUESTION: "question", ItemKind.NUGGET: "nugget", ItemKind.DIRECT: "direct_grading"}


def write_graded(path: Path, topics: Iterable[GradedLine]) -> None:
    """Write what `read_graded` and the published Workbench read, a topic a line.

    Grades of one grader that follow each other become one entry. Reading a written file and writing it again
    gives the same bytes; what `read_graded` does not keep of other files (fields it ignores, entries left
    out) is not written.
    """
    write_lines(path, map(encoded, topics))


def encoded(topic: GradedLine) -> bytes:
    """Return the line of a topic, without a line break."""
    return msgspec.json.encode(
        TopicJson(topic.query_id, [_passage_json(passage, topic.query_id) for passage in topic.passages])
    )


def _passage_json(passage: GradedPassage, query_id: str) -> PassageJson:
    exam_grades = [
        _entry(by, list(grades))
        for by, grades in groupby(passage.grades, key=attrgetter("by"))
        if by.purpose is not Purpose.DIRECT
    ]
    grades = [_direct(grade) for grade in passage.grades if grade.by.purpose is Purpose.DIRECT]
    pooling = PoolingJson(
        [
            JudgmentJson(
                relevance=judgment.relevance,
                query="/".join(filter(None, (judgment.query_id, judgment.facet_id))),
                title_query=judgment.query_id,
                paragraph_id=passage.doc_id,
            )
            for judgment in passage.judgments
        ],
        [
            RankingJson(ranked.run_tag, ranked.rank, ranked.score, query_id, passage.doc_id)
            for ranked in passage.rankings
        ],
    )
    return PassageJson(passage.doc_id, passage.text, pooling, exam_grades, grades)


def _entry(by: GradedBy, grades: list[ImportedGrade]) -> ExamGradesJson:
    counted = [grade for grade in grades if grade.outcome is not Outcome.FAILED]
    correct = [grade.item_id for grade in counted if _is_correct(grade)]
    return ExamGradesJson(
        correct=list[str | int](correct),
        wrong=[grade.item_id for grade in counted if not _is_correct(grade)],
        answers=[
            AnswerJson(grade.item_id, grade.answer)
            for grade in counted
            if bool(grade.answer) or grade.outcome is not Outcome.NUMERIC
        ],
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


class _RawTopic(msgspec.Struct, array_like=True):
    query_id: Identifier
    passages: list[msgspec.Raw]


_TOPIC = msgspec.json.Decoder(_RawTopic)
_PASSAGE = msgspec.json.Decoder(PassageJson)


def read_graded(path: Path) -> Iterator[GradedLine]:
    """Yield the topics of a graded file, a line at a time.

    Raises `BadFormat` with file, line and what was expected.

    Accepted quirks: entries without prompt information, prompt type or label; `answers` for `answer` in
    direct grades; items named by `question_id` or `nugget_id`; numbers as run tags and ids; fields and
    elements that are not known.
    """
    return records(path, _TOPIC, _topic, shape=SHAPE)


def _topic(raw: _RawTopic, line: int) -> GradedLine:
    """Decode a passage after the other: the JSON of a whole topic takes many times its records' memory."""
    query_id = identifier(raw.query_id, "the query id")
    passages, ignored = [], 0
    for place, encoded in enumerate(raw.passages):
        passage_json = decode(encoded, _PASSAGE, shape=SHAPE, at=f"$[1][{place}]")
        passage, left_out = _passage(passage_json, query_id)
        passages.append(passage)
        ignored += left_out
    return GradedLine(query_id, line, passages, ignored)


def _passage(raw: PassageJson, query_id: str) -> tuple[GradedPassage, int]:
    doc_id = identifier(raw.doc_id, "the paragraph_id")
    try:
        grades: list[ImportedGrade] = []
        seen: set[ConfigKey] = set()
        entries, directs = raw.exam_grades or [], raw.grades or []
        for entry in entries:
            by = graded_by(entry)
            if by.config not in seen:
                seen.add(by.config)
                grades += item_grades(entry, by)
        for direct in directs:
            by = labelled_by(direct)
            if by.config not in seen:
                seen.add(by.config)
                grades.append(direct_grade(direct, by))
        judgments = [_judgment(judgment, query_id) for judgment in raw.pooling.judgments]
        rankings = [_ranking(ranking) for ranking in raw.pooling.rankings]
    except BadFormat as error:
        raise BadFormat(f"passage {doc_id}: {error.problem}") from error
    # Entries that repeat the config of an earlier one are left out.
    ignored = len(entries) + len(directs) - len(seen)
    return GradedPassage(doc_id, raw.text, judgments, rankings, grades), ignored


def _judgment(raw: JudgmentJson, query_id: str) -> Judgment:
    """Return a judgment of the topic, of a subtopic or of another topic altogether.

    The query of a subtopic is `<query id>/<facet>`.
    """
    judged = str(raw.query)
    relevance = whole(raw.relevance, what=f"the relevance judged for query {judged}")
    if judged == query_id:
        return Judgment(query_id, "", relevance)
    if judged.startswith(f"{query_id}/"):
        return Judgment(query_id, judged.removeprefix(f"{query_id}/"), relevance)
    if raw.title_query is not None and str(raw.title_query) == query_id:
        return Judgment(query_id, judged, relevance)
    return Judgment(judged, "", relevance)


def _ranking(raw: RankingJson) -> PooledRank:
    run_tag = identifier(raw.method, "a ranking's method")
    rank = whole(raw.rank, what=f"the rank in run {run_tag}")
    if rank < 0:
        raise BadFormat(f"the rank in run {run_tag} is {rank}, expected 0 or more")
    return PooledRank(run_tag, rank, real(raw.score, what=f"the score in run {run_tag}"))


def identifier(value: Identifier, what: str) -> str:
    """Return an id as text, never blank."""
    text = str(value)
    if not text or text.isspace():
        raise BadFormat(f"{what} is empty, expected an id")
    return text


def _is_graded(sample: Sample) -> bool:
    match sample.documents:
        case [[str() | int(), [*passages], *_], *_]:
            return all(isinstance(passage, dict) and "paragraph_id" in passage for passage in passages[:1])
    return False


WORKBENCH_GRADED = Format(
    "workbench-graded",
    "Workbench graded file",
    Content.GRADED,
    _is_graded,
    read_graded,
    write_graded,
    is_lossless=False,
    source="RUBRIC Workbench",
)
