"""How sure the order of a board is: computed once for each table of scores, and kept in the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures import bootstrap, ties
from grading.measures.influence import TIED_DECIMALS
from grading.measures.paired_tests import (
    ALPHA,
    MAX_RUNS,
    MAX_TOPICS,
    PairedTest,
    p_values,
    smallest_p,
    topics_needed,
)
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
    topics: int

    @property
    def pairs(self) -> int:
        runs = len(self.order.better)
        return runs * (runs - 1) // 2

    @property
    def can_tell(self) -> bool:
        """With so many topics a pair can pass Holm's first step, if its scores differ enough."""
        return smallest_p(self.topics, self.test) <= ALPHA / self.pairs

    def possible(self, run: int) -> tuple[int, int]:
        """The first and the last rank that the test leaves open."""
        return int(self.order.first_possible[run]), int(self.order.last_possible[run])

    def brackets(self, places: Places) -> tuple[tuple[int, int], ...]:
        if not self.can_tell:
            return ()
        return tuple(ties.brackets(self.order.better[np.ix_(places, places)]))


def certainty(scores: NDArray[np.float64], test: PairedTest) -> Certainty | None:
    """Of scores (runs, topics); None where fewer than two topics or runs leave nothing to test."""
    topics = int((~np.isnan(scores)).any(axis=0).sum()) if scores.size else 0
    if topics < 2 or len(scores) < 2:
        return None
    return _certainty(scores.tobytes(), scores.shape, test_used(scores.shape, test))


def test_used(shape: tuple[int, ...], test: PairedTest) -> PairedTest:
    """Large tables, of shape (runs, topics), allow only t."""
    runs, topics = shape
    return PairedTest.T if runs > MAX_RUNS or topics > MAX_TOPICS else test


@lru_cache(maxsize=KEPT)
def _certainty(content: bytes, shape: tuple[int, int], test: PairedTest) -> Certainty:
    scores = np.frombuffer(content).reshape(shape)
    means = np.round(mean_and_stderr(scores).mean, TIED_DECIMALS)
    topics = int((~np.isnan(scores)).any(axis=0).sum())
    pairs = ties.holm(p_values(scores, test))
    return Certainty(bootstrap.intervals(scores), ties.order(means, pairs), test, topics)


def top(scores: NDArray[np.float64], found: Certainty | None, places: Places) -> Top | None:
    """The top group, and how many more topics would separate the first two rows."""
    if found is None:
        return None
    if not found.can_tell:
        return Top(len(scores), None, topics_needed(found.pairs))
    first, second = places[:2]
    if found.order.better[first, second]:
        more: int | None = 0
    else:
        more = ties.more_topics(scores[first] - scores[second])
    return Top(len(found.order.top_group), more)
