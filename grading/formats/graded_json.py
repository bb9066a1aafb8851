"""The JSON of a Workbench graded file, field by field; fields that are not named here are ignored."""

from __future__ import annotations

import msgspec

from grading.formats.numbers import Number
from grading.types import ItemKind

Identifier = str | int
Text = str | int | float | bool | None

KIND_OF_PROMPT_TYPE = {
    "question": ItemKind.QUESTION,
    "nugget": ItemKind.NUGGET,
    "direct_grading": ItemKind.DIRECT,
    "direct": ItemKind.DIRECT,
}
SHAPE = (
    "[query id, [passage, ...]], where a passage is "
    "{paragraph_id, text, paragraph_data: {judgments, rankings}, exam_grades, grades}"
)


class JudgmentJson(msgspec.Struct, omit_defaults=True):
    relevance: Number
    query: Identifier
    title_query: Identifier | None = msgspec.field(default=None, name="titleQuery")
    paragraph_id: Identifier | None = msgspec.field(default=None, name="paragraphId")


class RankingJson(msgspec.Struct, omit_defaults=True):
    method: Identifier
    rank: Number
    score: Number
    query_id: Identifier | None = msgspec.field(default=None, name="queryId")
    paragraph_id: Identifier | None = msgspec.field(default=None, name="paragraphId")


class PoolingJson(msgspec.Struct):
    judgments: list[JudgmentJson]
    rankings: list[RankingJson]


class PromptJson(msgspec.Struct, omit_defaults=True):
    prompt_class: str | None = None
    is_self_rated: bool | None = None
    check_answer_key: bool | None = None


class SelfRatingJson(msgspec.Struct, omit_defaults=True, gc=False):
    self_rating: Number | bool | None
    question_id: Identifier | None = None
    nugget_id: Identifier | None = None


class AnswerJson(msgspec.Struct, array_like=True, gc=False):
    item_id: Identifier
    text: Text


class ErrorJson(msgspec.Struct, omit_defaults=True):
    response: object = None
    failure_reason: object = None
    caught_exception: object = None


class ExamGradesJson(msgspec.Struct, omit_defaults=True):
    """All items that one grader graded on one passage."""

    correct: list[Identifier] = msgspec.field(name="correctAnswered")
    wrong: list[Identifier] = msgspec.field(name="wrongAnswered")
    answers: list[AnswerJson]
    llm: Identifier
    llm_options: object = None
    exam_ratio: object = None
    prompt_info: PromptJson | None = None
    prompt_type: str | None = None
    self_ratings: list[SelfRatingJson] | None = None
    llm_response_errors: dict[str, ErrorJson | str | None] | None = None


class DirectGradeJson(msgspec.Struct, omit_defaults=True):
    """One grade of the passage as a whole. The documentation calls the reply `answers`, the published code
    `answer`.
    """

    correct: bool | int = msgspec.field(name="correctAnswered")
    llm: Identifier
    answer: Text = None
    answers: Text = None
    llm_options: object = None
    prompt_info: PromptJson | None = None
    prompt_type: str | None = None
    self_ratings: Number | bool | None = None
    llm_response_error: ErrorJson | str | None = None


class PassageJson(msgspec.Struct, omit_defaults=True):
    doc_id: Identifier = msgspec.field(name="paragraph_id")
    text: str
    pooling: PoolingJson = msgspec.field(name="paragraph_data")
    exam_grades: list[ExamGradesJson] | None = None
    grades: list[DirectGradeJson] | None = None


class TopicJson(msgspec.Struct, array_like=True):
    query_id: Identifier
    passages: list[PassageJson]
