"""Which of the cells that a run's score stands on people have rated or verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, take_rows
from grading.measures.base import ItemMeasure
from rubricweb.grades.human_matrices import CheckedGrades, corrected
from rubricweb.grades.human_models import HumanStamp
from rubricweb.grades.scoring import CACHED_TOPIC_SCORES, Uids
from rubricweb.leaderboards.board.estimated import Found, estimated
from rubricweb.leaderboards.board.estimated_sums import estimated_sums
from rubricweb.leaderboards.board.tables import Basis
from rubricweb.leaderboards.board.types import EstimateSample, RunEstimate


@dataclass(frozen=True, slots=True)
class Verified:
    cells: int
    """Cells of the pool and the board's items that people have rated or verified."""
    of: int
    shares: NDArray[np.float64]
    """Shape (runs,): of the cells of the first k passages; NaN without any."""
    estimates: tuple[RunEstimate | None, ...]
    sample: EstimateSample | None = None


def verified(base: Basis, k: int) -> Verified:
    runs = len(base.pool.run_tags)
    if not HumanStamp.objects.filter(topic__collection=base.spec.collection).exists():
        return Verified(0, 0, np.full(runs, np.nan), (None,) * runs)
    checked = corrected(base.spec.config, base.pool)
    units = [(topic, items) for topic, items in base.units() if items.uids]
    counts = [checked_counts(checked[topic.topic_id], items.uids, k) for topic, items in units]
    cells = sum(int(checked[topic.topic_id].checked_in(items.uids).sum()) for topic, items in units)
    of = sum(len(topic.doc_ids) * len(items.uids) for topic, items in units)
    seen, all_cells = np.sum(counts, axis=0) if counts else np.zeros((2, runs))
    shares = divide(seen, all_cells)
    if not base.spec.measure.has_estimate:
        return Verified(cells, of, shares, (None,) * runs)
    return Verified(cells, of, shares, *_estimates(base, checked))


def _estimates(base: Basis, checked: Mapping[int, CheckedGrades]) -> Found:
    """Return estimates that assume nothing of the grader where the board's draws allow them, else those of
    the model, which only Rubric-Cover has.
    """
    measure = base.spec.measure.registered
    is_modelled = isinstance(measure, ItemMeasure) and measure.has_estimate
    sums = estimated_sums(base, checked)
    return estimated(base, checked) if is_modelled and not any(sums[0]) else sums


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def checked_counts(grades: CheckedGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Return an array of shape (2, runs): of the cells of each run's first k pooled passages, how many people
    saw, and all.
    """
    per_passage = grades.checked_in(uids).sum(axis=1)
    top = grades.pool.ranked_rows[:, :k]
    return np.array(
        [take_rows(per_passage, top).sum(axis=1), (top >= 0).sum(axis=1) * len(uids)], dtype=np.int64
    )
