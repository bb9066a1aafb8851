"""What order of runs the topics can resolve: Holm's correction, rank intervals, brackets, the top group."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import Scores
from grading.statistics.paired_tests import ALPHA, PValueMatrix

POWER = 0.8


@dataclass(frozen=True, slots=True)
class Order:
    """What is known of the order of runs; runs by their row."""

    better: NDArray[np.bool_]
    """Shape (runs, runs): the first has the higher mean and a paired test tells them apart."""

    @property
    def first_possible(self) -> NDArray[np.int64]:
        """Shape (runs,): the best rank that a run may have, behind all that are better."""
        return np.asarray(1 + self.better.sum(axis=0, dtype=np.int64))

    @property
    def last_possible(self) -> NDArray[np.int64]:
        return np.asarray(len(self.better) - self.better.sum(axis=1, dtype=np.int64))

    @property
    def top_group(self) -> list[int]:
        """The runs that none is better than."""
        return np.flatnonzero(self.first_possible == 1).tolist()


def holm(p: PValueMatrix) -> PValueMatrix:
    """Return the p-values of all pairs adjusted for being many (Holm 1979), 1 on the diagonal.

    >>> holm(np.array([[1.0, 0.01, 0.04], [0.01, 1.0, 0.03], [0.04, 0.03, 1.0]]))[0].round(4).tolist()
    [1.0, 0.03, 0.06]
    """
    first, second = np.triu_indices(len(p), k=1)
    corrected = np.ones_like(p)
    corrected[first, second] = corrected[second, first] = adjusted(p[first, second])
    return corrected


def adjusted(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values of several tests, shape (tests,), adjusted for being many (Holm 1979).

    >>> adjusted(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    ascending = np.argsort(p, kind="stable")
    steps = len(p) - np.arange(len(p))
    corrected = np.empty_like(p)
    corrected[ascending] = np.minimum(np.maximum.accumulate(p[ascending] * steps), 1.0)
    return corrected


def order(means: Scores, p: PValueMatrix, *, alpha: float = ALPHA) -> Order:
    """Return which runs are better than which, all statements together wrong with a chance of at most
    `alpha`.

    `p` has the p-values after Holm's correction. The intervals of ranks that follow are those of
    Mogstad, Romano, Shaikh and Wilhelm, "Inference for Ranks" (Review of Economic Studies 2024), with Holm's
    correction in place of their bootstrap.

    >>> p = np.array([[1.0, 0.6, 0.01], [0.6, 1.0, 0.2], [0.01, 0.2, 1.0]])
    >>> found = order(np.array([0.9, 0.8, 0.1]), p)
    >>> found.first_possible.tolist(), found.last_possible.tolist(), found.top_group
    ([1, 1, 2], [2, 3, 3], [0, 1])
    """
    comparable = np.where(np.isnan(means), -np.inf, means)
    higher = comparable[:, np.newaxis] > comparable[np.newaxis, :]
    return Order(higher & (p <= alpha))


def brackets(better: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Groups of neighbours, as (first, last) places, in which no run is better than another; the widest only.

    `better` has its runs in the order of the board, best first. A run alone has no bracket.

    >>> better = np.zeros((4, 4), dtype=np.bool_)
    >>> better[0, 2:] = better[1, 3] = True
    >>> brackets(better)
    [(0, 1), (1, 2), (2, 3)]
    """
    apart = better | better.T
    groups: list[tuple[int, int]] = []
    for first in range(len(apart)):
        last = first
        while last + 1 < len(apart) and not apart[first : last + 1, last + 1].any():
            last += 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def more_topics(
    differences: NDArray[np.float64], *, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """About how many more topics would tell two runs apart; None if no number would, 0 if these suffice.

    One digit of it counts, since the mean difference that it stands on is itself uncertain. For a
    two-sided test of these two runs: n = ((z(1 - alpha / 2) + z(power)) s / d)^2, with mean d and standard
    deviation s of the differences by topic (Sakai, "Topic set size design", 2016; its normal approximation).
    NaN is left out.

    >>> more_topics(np.array([0.2, -0.1, 0.3, 0.1, -0.1, 0.2]))
    20
    """
    known = differences[~np.isnan(differences)]
    mean = float(known.mean()) if len(known) else 0.0
    if len(known) < 2 or abs(mean) < 1e-12:
        return None
    normal = NormalDist()
    effect = (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * float(known.std(ddof=1)) / mean
    return _to_one_digit(max(0, ceil(effect**2) - len(known)))


def _to_one_digit(number: int) -> int:
    """Rounded to one digit; one below ten is rounded up to it, unless it is 0."""
    return 10 * bool(number) if number < 10 else int(float(f"{number:.0e}"))
