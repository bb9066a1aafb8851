"""How sure a board is: computed once for each table of scores, and kept in the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from grading.statistics.max_t import ALPHA, PairedTest, p_error
from grading.statistics.mean_intervals import Intervals, mean_intervals
from rubricweb.grades.rank_intervals import KEPT, Floats, RankIntervals, rank_intervals, resolved
from rubricweb.leaderboards.board.types import Top


@dataclass(frozen=True, eq=False)
class Certainty(RankIntervals):
    """With the interval of each run's score."""

    intervals: Intervals

    @property
    def error_of_ends(self) -> float:
        """The largest Monte-Carlo standard error of an end of an interval; 0 without intervals."""
        return float(np.nanmax(self.intervals.error, initial=0.0))

    @property
    def error_of_p(self) -> float:
        """The Monte-Carlo standard error of a p-value at the level of the board."""
        return p_error(ALPHA, self.topics, self.test)


def certainty(scores: Floats, test: PairedTest) -> Certainty | None:
    """Of scores (runs, topics); None where fewer than two topics or runs leave nothing to test."""
    ranks = rank_intervals(scores, test)
    if ranks is None:
        return None
    intervals = _intervals(scores.tobytes(), scores.shape)
    return Certainty(ranks.order, ranks.p, ranks.test, ranks.topics, intervals)


@lru_cache(maxsize=KEPT)
def _intervals(content: bytes, shape: tuple[int, int]) -> Intervals:
    """Those of scores that are shares end at 0 and at 1."""
    scores = np.frombuffer(content).reshape(shape)
    intervals = mean_intervals(scores)
    if not 0 <= np.nanmin(scores, initial=0) <= np.nanmax(scores, initial=1) <= 1:
        return intervals
    return Intervals(np.maximum(intervals.low, 0), np.minimum(intervals.high, 1), intervals.error)


def top(run_tags: Sequence[str], scores: Floats, ranks: RankIntervals | None) -> Top | None:
    """Return what can be said of the first run of a table of scores (runs, topics)."""
    if ranks is None:
        return None
    order = ranks.order
    first = tuple(sorted(run_tags[run] for run in order.first))
    not_behind, behind = int(order.not_behind_first.sum()) - len(first), int(order.behind_first.sum())
    return Top(ranks.can_tell, first, not_behind, behind, resolved(scores, ranks.test))
