"""While a job grades: how much of what a run's score stands on is graded."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, take_rows
from grading.types import MISSING
from rubricweb.grades.engine.progress import topics_of
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import GradingJob
from rubricweb.grades.scoring import CACHED_TOPIC_SCORES, Uids
from rubricweb.leaderboards.board.tables import Basis


def current_shares(base: Basis, k: int) -> NDArray[np.float64]:
    """Return an array of shape (runs,): the graded share of the cells of the first k passages; NaN where none
    is to come.
    """
    waiting = _topics_at_work(base)
    totals = np.zeros((2, len(base.pool.run_tags)))
    if waiting:
        for topic, items in base.units():
            missing, cells = missing_counts(base.grades[topic.topic_id], items.uids, k)
            totals += (missing if topic.topic_id in waiting else 0 * missing, cells)
    missing, cells = totals
    return np.where(missing > 0, divide(cells - missing, cells), np.nan)


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def missing_counts(grades: TopicGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Return an array of shape (2, runs): of the cells of each run's first k pooled passages, those without a
    grade, and all.
    """
    missing = (grades.matrix.columns(uids).ratings == MISSING).sum(axis=1)
    top = grades.pool.ranked_rows[:, :k]
    of_top = take_rows(missing, top).sum(axis=1)
    return np.array([of_top, (top >= 0).sum(axis=1) * len(uids)], dtype=np.int64)


def _topics_at_work(base: Basis) -> set[int]:
    states = (*GradingJob.WORKED_ON, GradingJob.State.PAUSED, GradingJob.State.WAITING)
    jobs = GradingJob.objects.filter(collection=base.spec.collection, config=base.spec.config)
    return topics_of(jobs.filter(state__in=states))
