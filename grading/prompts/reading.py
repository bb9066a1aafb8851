"""Read a reply by the rule of its prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grading.errors import ParseFailure
from grading.parsing import (
    OnUnparsable,
    Parsed,
    ParsedRating,
    is_unanswerable,
    parse_final_score,
    parse_label,
    parse_rating,
    parse_yes_no,
)
from grading.types import MAX_RATING, MIN_RATING, CellToGrade, Outcome, Purpose
from grading.verify import verify

if TYPE_CHECKING:
    from grading.prompts.prompt import Prompt


from enum import StrEnum


class ParseRule(StrEnum):
    """How a reply is read."""

    RATING = "rating"
    """A number in the scale."""
    FINAL_SCORE = "final_score"
    """As RATING, after some reasoning: the last "final score: n" decides."""
    YES_NO = "yes_no"
    LABEL = "label"
    """One of the prompt's labels."""
    TEXT = "text"
    """An answer, verbatim."""
    ANSWER_KEY = "answer_key"
    """An answer: 1 if it is in the item's answer key, else 0."""


def read(prompt: Prompt, reply: str, pair: CellToGrade | None, on_unparsable: OnUnparsable) -> Parsed:
    """As `Prompt.parse`."""
    if prompt.rule is ParseRule.TEXT:
        return Parsed(None, Outcome.EXTRACTED, reply)
    if prompt.rule is ParseRule.ANSWER_KEY:
        return checked(reply, pair)
    rating, outcome = _rating(prompt, reply, on_unparsable)
    if outcome is Outcome.UNANSWERABLE and prompt.purpose is Purpose.DIRECT:
        raise ParseFailure("the reply states no label")  # a passage is not relevant for want of an answer
    return Parsed(rating, outcome, (pair.answer or "") if pair else "")


def checked(answer: str, pair: CellToGrade | None) -> Parsed:
    """1 if the answer is in the item's key, else 0; ParseFailure without a key."""
    if pair is None or not pair.item.answers:
        raise ParseFailure("the item has no answer key")
    is_correct = verify(answer, pair.item.answers).correct
    is_denial = not is_correct and is_unanswerable(answer)
    return Parsed(int(is_correct), Outcome.UNANSWERABLE if is_denial else Outcome.NUMERIC, answer)


def _rating(prompt: Prompt, reply: str, on_unparsable: OnUnparsable) -> ParsedRating:
    scale = prompt.scale or (MIN_RATING, MAX_RATING)
    if prompt.rule is ParseRule.YES_NO:
        return parse_yes_no(reply, on_unparsable=on_unparsable)
    if prompt.rule is ParseRule.LABEL:
        return parse_label(reply, dict(prompt.labels))
    if prompt.rule is ParseRule.FINAL_SCORE:
        return parse_final_score(reply, scale=scale, on_unparsable=on_unparsable)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)
