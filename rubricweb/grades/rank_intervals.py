"""Rank intervals of runs, computed once for each table of scores and cached in the process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.max_t import MIN_TOPICS, PairedTest, pairwise_p, resolution
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_intervals import Order, order

KEPT = 64
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """Pairwise comparisons of the rows of a table of scores."""

    order: Order
    p: Floats
    """P-value of each pair, adjusted for all pairs, shape (runs, runs)."""
    test: PairedTest
    topics: int

    @property
    def can_tell(self) -> bool:
        """Return whether there are enough topics for any run to be clearly ahead of another."""
        return self.topics >= MIN_TOPICS

    def possible(self, run: int) -> tuple[int, int]:
        """Return the first and the last rank that the topics leave possible."""
        return int(self.order.first_possible[run]), int(self.order.last_possible[run])


def rank_intervals(scores: Floats, test: PairedTest = PairedTest.SIGN_FLIPS) -> RankIntervals | None:
    """Return the intervals for scores (runs, topics); None with fewer than two topics or runs."""
    topics = int((~np.isnan(scores)).any(axis=0).sum()) if scores.size else 0
    if topics < 2 or len(scores) < 2:
        return None
    order, p = _tested(scores.tobytes(), scores.shape, test)
    return RankIntervals(order, p, test, topics)


def resolved(scores: Floats, test: PairedTest) -> float | None:
    """Return the difference that the topics detect with the power of `max_t.POWER`; None if none."""
    return none_if_nan(_resolution(scores.tobytes(), scores.shape, test))


def span(first: int, last: int) -> str:
    """Format a range of ranks for people.

    >>> span(3, 3)
    '3'
    """
    return str(first) if first == last else f"{first}\N{EN DASH}{last}"


@lru_cache(maxsize=KEPT)
def _tested(content: bytes, shape: tuple[int, int], test: PairedTest) -> tuple[Order, Floats]:
    scores = np.frombuffer(content).reshape(shape)
    means, p = np.round(mean_and_stderr(scores).mean, TIED_DECIMALS), pairwise_p(scores, test)
    return order(means, p), p


@lru_cache(maxsize=KEPT)
def _resolution(content: bytes, shape: tuple[int, int], test: PairedTest) -> float:
    return resolution(np.frombuffer(content).reshape(shape), test)
