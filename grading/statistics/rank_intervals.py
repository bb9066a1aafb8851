"""What order of runs the topics can resolve, and which runs changed places by more than noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import Scores
from grading.statistics.max_t import ALPHA
from grading.statistics.means import mean_and_stderr


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
    """Return which runs are clearly ahead of which, all statements together wrong with a chance of at most
    `alpha`; `p` has the adjusted p-values of all pairs (`max_t.pairwise_p`).

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


Floats = NDArray[np.float64]


def relative_gains(before: Floats, after: Floats) -> Floats:
    """Return an array of shape (runs, topics): what each run gains on the mean of all runs from one board to
    the other.

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
    known = means[~np.isnan(means)]
    spread = float(known.std()) if len(known) else 0.0
    return centred / spread if spread > 1e-12 else np.where(counted, 0.0, np.nan)
