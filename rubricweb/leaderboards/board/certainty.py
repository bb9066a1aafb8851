"""How sure the order of a board is: computed once for each table of scores, and kept in the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures import bootstrap, ties
from grading.measures.influence import TIED_DECIMALS
from grading.measures.paired_tests import MAX_RUNS, PairedTest, p_values
from grading.measures.uncertainty import mean_and_stderr
from rubricweb.leaderboards.board.types import Top

KEPT = 64
Places = NDArray[np.intp]
"""Rows of the table in the order of the board."""


@dataclass(frozen=True, eq=False)
class Certainty:
    """By row of the table: the bootstrap interval of the score, and what is known of the order."""

    intervals: bootstrap.Interval
    order: ties.Order
    test: PairedTest

    def brackets(self, places: Places) -> tuple[tuple[int, int], ...]:
        return tuple(ties.brackets(self.order.better[np.ix_(places, places)]))


def certainty(scores: NDArray[np.float64], test: PairedTest) -> Certainty | None:
    """Of scores (runs, topics); None where fewer than two topics or runs leave nothing to test."""
    topics = int((~np.isnan(scores)).any(axis=0).sum()) if scores.size else 0
    if topics < 2 or len(scores) < 2:
        return None
    used = PairedTest.T if len(scores) > MAX_RUNS else test
    return _certainty(scores.tobytes(), scores.shape, used)


@lru_cache(maxsize=KEPT)
def _certainty(content: bytes, shape: tuple[int, int], test: PairedTest) -> Certainty:
    scores = np.frombuffer(content).reshape(shape)
    means = np.round(mean_and_stderr(scores).mean, TIED_DECIMALS)
    adjusted = ties.holm(p_values(scores, test))
    return Certainty(bootstrap.intervals(scores), ties.order(means, adjusted), test)


def top(scores: NDArray[np.float64], found: Certainty | None, places: Places) -> Top | None:
    """The top group, and how many more topics would separate the first two rows."""
    if found is None:
        return None
    first, second = places[:2]
    if found.order.better[first, second]:
        more: int | None = 0
    else:
        more = ties.more_topics(scores[first] - scores[second])
    return Top(len(found.order.top_group), more)
