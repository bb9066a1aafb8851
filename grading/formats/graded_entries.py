"""One grader's entry on a passage -> its grades: ratings, extracted or verified answers, direct labels."""

from __future__ import annotations

from collections.abc import Iterator
from sys import intern

from grading.errors import BadFormat
from grading.formats.graded_records import (
    DEFAULT_PROMPT_CLASS,
    DIRECT_ITEM,
    KIND_OF_PROMPT_TYPE,
    DirectGradeJson,
    ErrorJson,
    ExamGradesJson,
    GradedBy,
    ImportedGrade,
    OptionPairs,
    PromptJson,
)
from grading.formats.json_lines import Number, whole
from grading.graders.replies import NoReply, of_text, split_thinking
from grading.parsing import parse_rating, parse_yes_no
from grading.types import MAX_RATING, MIN_RATING, ItemKind, Outcome, Purpose

LONGEST_VALUE = 60
"""Characters; a longer option is a prompt or the like, and no part of a grader's name."""

Found = tuple[str, int | None, str, Outcome]
"""(item id, rating, reply, outcome)."""

_DEFAULTS = {("attempt", 1)}
_NUMBERS = frozenset(map(str, range(MIN_RATING, MAX_RATING + 1)))
"""What most replies are."""
_NO_PROMPT = PromptJson()
_NO_ANSWER = "the reply holds thinking and no answer"
_NO_ERROR = (None, "", ErrorJson())


def graded_by(entry: ExamGradesJson) -> GradedBy:
    return GradedBy(
        _kind(entry),
        str(entry.llm),
        _prompt_class(entry.prompt_info),
        _purpose(entry),
        options_of(entry.llm_options),
    )


def labelled_by(direct: DirectGradeJson) -> GradedBy:
    """Return the grader of a direct grade, as `graded_by` does of others."""
    prompt_class, options = _prompt_class(direct.prompt_info), options_of(direct.llm_options)
    return GradedBy(ItemKind.DIRECT, str(direct.llm), prompt_class, Purpose.DIRECT, options)


def options_of(options: object) -> OptionPairs:
    """Return the `llm_options` that tell graders of one model and prompt apart.

    They are numbers, truth values and short texts.

    The Workbench lets anything stand there; lists, objects, null and long texts are left out.
    """
    if not options or not isinstance(options, dict):
        return ()
    pairs = {(name, value) for name, value in options.items() if _is_short(name) and _is_short(value)}
    return tuple(sorted(pairs - _DEFAULTS))


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST_VALUE and value.isprintable()
    return isinstance(value, bool | int | float)


def item_grades(entry: ExamGradesJson, by: GradedBy) -> list[ImportedGrade]:
    """Return the grades of one entry of `exam_grades`, each item once.

    Raises `BadFormat` that names the item.
    """
    grades = [
        ImportedGrade(item_id, by, rating, reply, outcome, _NO_ANSWER if outcome is Outcome.FAILED else "")
        for item_id, rating, reply, outcome in _FOUND[by.purpose](entry)
    ]
    errors = entry.llm_response_errors
    if not errors:
        return grades
    grades = [grade for grade in grades if grade.item_id not in errors or grade.rating is not None]
    graded = {grade.item_id for grade in grades}
    for item_id, error in errors.items():
        if item_id not in graded:
            reply, reason = _failure(error)
            grades.append(ImportedGrade(item_id, by, None, reply, Outcome.FAILED, reason))
    return grades


def direct_grade(direct: DirectGradeJson, by: GradedBy) -> ImportedGrade:
    """Return the grade of one entry of `grades`; without a rating, yes is 1 and no is 0."""
    if direct.llm_response_error not in _NO_ERROR:
        reply, reason = _failure(direct.llm_response_error)
        return ImportedGrade(DIRECT_ITEM, by, None, reply, Outcome.FAILED, reason)
    reply = _text(direct.answer if direct.answer is not None else direct.answers)
    is_rated = direct.self_ratings is not None
    rating = _rating(direct.self_ratings, DIRECT_ITEM) if is_rated else int(bool(direct.correct))
    outcome = _direct_outcome(reply) if reply.strip() else Outcome.NUMERIC
    return ImportedGrade(DIRECT_ITEM, by, rating, reply, outcome)


def _rated(entry: ExamGradesJson) -> Iterator[Found]:
    """Yield the file's ratings; an item with only a reply, and no error, is rated by the papers' rules."""
    replies, ratings = _replies(entry), _ratings(entry)
    for item_id, rating in ratings.items():
        reply = replies.get(item_id)
        is_number = reply is None or reply in _NUMBERS
        answer = split_thinking(reply or "").answer or reply or ""
        outcome = Outcome.NUMERIC if is_number else parse_rating(answer).outcome
        yield item_id, rating, reply or "", outcome
    errors = entry.llm_response_errors or {}
    for item_id, reply in replies.items():
        if item_id not in ratings and item_id not in errors:
            parsed, outcome = _parsed(reply)
            yield item_id, parsed, reply, outcome


