"""Approximate ranks on an official leaderboard for runs that it lacks.

Dietz, "A Workbench for Autograding Retrieve/Generate Systems" (SIGIR 2024), sorts generated answers among the
runs of a track by a measure of its own, and prints ranks such as "~27" beside those that the track lacked
(Table 4). It states no rule. Here a run takes the official rank that so many runs have ahead of them as it
has, with an interval by the test of all pairs of runs (`rank_intervals.order`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.rank_correlation import MIN_RUNS


@dataclass(frozen=True, slots=True)
class ApproximateRank:
    """Where a run would stand on an official leaderboard, 1 is best."""

    run_tag: str
    rank: float
    low: float | None
    """The best rank that the topics leave open; like the worst one, None where nothing is tested."""
    high: float | None

    @property
    def interval(self) -> str:
        """Return the ranks that the topics leave open, "21-30"; empty where there are too few to tell."""
        if self.low is None or self.high is None:
            return ""
        low, high = f"{self.low:g}", f"{self.high:g}"
        return low if low == high else f"{low}\N{EN DASH}{high}"

    @property
    def with_interval(self) -> str:
        """Return the rank and its interval: "27 (21-30)"."""
        return f"{self.rank:g} ({self.interval})" if self.interval else f"{self.rank:g}"


def competition_ranks(scores: Mapping[str, float]) -> dict[str, float]:
    """Return run tag -> rank by falling score, of which equal scores share the better.

    >>> competition_ranks({"a": 0.2, "b": 0.9, "c": 0.2})
    {'a': 2.0, 'b': 1.0, 'c': 2.0}
    """
    falling = sorted(scores.values(), reverse=True)
    return {run_tag: float(falling.index(score) + 1) for run_tag, score in scores.items()}


def approximate_ranks(
    scores: Mapping[str, float],
    official: Mapping[str, float],
    better: NDArray[np.bool_] | None = None,
) -> list[ApproximateRank]:
    """Return a rank for each run with a score that the official board lacks, best score first.

    `official` maps run tags to ranks. If q of the runs on both boards have a higher score than a run, its
    rank is the q-th best official rank of these: that of the run just above it, if the official order held
    for our scores. With none ahead it is 1.

    `better` has the shape (runs, runs) in the order of `scores`: the first is clearly ahead of the second.
    For `low` q counts the runs that are clearly ahead, for `high` all that are not clearly behind; official
    runs that have no score are then taken as ahead, too, down to the next one that has. Where the
    statements of `better` hold together with a chance of .95, as they do by `max_t`, all intervals hold
    together with it, provided that the official order is that of the true means of our scores. Where it is
    not, the interval says nothing of how far the two measures differ.

    Empty with fewer than 3 runs on both boards.

    >>> official = {"a": 3, "b": 27, "c": 34, "d": 44}
    >>> approximate_ranks({"a": 0.7, "b": 0.63, "new": 0.627, "c": 0.62, "d": 0.5}, official)[0].rank
    27
    """
    tags = [tag for tag, score in scores.items() if score == score]
    shared = [tag for tag in tags if tag in official]
    if len(shared) < MIN_RUNS:
        return []
    places = _Places(sorted(official[tag] for tag in shared), max(*official.values(), len(official)))
    row = {tag: number for number, tag in enumerate(scores)}
    shared_rows = [row[tag] for tag in shared]
    placed = []
    for tag in sorted(set(tags) - official.keys(), key=lambda tag: (-scores[tag], tag)):
        rank = places.after(sum(scores[other] > scores[tag] for other in shared))
        low = high = None
        if better is not None:
            low = places.after(int(better[shared_rows, row[tag]].sum()))
            high = places.before_next(len(shared_rows) - int(better[row[tag], shared_rows].sum()))
        placed.append(ApproximateRank(tag, rank, low, high))
    return placed


@dataclass(frozen=True, slots=True)
class _Places:
    """The official ranks of the runs on both boards, ascending, and the last rank of the official board."""

    ranks: list[float]
    last: float

    def after(self, q: int) -> float:
        """Return the rank of the q-th best run, 1 for none."""
        return self.ranks[q - 1] if q else 1.0

    def before_next(self, q: int) -> float:
        """Return the worst rank of any official run that is ahead of the run after the q-th best."""
        following = self.ranks[q] - 1 if q < len(self.ranks) else self.last
        return max(self.after(q), following)
