"""Rank intervals of runs, computed once for each table of scores and cached in the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.paired_tests import (
    ALPHA,
    MAX_RUNS,
    MAX_TOPICS,
    PairedTest,
    PValueMatrix,
    p_values,
    smallest_p,
)
from grading.statistics.rank_intervals import Order, holm, order
from grading.statistics.uncertainty import mean_and_stderr

KEPT = 64
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """The paired tests between the rows of a table of scores."""

    order: Order
    p: PValueMatrix
    """Of each pair by itself, before Holm's correction."""
    test: PairedTest
    topics: int

    @property
    def n_pairs(self) -> int:
        runs = len(self.order.better)
        return runs * (runs - 1) // 2

    @property
    def can_tell(self) -> bool:
        """Whether there are enough topics for a pair to pass Holm's first step."""
        return smallest_p(self.topics, self.test) <= ALPHA / self.n_pairs

    def possible(self, run: int) -> tuple[int, int]:
        """The first and the last rank that the tests leave possible."""
        return int(self.order.first_possible[run]), int(self.order.last_possible[run])


def rank_intervals(scores: Floats, test: PairedTest = PairedTest.RANDOMISATION) -> RankIntervals | None:
    """Of scores (runs, topics); None with fewer than two topics or runs."""
    topics = int((~np.isnan(scores)).any(axis=0).sum()) if scores.size else 0
    if topics < 2 or len(scores) < 2:
        return None
    order, p = _tested(scores.tobytes(), scores.shape, used := test_used(scores.shape, test))
    return RankIntervals(order, p, used, topics)


def span(first: int, last: int) -> str:
    """Ranks from the first to the last, as people read them.

    >>> span(3, 3)
    '3'
    """
    return str(first) if first == last else f"{first}\N{EN DASH}{last}"


def test_used(shape: tuple[int, ...], test: PairedTest) -> PairedTest:
    """The test that tables of this shape (runs, topics) allow: large ones only t."""
    runs, topics = shape
    return PairedTest.T if runs > MAX_RUNS or topics > MAX_TOPICS else test


@lru_cache(maxsize=KEPT)
def _tested(content: bytes, shape: tuple[int, int], test: PairedTest) -> tuple[Order, PValueMatrix]:
    scores = np.frombuffer(content).reshape(shape)
    means, p = np.round(mean_and_stderr(scores).mean, TIED_DECIMALS), p_values(scores, test)
    return order(means, holm(p)), p
