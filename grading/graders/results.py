"""Grades and failures from a model's reply; every back-end makes them here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from grading.errors import ParseFailure
from grading.graders.replies import NoReply
from grading.parsing import OnUnparsable
from grading.prompts import Prompt
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, Outcome, Trace

Result = Grade | GradeFailure


@dataclass(frozen=True, slots=True)
class RatedReply:
    """A short reply that is a rating, with the distribution over the scale."""

    reply: str
    rating: int
    confidence: float
    """The rating's probability, relative to the whole scale (0..1)."""
    expectation: float
    """Mean of that distribution."""


def weighed(reply: str, rating: int, weights: Mapping[int, float]) -> RatedReply:
    """`weights` are the ratings of the scale with their probabilities, which need not sum to 1.

    >>> weighed("4", 4, {4: 0.6, 5: 0.2})
    RatedReply(reply='4', rating=4, confidence=0.75, expectation=4.25)
    """
    total = sum(weights.values())
    mean = sum(rating * weight for rating, weight in weights.items()) / total
    return RatedReply(reply, rating, round(weights[rating] / total, 6), round(mean, 6))


def rated(pair: CellToGrade, reply: RatedReply, trace: Trace) -> Grade:
    return Grade(
        pair.item.item_id,
        pair.passage.passage_id,
        reply.rating,
        Outcome.NUMERIC,
        answer=pair.answer or "",
        confidence=reply.confidence,
        trace=trace,
        expectation=reply.expectation,
    )


def parsed(
    prompt: Prompt, pair: CellToGrade, answer: str, trace: Trace, on_unparsable: OnUnparsable
) -> Result:
    """Grade from an answer (`replies.Reply.text`), read by the prompt."""
    try:
        rating, outcome, text = prompt.parse(answer, pair, on_unparsable=on_unparsable)
    except ParseFailure as error:
        return failed(pair, str(error), ErrorClass.PARSE, trace)
    return Grade(pair.item.item_id, pair.passage.passage_id, rating, outcome, text, trace=trace)


def unanswered(pair: CellToGrade, error: NoReply, trace: Trace) -> GradeFailure:
    """The failure of a pair that the model gave no answer for; the trace keeps what it wrote."""
    return failed(pair, str(error), error.error_class, replace(trace, reply=error.raw))


def with_confidence(result: Result, reply: RatedReply | None) -> Result:
    """Return the grade with the confidence and expectation of `reply`, if that has the same rating."""
    if not isinstance(result, Grade) or reply is None or reply.rating != result.rating:
        return result
    return replace(result, confidence=reply.confidence, expectation=reply.expectation)


def failed(
    pair: CellToGrade, reason: str, error_class: ErrorClass = ErrorClass.OTHER, trace: Trace | None = None
) -> GradeFailure:
    return GradeFailure(pair.item.item_id, pair.passage.passage_id, reason, trace, error_class)
