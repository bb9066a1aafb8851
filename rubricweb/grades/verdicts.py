"""Human verdicts on answers that a grader verified: saved as events, read as matrices.

The verdict of people together is the lower median: with two who differ, the answer is wrong. It holds for the
answer that they read, and no longer once the grader has another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID, uuid4

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from grading.types import MISSING, GradeMatrix, Outcome
from rubricweb.accounts.models import User
from rubricweb.core.models import is_duplicate
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.human_models import AnswerVerdict, HumanStamp
from rubricweb.grades.human_ratings import Cell, RatedMeanwhile, UnfitRating, move_stamp
from rubricweb.grades.matrices import StampedCache, TopicGrades, without
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp

CACHED_TOPICS = 4_000
Key = tuple[int, int, int, int, int]
"""Config, topic, stamp of human grades, stamp of its grades, and stamp of the collection."""
_cache: StampedCache[Key, TopicGrades] = StampedCache(CACHED_TOPICS)
Verdicts = dict[tuple[int, str], list[bool]]
"""Verdicts of all people on the present answer, by (passage, id of the wording)."""


def judge_answer(
    cell: Cell, verified: Grade, *, is_right: bool, by: User, seen: int, uid: UUID | None = None
) -> AnswerVerdict:
    """Save whether the answer of this `verified` grade is right.

    `seen` is the number of `by`'s latest event for it. `uid` makes sending it twice harmless. Raises
    RatedMeanwhile or UnfitRating.
    """
    if verified.rating is None:
        raise UnfitRating("The answer has no verdict that could be right or wrong.")
    fields = {"is_right": is_right, "answer": verified.answer, "seen_rating": verified.rating}
    return _append(cell, verified.config, by=by, seen=seen, uid=uid, **fields)


def undo_verdict(event: AnswerVerdict, *, by: User, uid: UUID | None = None) -> AnswerVerdict:
    """Restore `by`'s event before this one, or withdraw the first.

    `uid` makes sending it twice harmless. Raises RatedMeanwhile.
    """
    cell = Cell(event.topic_id, event.revision_id, event.passage_id)
    before = _of_cell(cell, event.config, by).filter(number=event.number - 1).first()
    source = before or event
    fields = {"answer": source.answer, "seen_rating": source.seen_rating}
    is_right = before.is_right if before else None
    return _append(cell, event.config, by=by, seen=event.number, uid=uid, is_right=is_right, **fields)


def verdicts_on(cell: Cell, config: GraderConfig) -> list[AnswerVerdict]:
    """Return each person's latest event of the cell, oldest first, withdrawals included."""
    rows = AnswerVerdict.objects.filter(config=config, revision=cell.revision_id, passage=cell.passage_id)
    now = {row.by_id: row for row in rows.select_related("by").order_by("number")}
    return sorted(now.values(), key=lambda row: row.pk)


def verdict_matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    """Return verdict matrices by topic id, for every topic of the pool.

    A cell is 1 where people find the answer right, 0 where wrong, else MISSING, as are cells hidden from the
    reader.
    """
    hidden = visibility.without_ratings(pool.collection_id, pool.by_topic)
    by_topic = _all_verdicts(config, pool)
    return {
        pk: without(grades, hidden[pk].named(hidden[pk].ratings)) if hidden[pk].ratings else grades
        for pk, grades in by_topic.items()
    }


def _of_cell(cell: Cell, config: GraderConfig, by: User) -> QuerySet[AnswerVerdict]:
    return AnswerVerdict.objects.filter(
        config=config, revision=cell.revision_id, passage=cell.passage_id, by=by
    )


def _append(
    cell: Cell, config: GraderConfig, *, by: User, seen: int, uid: UUID | None, **fields: object
) -> AnswerVerdict:
    place = {"topic_id": cell.topic_id, "revision_id": cell.revision_id, "passage_id": cell.passage_id}
    try:
        with transaction.atomic():
            mine = list(_of_cell(cell, config, by).order_by("number"))
            if uid and (saved := AnswerVerdict.objects.filter(uid=uid, by=by).first()):
                return saved
            if (mine[-1].number if mine else 0) != seen:
                raise RatedMeanwhile(mine[-1] if mine else None, seen)
            event = AnswerVerdict.objects.create(
                **place, config=config, by=by, number=seen + 1, uid=uid or uuid4(), **fields
            )
            move_stamp(cell.topic_id, cell.channel)
    except IntegrityError as error:
        if not is_duplicate(error, AnswerVerdict):
            raise
        raise RatedMeanwhile(_of_cell(cell, config, by).order_by("-number").first(), seen) from error
    return event


def _all_verdicts(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    ids = [topic.topic_id for topic in pool.topics]
    humans = dict(HumanStamp.objects.filter(topic__in=ids).values_list("topic_id", "number"))
    stamps = MatrixStamp.objects.filter(config=config, topic__in=list(humans))
    graded = dict(stamps.values_list("topic_id", "number"))
    keys = {pk: (config.pk, pk, humans.get(pk, 0), graded.get(pk, 0), pool.stamp) for pk in ids}
    by_topic = {pk: grades for pk, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [topic for topic in pool.topics if topic.topic_id not in by_topic]
    standing = _standing(config, [topic.topic_id for topic in absent if topic.topic_id in graded])
    for topic in absent:
        grades = TopicGrades(topic, _matrix(topic, standing.get(topic.topic_id, {})))
        by_topic[topic.topic_id] = _cache.keep(keys[topic.topic_id], grades)
    return by_topic


def _standing(config: GraderConfig, topic_ids: Iterable[int]) -> dict[int, Verdicts]:
    rows = AnswerVerdict.objects.filter(config=config, topic__in=list(topic_ids)).select_related("revision")
    now = {(row.revision_id, row.passage_id, row.by_id): row for row in rows.order_by("number")}
    revisions, passages = {cell[0] for cell in now}, {cell[1] for cell in now}
    graded = Grade.objects.by(config).filter(revision__in=revisions, passage__in=passages)
    answers = {
        (revision, passage): answer
        for revision, passage, answer in graded.exclude(outcome=Outcome.FAILED).values_list(
            "revision_id", "passage_id", "answer"
        )
    }
    by_topic: dict[int, Verdicts] = {}
    for row in now.values():
        if row.is_right is not None and answers.get((row.revision_id, row.passage_id)) == row.answer:
            of_topic = by_topic.setdefault(row.topic_id, {})
            of_topic.setdefault((row.passage_id, row.revision.uid), []).append(row.is_right)
    return by_topic


def _matrix(topic: TopicPool, verdicts: Verdicts) -> GradeMatrix:
    uids = tuple(dict.fromkeys(uid for _, uid in verdicts))
    row_of = {pk: row for row, pk in enumerate(topic.passage_pks)}
    matrix = np.full((len(topic.doc_ids), len(uids)), MISSING, dtype=np.int8)
    for (passage, uid), each in verdicts.items():
        if passage in row_of:
            matrix[row_of[passage], uids.index(uid)] = sorted(each)[(len(each) - 1) // 2]
    return GradeMatrix(topic.query_id, topic.doc_ids, uids, matrix)
