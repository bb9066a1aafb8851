"""What people have verified of the cells that a run's score stands on, and what that says of the score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures.prediction_powered import Estimate, prediction_powered
from grading.measures.rubric_cover import deciding_rows
from grading.types import MIN_RATING, MISSING
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.humans import CheckedGrades, corrected
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import HumanStamp
from rubricweb.grades.scoring import CACHED_TOPIC_SCORES, Uids
from rubricweb.leaderboards.board.items import Asked
from rubricweb.leaderboards.board.tables import Basis, answered, parts
from rubricweb.leaderboards.board.types import BoardSpec

Floats = NDArray[np.float64]
Seen = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Verified:
    cells: int
    """Cells of the pool and the board's items that people have seen to."""
    of: int
    shares: NDArray[np.float64]
    """Shape (runs,): of the cells of the first k passages; NaN without any."""
    estimates: tuple[Estimate | None, ...]
    most_deciding: int = 0
    """Of the cells that decide whether an item counts, the most of one run that people saw to by a draw."""


def verified(base: Basis, k: int) -> Verified:
    runs = len(base.pool.run_tags)
    if not HumanStamp.objects.filter(topic__collection=base.spec.collection).exists():
        return Verified(0, 0, np.full(runs, np.nan), (None,) * runs)
    checked = corrected(base.spec.config, base.pool)
    units = [(topic, asked) for topic, asked in base.units() if asked.uids]
    counts = [checked_counts(checked[topic.topic_id], asked.uids, k) for topic, asked in units]
    cells = sum(int(checked[topic.topic_id].checked_in(asked.uids).sum()) for topic, asked in units)
    of = sum(len(topic.doc_ids) * len(asked.uids) for topic, asked in units)
    seen, all_cells = np.sum(counts, axis=0) if counts else np.zeros((2, runs))
    unknown: NDArray[np.float64] = np.full(len(all_cells), np.nan)
    shares = np.divide(seen, all_cells, out=unknown, where=all_cells > 0)
    if not cells or not base.spec.measure.is_cover or base.spec.measure.is_workbench:
        return Verified(cells, of, shares, (None,) * runs)
    return Verified(cells, of, shares, *_estimates(base, checked))


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def checked_counts(grades: CheckedGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Shape (2, runs): of the cells of each run's first k pooled passages, how many people saw, and all."""
    per_passage = np.append(grades.checked_in(uids).sum(axis=1), 0)  # what row -1 points at
    top = grades.pool.ranked_rows[:, :k]
    return np.array([per_passage[top].sum(axis=1), (top >= 0).sum(axis=1) * len(uids)], dtype=np.int64)


def _estimates(base: Basis, checked: dict[int, CheckedGrades]) -> tuple[tuple[Estimate | None, ...], int]:
    """Rubric-Cover had people rated, for each item, the passage that the grader rates best of the first k.

    That cell decides whether the grader counts the item, so that the score is the sum over these cells, each
    with what covering its item adds. Where a run has no such cell, for want of the topic or of passages of
    the pool, there is nothing to verify: the item adds 0, for certain.
    """
    graded = matrices(base.spec.config, base.pool)
    measure = base.spec.measure
    units = [(topic, asked) for topic, asked in base.units() if asked.uids]
    found = [
        best_cells(
            graded[topic.topic_id], checked[topic.topic_id], asked.uids, measure.depth, measure.min_grade
        )
        for topic, asked in units
    ]
    said, is_seen, truth, has_cell = np.concatenate(found, axis=2)
    adds = has_cell * _shares(base, [topic for topic, _ in units]).repeat(
        [one.shape[2] for one in found], axis=1
    )
    adds *= np.concatenate([_worth(asked, base.spec) for _, asked in units])
    seen = (is_seen > 0) & (adds > 0)
    estimates = tuple(_estimate(said[run], seen[run], truth[run], adds[run]) for run in range(len(said)))
    return estimates, int(seen.sum(axis=1).max(initial=0))


def _estimate(said: Floats, seen: Seen, truth: Floats, adds: Floats) -> Estimate | None:
    """Of a sum over the cells that add to it: their number times their mean."""
    cells = adds > 0
    worth = adds[cells] * cells.sum()
    return prediction_powered(said[cells] * worth, seen[cells], truth[cells] * worth)


def _shares(base: Basis, topics: list[TopicPool]) -> Floats:
    """Shape (runs, units): of each in the run's mean; 0 for a topic that is left out of it."""
    has_ranking = answered(topics)
    counts = has_ranking if base.spec.skips_missing else np.ones_like(has_ranking)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def _worth(asked: Asked, spec: BoardSpec) -> Floats:
    """Shape (items,): what covering each adds to the score of the topic, or subtopic, that is averaged."""
    averaged = parts(asked, spec)
    shares = {uid: 1 / len(part.uids) / len(averaged) for part in averaged for uid in part.uids}
    return np.array([shares[uid] for uid in asked.uids])


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def best_cells(
    graded: TopicGrades, checked: CheckedGrades, uids: Uids, k: int, min_grade: int
) -> NDArray[np.float64]:
    """Shape (4, runs, items): whether the best cell of each item reaches the grade, whether people saw to
    it by a random draw, whether it does by what they say, and whether there is such a cell. A verdict without
    a rating turns the grader's answer around.
    """
    best = deciding_rows(graded.matrix.columns(uids).ratings, graded.pool.ranked_rows, cutoff=k)
    columns = np.arange(len(uids))
    outside = np.full((1, len(uids)), MISSING, dtype=np.int8)
    rated, said = (
        np.concatenate([grades.matrix.columns(uids).ratings, outside])[best, columns]
        for grades in (graded, checked)
    )
    reaches = rated >= min_grade
    seen = checked.drawn_in(uids, k)
    is_seen = np.concatenate([seen, np.zeros((1, len(uids)), dtype=np.bool_)])[best, columns]
    truth = np.where(said >= MIN_RATING, said >= min_grade, ~reaches)
    return np.array([reaches, is_seen, truth & is_seen, best >= 0], dtype=np.float64)
