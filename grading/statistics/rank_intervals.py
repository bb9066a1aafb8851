"""The ranks that the topics leave open, on a board and for runs that an official leaderboard lacks.

Dietz, "A Workbench for Autograding Retrieve/Generate Systems" (SIGIR 2024), sorts generated answers among
the runs of a track by a measure of its own, and prints ranks such as "~27" beside those that the track
lacked (Table 4). It states no rule. Here a run takes the official rank that so many runs have ahead of them
as it has, with an interval by the test of all pairs of runs (`rank_intervals.order`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide_or_zero
from grading.statistics.influence import Scores
from grading.statistics.max_t import ALPHA, MIN_TOPICS, step_down
from grading.statistics.mean_intervals import (
    MIN_DEFINED,
    UNDEFINED,
    ConfidenceInterval,
    interval,
    mean_and_stderr,
)
from grading.statistics.rank_correlation import MIN_RUNS

Floats = NDArray[np.float64]
_DECIMALS = 12
_ROUNDING = 1e-9
Draws = Floats
"""Shape (resamples,): the number over resampled topics; the same resamples for all that are compared."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is known of the order of runs; runs by their row."""

    better: NDArray[np.bool_]
    """Shape (runs, runs): the first is clearly ahead of the second."""

    first: tuple[int, ...]
    """The runs with the highest mean: several if they are equal."""

    has_mean: NDArray[np.bool_]
    """Shape (runs,)."""

    @property
    def behind_first(self) -> NDArray[np.bool_]:
        """Shape (runs,): whether each run is clearly behind the first, or behind all that are first."""
        return np.asarray(self.better[list(self.first)].all(axis=0))

    @property
    def not_behind_first(self) -> NDArray[np.bool_]:
        """Shape (runs,): whether each run has a mean and is not clearly behind; so are the first."""
        return self.has_mean & ~self.behind_first

    @property
    def first_possible(self) -> NDArray[np.int64]:
        """Shape (runs,): the best rank that a run may have, behind all that are clearly ahead."""
        return np.asarray(1 + self.better.sum(axis=0, dtype=np.int64))

    @property
    def last_possible(self) -> NDArray[np.int64]:
        return np.asarray(len(self.better) - self.better.sum(axis=1, dtype=np.int64))


