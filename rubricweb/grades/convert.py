"""Rows of banks and grades as the dataclasses of `grading`, and back."""

from __future__ import annotations

from grading import types
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus import convert as corpus
from rubricweb.corpus.models import Passage, Topic
from rubricweb.grades.models import Grade, GraderConfig, GradingJob


def item(revision: ItemRevision, kind: types.ItemKind) -> types.Item:
    return types.Item(revision.uid, kind, revision.text)


def pair(topic: Topic, revision: ItemRevision, passage: Passage, kind: types.ItemKind) -> types.Pair:
    return types.Pair(item(revision, kind), corpus.passage(passage), corpus.topic(topic))


def grade_row(
    result: types.Grade | types.GradeFailure,
    *,
    config: GraderConfig,
    revision: ItemRevision,
    passage_id: int,
    job: GradingJob | None,
) -> Grade:
    """The row of a result; a failure keeps its reason and has no rating."""
    row = Grade(config=config, topic_id=revision.topic_id, revision=revision, passage_id=passage_id, job=job)
    row.context_chars = result.trace.context_chars if result.trace else None
    if isinstance(result, types.GradeFailure):
        row.outcome, row.reply = types.Outcome.FAILED, result.reason
        return row
    row.rating, row.outcome = result.rating, result.outcome
    row.answer, row.confidence = result.answer, result.confidence
    row.reply = result.trace.reply if result.trace else ""
    return row
