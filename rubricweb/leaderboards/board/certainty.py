"""How sure a board is: computed once for each table of scores, and kept in the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.statistics import bootstrap
from grading.statistics.paired_tests import PairedTest, topics_needed
from grading.statistics.rank_intervals import brackets, more_topics
from rubricweb.grades.rank_intervals import KEPT, RankIntervals, rank_intervals
from rubricweb.leaderboards.board.types import Top

Places = NDArray[np.intp]
"""Rows of the table in the order of the board."""


@dataclass(frozen=True, eq=False)
class Certainty(RankIntervals):
    """With the bootstrap interval of each run's score."""

    intervals: bootstrap.RunIntervals

    @property
    def monte_carlo(self) -> float:
        """The largest Monte-Carlo standard error of an end of an interval; 0 without intervals."""
        return float(np.nanmax(self.intervals.error, initial=0.0))

    def brackets(self, places: Places) -> tuple[tuple[int, int], ...]:
        if not self.can_tell:
            return ()
        return tuple(brackets(self.order.better[np.ix_(places, places)]))


def certainty(scores: NDArray[np.float64], test: PairedTest) -> Certainty | None:
    """Of scores (runs, topics); None where fewer than two topics or runs leave nothing to test."""
    known = rank_intervals(scores, test)
    if known is None:
        return None
    return Certainty(
        known.order, known.p, known.test, known.topics, _intervals(scores.tobytes(), scores.shape)
    )


@lru_cache(maxsize=KEPT)
def _intervals(content: bytes, shape: tuple[int, int]) -> bootstrap.RunIntervals:
    return bootstrap.intervals(np.frombuffer(content).reshape(shape))


def top(scores: NDArray[np.float64], known: Certainty | None, places: Places) -> Top | None:
    """Return the top group, and how many more topics would separate the first two rows."""
    if known is None:
        return None
    if not known.can_tell:
        return Top(len(scores), None, topics_needed(known.n_pairs))
    first, second = places[:2]
    if known.order.better[first, second]:
        more: int | None = 0
    else:
        more = more_topics(scores[first] - scores[second])
    return Top(len(known.order.top_group), more)
