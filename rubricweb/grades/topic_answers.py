"""What is known of a topic's extracted answers, cell by cell; their texts stay in the database."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from grading.parsing import is_unanswerable
from grading.types import MISSING, GradeMatrix, Outcome
from grading.verify import closeness
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig

CACHED_TOPICS = 4_000
AcceptedAnswers = tuple[tuple[str, tuple[str, ...]], ...]
"""By the id of the wording."""


@lru_cache(maxsize=CACHED_TOPICS)
def empty_answers(config: GraderConfig, grades: TopicGrades) -> TopicGrades:
    """Return 1 where the answer that the config has says that there is none, else 0; MISSING without one.

    Cached by `grades`, which is a new object once grades change.
    """
    return _coded(config, grades, lambda _, answer: int(is_unanswerable(answer)))


@lru_cache(maxsize=CACHED_TOPICS)
def answer_closeness(config: GraderConfig, grades: TopicGrades, keys: AcceptedAnswers) -> TopicGrades:
    """Return in percent how near each answer is to the nearest accepted one: see `grading.verify.closeness`.

    It takes about 0.03 ms an answer, and is cached by `grades` and the keys.
    """
    accepted = dict(keys)
    return _coded(config, grades, lambda uid, answer: round(100 * closeness(answer, accepted.get(uid, ()))))


def _coded(config: GraderConfig, grades: TopicGrades, code: Callable[[str, str], int]) -> TopicGrades:
    matrix, pool = grades.matrix, grades.pool
    codes = np.full(matrix.ratings.shape, MISSING, dtype=np.int8)
    column_of = {uid: column for column, uid in enumerate(matrix.item_ids)}
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    rows = Grade.objects.by(config).for_topics([pool.topic_id]).exclude(outcome=Outcome.FAILED)
    for uid, passage, answer in rows.values_list("revision__uid", "passage_id", "answer"):
        if uid in column_of and passage in row_of:
            codes[row_of[passage], column_of[uid]] = code(uid, answer)
    codes[matrix.ratings == MISSING] = MISSING  # hidden cells too
    return TopicGrades(pool, GradeMatrix(matrix.query_id, matrix.passage_ids, matrix.item_ids, codes))
