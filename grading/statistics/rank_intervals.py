"""Ranks that the topics can resolve, and which of several numbers are as good as the best."""

from __future__ import annotations

from collections.abc import Sequence
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


def order(means: Scores, p: Scores, *, alpha: float = ALPHA) -> Order:
    """Return which runs are clearly ahead of which.

    All statements together are wrong with a chance of at most `alpha`; `p` has the adjusted p-values of all
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
    return Order(higher & (p <= alpha), tuple(first), has_mean)


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
    values: Sequence[float | None],
    draws: Sequence[Draws | None],
    *,
    topics: int,
    within: float | None = None,
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