def order(means: Scores, p: Scores) -> Order:
    """Return which runs are clearly ahead of which.

    All statements together are wrong with a chance of at most ALPHA; `p` has the adjusted p-values of all
    pairs (`max_t.pairwise_p`).

    The ranks that follow are those of Mogstad, Romano, Shaikh and Wilhelm, "Inference for Ranks" (Review of
    Economic Studies 2024).

    >>> p = np.array([[1.0, 0.6, 0.01], [0.6, 1.0, 0.2], [0.01, 0.2, 1.0]])
    >>> found = order(np.array([0.9, 0.8, 0.1]), p)
    >>> found.first_possible.tolist(), found.last_possible.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    has_mean = ~np.isnan(means)
    comparable = np.where(has_mean, means, -np.inf)
    higher = comparable[:, np.newaxis] > comparable[np.newaxis, :]
    first = np.flatnonzero(comparable == comparable.max()).tolist()
    return Order(higher & (p <= ALPHA), tuple(first), has_mean)


def relative_gains(before: Floats, after: Floats) -> Floats:
    """Return what each run gains on the mean of all runs from one board to the other.

    The array has the shape (runs, topics).

    Both boards, of shape (runs, topics), have the same runs and topics. Each is taken in units of the
    standard deviation of its runs' means, so that boards of different measures compare. A paired test of
    each row says whether its run changes its standing by more than the topics' noise. NaN where a board
    does not count the topic for the run.

    >>> before, after = np.array([[0.2, 0.4], [0.4, 0.6]]), np.array([[0.4, 0.8], [0.2, 0.6]])
    >>> relative_gains(before, after).round(2).tolist()
    [[2.0, 2.0], [-2.0, -2.0]]
    """
    return _standing(after) - _standing(before)


def _standing(scores: Floats) -> Floats:
    counted = ~np.isnan(scores)
    n = np.maximum(counted.sum(axis=0), 1)
    centred = scores - np.where(counted, scores, 0.0).sum(axis=0) / n
    means = mean_and_stderr(scores).mean
    defined = means[~np.isnan(means)]
    spread = float(defined.std()) if len(defined) else 0.0
    return centred / spread if spread > 1e-12 else np.where(counted, 0.0, np.nan)


@dataclass(frozen=True, slots=True)
class Standing:
    """One number beside the best of all."""

    behind: float
    """How much lower it is; 0 for the best."""
    interval: ConfidenceInterval
    """The interval over the same resampled topics for both: a paired comparison of these two alone."""
    is_as_good: bool
    """The best, or not clearly behind it among all that are compared."""

    @property
    def is_best(self) -> bool:
        return self.behind == 0


def standings(
    values: Sequence[float | None], draws: Sequence[Draws | None], *, topics: int, within: float | None = None
) -> list[Standing | None]:
    """Return each value beside the highest; None for a value that is void.

    A value is clearly behind if the max-T test of all pairs says so of it and the best: each difference is in
    units of the standard deviation of its resamples over so many `topics`, and chance is what these differ
    from their mean by. With `within` a value is as good that is at most so much lower, whatever the test says
    (EXAM++, 5.1, takes 0.05). Where nothing can be tested only the best is as good as itself.

    >>> near, far = np.array([0.4, 0.7] * 50), np.array([0.1, 0.2] * 50)
    >>> best = np.array([0.5, 0.6] * 50)
    >>> found = standings([0.6, 0.55, 0.1, None], [best, near, far, None], topics=9)
    >>> [one.is_as_good if one else None for one in found]
    [True, True, False, None]
    """
    defined = [place for place, value in enumerate(values) if value is not None]
    if not defined:
        return [None] * len(values)
    best = max(defined, key=lambda place: values[place] or 0.0)
    clear = _clearly_behind(values, draws, best, topics)
    compared: list[Standing | None] = [None] * len(values)
    for place in defined:
        behind = round((values[best] or 0.0) - (values[place] or 0.0), _DECIMALS)
        is_as_good = behind <= within if within is not None else not behind or clear.get(place) is False
        ours, theirs = draws[best], draws[place]
        spread = UNDEFINED if ours is None or theirs is None or not behind else interval(ours - theirs)
        compared[place] = Standing(behind, spread, is_as_good)
    return compared


def _clearly_behind(
    values: Sequence[float | None], draws: Sequence[Draws | None], best: int, topics: int
) -> dict[int, bool]:
    """Return by place, of those that can be tested, which are clearly behind the best.

    All pairs are looked at, since any could be the best.

    Of few topics resamples spread too little: by sqrt((n - 1) / n), and as if their spread were known.
    """
    tested = [
        place
        for place, (value, draw) in enumerate(zip(values, draws, strict=True))
        if value is not None and draw is not None and np.isnan(draw).mean() <= 1 - MIN_DEFINED
    ]
    if topics < MIN_TOPICS or best not in tested or len(tested) < 2:
        return {}
    from scipy.special import ndtri, stdtrit  # a tenth of a second that only this test needs

    wider = sqrt(topics / (topics - 1)) * float(stdtrit(topics - 1, 1 - ALPHA / 2) / ndtri(1 - ALPHA / 2))
    drawn = np.stack([draw for place in tested if (draw := draws[place]) is not None])
    value_of = np.array([values[place] for place in tested], dtype=np.float64)
    first, second = np.triu_indices(len(tested), k=1)
    differences = drawn[first] - drawn[second]
    defined = (~np.isnan(differences)).sum(axis=1)
    means = divide_or_zero(np.nansum(differences, axis=1), defined)
    centred = np.nan_to_num(differences - means[:, np.newaxis])
    spread = np.maximum(np.sqrt(divide_or_zero((centred**2).sum(axis=1), defined)) * wider, _ROUNDING)
    enough = defined >= MIN_DEFINED * differences.shape[1]
    observed = np.where(enough, np.abs(value_of[first] - value_of[second]) / spread, 0.0)
    chance = np.column_stack([observed, np.abs(centred) * wider / spread[:, np.newaxis]])
    p = step_down(observed, chance.__getitem__)
    at = tested.index(best)
    return {
        tested[other]: bool(p[(first == min(at, other)) & (second == max(at, other))][0] <= ALPHA)
        for other in range(len(tested))
        if other != at
    }


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
    scores: Mapping[str, float], official: Mapping[str, float], better: NDArray[np.bool_] | None = None
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
