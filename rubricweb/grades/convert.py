"""Rows of banks and grades as the dataclasses of `grading`, and back."""

from __future__ import annotations

from grading import types
from rubricweb.banks.models import ItemRevision
from rubricweb.core.secrets import redacted
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.models import Passage, Topic
from rubricweb.grades.store import GradeRow

FAILED = types.Outcome.FAILED.value


def item(revision: ItemRevision, kind: types.ItemKind) -> types.Item:
    """With accepted answers; prefetch `answer_keys` when converting many."""
    answers = tuple(key.text for key in revision.answer_keys.all())
    return types.Item(revision.uid, kind, revision.text, answers)


def pair(
    topic: Topic, revision: ItemRevision, passage: Passage, kind: types.ItemKind, answer: str | None = None
) -> types.CellToGrade:
    """`answer` is the extracted one, for a prompt that asks about it."""
    return types.CellToGrade(item(revision, kind), corpus.passage(passage), corpus.topic(topic), answer)


def grade_row(
    result: types.Grade | types.GradeFailure, *, topic_id: int, revision_id: int, passage_id: int
) -> GradeRow:
    """The row of a result; a failure has no rating, but a reason, an error class and the raw reply."""
    trace = result.trace
    reply = _kept(trace.reply) if trace else ""
    cut = trace.context_chars if trace else None
    cell = (topic_id, revision_id, passage_id)
    if isinstance(result, types.GradeFailure):
        return GradeRow(
            *cell, None, FAILED, reply, redacted(_kept(result.reason)), error_class(result), context_chars=cut
        )
    return GradeRow(
        *cell,
        rating=result.rating,
        outcome=result.outcome.value,
        answer=_kept(result.answer),
        reply=reply,
        confidence=result.confidence,
        expectation=result.expectation,
        context_chars=cut,
    )


def error_class(result: types.Grade | types.GradeFailure) -> str:
    """Empty for a grade."""
    return "" if isinstance(result, types.Grade) else result.error_class.value


def _kept(text: str) -> str:
    """PostgreSQL can store every character except NUL."""
    return text.replace("\0", "")