def _parsed(reply: str) -> tuple[int | None, Outcome]:
    """Parse the reply as the papers do, without the model's thinking; FAILED where it only thought."""
    try:
        return parse_rating(of_text(reply))
    except NoReply:
        return None, Outcome.FAILED


def _ratings(entry: ExamGradesJson) -> dict[str, int]:
    ratings: dict[str, int] = {}
    for rated in entry.self_ratings or ():
        item_id = rated.question_id if rated.question_id is not None else rated.nugget_id
        if item_id is None:
            raise BadFormat("a self rating has no item, expected question_id or nugget_id")
        item_id, rating = intern(str(item_id)), rated.self_rating
        if type(rating) is not int or not MIN_RATING <= rating <= MAX_RATING:
            rating = _rating(rating, item_id)
        if ratings.setdefault(item_id, rating) != rating:
            raise BadFormat(
                f"item {item_id} is rated {ratings[item_id]} and {rating}, expected one rating an entry"
            )
    return ratings


def _verified(entry: ExamGradesJson) -> Iterator[Found]:
    """Yield 1 for items that the file lists as correct, 0 for the others."""
    replies = _replies(entry)
    correct = {str(item_id) for item_id in entry.correct}
    for wrong in map(str, entry.wrong):
        if wrong in correct:
            raise BadFormat(f"item {wrong} is in correctAnswered and in wrongAnswered, expected one of them")
    for item_id in dict.fromkeys(map(str, [*entry.correct, *entry.wrong])):
        yield item_id, int(item_id in correct), replies.get(item_id, ""), Outcome.NUMERIC


def _extracted(entry: ExamGradesJson) -> Iterator[Found]:
    for item_id, reply in _replies(entry).items():
        yield item_id, None, reply, Outcome.EXTRACTED


_FOUND = {
    Purpose.RATE: _rated,
    Purpose.DIRECT: _rated,
    Purpose.VERIFY: _verified,
    Purpose.EXTRACT: _extracted,
}


def _replies(entry: ExamGradesJson) -> dict[str, str]:
    replies: dict[str, str] = {}
    for answer in entry.answers:
        replies.setdefault(intern(str(answer.item_id)), str(answer.text) if answer.text is not None else "")
    return replies


def _rating(value: Number | bool | None, item_id: str) -> int:
    rating = whole(value, what=f"the rating of item {item_id}")
    if not MIN_RATING <= rating <= MAX_RATING:
        raise BadFormat(f"the rating of item {item_id} is {rating}, expected {MIN_RATING} to {MAX_RATING}")
    return rating


def _purpose(entry: ExamGradesJson) -> Purpose:
    prompt = entry.prompt_info or _NO_PROMPT
    if KIND_OF_PROMPT_TYPE.get(entry.prompt_type or "") is ItemKind.DIRECT:
        return Purpose.DIRECT
    if entry.self_ratings or prompt.is_self_rated:
        return Purpose.RATE
    if prompt.check_answer_key is None:
        # The class that stands in for a missing one asks for an answer and checks it against the key.
        return Purpose.VERIFY if _prompt_class(prompt) == DEFAULT_PROMPT_CLASS else Purpose.EXTRACT
    return Purpose.VERIFY if prompt.check_answer_key else Purpose.EXTRACT


def _kind(entry: ExamGradesJson) -> ItemKind:
    if stated := KIND_OF_PROMPT_TYPE.get(entry.prompt_type or ""):
        return stated
    first = entry.self_ratings[0] if entry.self_ratings else None
    if first and DIRECT_ITEM in (first.question_id, first.nugget_id):
        return ItemKind.DIRECT
    if first and first.nugget_id is not None and first.question_id is None:
        return ItemKind.NUGGET
    return ItemKind.NUGGET if _prompt_class(entry.prompt_info).startswith("Nugget") else ItemKind.QUESTION


def _prompt_class(prompt: PromptJson | None) -> str:
    return (prompt or _NO_PROMPT).prompt_class or DEFAULT_PROMPT_CLASS


def _failure(error: ErrorJson | str | None) -> tuple[str, str]:
    """Return (raw reply, reason) of a grading that failed."""
    if not isinstance(error, ErrorJson):
        return "", error or "no reason given"
    reasons = [_text(error.failure_reason), _text(error.caught_exception)]
    return _text(error.response), ": ".join(filter(None, reasons)) or "no reason given"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _direct_outcome(reply: str) -> Outcome:
    """Return the outcome of a direct prompt, which asks for a number or for yes or no."""
    answer = split_thinking(reply).answer
    outcomes = [parse_rating(answer).outcome, parse_yes_no(answer).outcome]
    return Outcome.NUMERIC if Outcome.NUMERIC in outcomes else outcomes[0]
