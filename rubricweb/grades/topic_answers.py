"""What is known of a topic's extracted answers, cell by cell; their texts stay in the database."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grading.parsing import is_unanswerable
from grading.types import MISSING, GradeMatrix, Outcome
from grading.verify import closeness
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig

CACHED_TOPICS = 4_000
AcceptedAnswers = tuple[tuple[str, tuple[str, ...]], ...]
"""By the id of the wording."""


class AnswerFacts(NamedTuple):
    """Of the answers that a config extracted or verified; MISSING where it has none."""

    is_empty: TopicGrades
    """1 where the answer says that there is none, else 0."""
    closeness: TopicGrades
    """In percent: how near the answer is to the nearest accepted one, see `grading.verify.closeness`."""


@lru_cache(maxsize=CACHED_TOPICS)
def answer_facts(config: GraderConfig, grades: TopicGrades, keys: AcceptedAnswers) -> AnswerFacts:
    """Cached by `grades`, which is a new object once grades change, and by the keys."""
    matrix, pool, accepted = grades.matrix, grades.pool, dict(keys)
    is_empty, near = (np.full(matrix.ratings.shape, MISSING, dtype=np.int8) for _ in range(2))
    column_of = {uid: column for column, uid in enumerate(matrix.item_ids)}
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    rows = Grade.objects.by(config).for_topics([pool.topic_id]).exclude(outcome=Outcome.FAILED)
    for uid, passage, answer in rows.values_list("revision__uid", "passage_id", "answer"):
        if uid in column_of and passage in row_of:
            place = row_of[passage], column_of[uid]
            is_empty[place] = is_unanswerable(answer)
            near[place] = round(100 * closeness(answer, accepted.get(uid, ())))
    for codes in (is_empty, near):
        codes[matrix.ratings == MISSING] = MISSING  # hidden cells too
    names = (matrix.query_id, matrix.passage_ids, matrix.item_ids)
    return AnswerFacts(*(TopicGrades(pool, GradeMatrix(*names, codes)) for codes in (is_empty, near)))
