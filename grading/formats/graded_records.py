"""The contents of a Workbench graded file, and their JSON, field by field."""

from __future__ import annotations

import msgspec

from grading.formats.json_lines import Number
from grading.types import ItemKind, Outcome, Purpose

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
    """One grade of the passage as a whole.

    The documentation calls the reply `answers`, the published code `answer`.
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


DEFAULT_PROMPT_CLASS = "QuestionPromptWithChoices"
"""The class of an entry without prompt information (the Workbench's own rule)."""

OptionPairs = tuple[tuple[str, bool | int | float | str], ...]
"""Options of the model, as sorted (name, value) pairs, without defaults."""

ConfigKey = tuple[str, str, Purpose, OptionPairs]
"""(llm, prompt class, purpose, options)."""

DIRECT_ITEM = "direct"
"""The item id of a direct grade; one per topic."""


class Judgment(msgspec.Struct, frozen=True, gc=False):
    """A human relevance label; `facet_id` is empty for a judgment of the whole topic."""

    query_id: str
    facet_id: str
    relevance: int


class PooledRank(msgspec.Struct, frozen=True, gc=False):
    """The rank of the passage in one run, as the file has it: from 0 or 1, with or without gaps."""

    run_tag: str
    rank: int
    score: float


class GradedBy(msgspec.Struct, frozen=True):
    """Who graded, with which prompt, and what kind of items. The grades of an entry share one."""

    kind: ItemKind
    llm: str
    prompt_class: str
    purpose: Purpose
    options: OptionPairs = ()

    @property
    def config(self) -> ConfigKey:
        """Return what tells grader configs apart."""
        return self.llm, self.prompt_class, self.purpose, self.options


class ImportedGrade(msgspec.Struct, frozen=True, gc=False):
    """One item graded against one passage.

    `rating` is 0..5, or 1/0 (correct or not) for the purpose VERIFY, or None for EXTRACT and for
    Outcome.FAILED. `answer` is the extracted answer, or the raw reply to a rating prompt; `reason` is set for
    failures only.
    """

    item_id: str
    by: GradedBy
    rating: int | None
    answer: str
    outcome: Outcome
    reason: str = ""


class GradedPassage(msgspec.Struct, frozen=True):
    doc_id: str
    text: str
    judgments: list[Judgment]
    rankings: list[PooledRank]
    grades: list[ImportedGrade]


class GradedLine(msgspec.Struct, frozen=True):
    """One line of the file. A topic may take several lines, and a passage may be in several topics."""

    query_id: str
    line: int
    passages: list[GradedPassage]
    ignored_entries: int = 0
    """Entries left out because an earlier one of the passage has the same llm, options, prompt class and
    purpose.
    """
