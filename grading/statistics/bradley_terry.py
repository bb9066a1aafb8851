"""Strengths of systems from votes between two of them, ties modelled (Bradley and Terry 1952; Davidson 1970).

With strengths `a` and `b` (in log-odds) and a tie parameter `t`, the first wins, ties and loses with chances
proportional to `exp((a - b) / 2)`, `exp(t)` and `exp((b - a) / 2)`. Strengths have the mean 0. A weak normal
prior (PRIOR_SD) keeps those of systems that won or lost every vote finite.

Votes on one topic, and votes of one person, are not independent. Intervals resample topics and voters, both
with replacement; a vote counts as often as its topic times its voter was drawn (Owen 2007, the pigeonhole
bootstrap, which is conservative). They are the strength plus and minus the resamples' standard deviation
times Student's quantile for one less than the topics or voters, whichever are fewer: for 10, 30 and 60 topics
they cover in 98, 95 and 94 % of simulations, where percentiles cover in 90, 92 and 93 %
(bench/arena_intervals.py).

People may prefer an answer because it is long. With lengths, the difference of strengths is `a - b + c x`,
where `x` is the log of the first answer's length over the second's, and `c` is fitted with the strengths:
these then compare answers of equal length (Li et al. 2024, "Does style matter? Disentangling style and
substance in Chatbot Arena", who add such covariates to the model of Bradley and Terry; they divide the
difference by the sum of both lengths; of the log, `c` says by what power of the ratio the odds grow).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from grading.statistics.bootstrap import LEVEL, SEED

PRIOR_SD = 3.0
"""In log-odds: nine in ten priors lie where the better one wins between 1 and 99 % of the votes."""
RESAMPLES = 1_000
_STEPS = 40
_SMALL_STEP = 1e-9
_LONGEST_STEP = 2.0


class Votes(NamedTuple):
    """Votes as arrays of the same length."""

    first: NDArray[np.int64]
    """Number of the system, from 0."""
    second: NDArray[np.int64]
    outcome: NDArray[np.int64]
    """1 where the first won, -1 where the second won, 0 for a tie (also for "both are bad")."""
    topic: NDArray[np.int64]
    voter: NDArray[np.int64]


class ByLength(NamedTuple):
    """How much length alone does for an answer: `c`, with its interval."""

    slope: float
    low: float
    """NaN, as `high`, for votes on one topic by one person."""
    high: float

    @property
    def of_double(self) -> float:
        """By which factor the odds of winning against losing grow for an answer twice as long."""
        return float(2**self.slope)


@dataclass(frozen=True, slots=True)
class Strengths:
    """What votes say of systems."""

    strength: NDArray[np.float64]
    """One a system, in log-odds; their mean is 0."""
    tie: float
    """The log of the tie parameter."""
    low: NDArray[np.float64]
    """NaN, as `high`, for votes on one topic by one person."""
    high: NDArray[np.float64]
    resampled: NDArray[np.float64]
    """Shape (resamples, systems)."""
    length: ByLength | None = None
    """None where lengths were not taken into account."""

    def chance(self, first: int, second: int) -> tuple[float, float]:
        """(chance that the first wins, chance of a tie)."""
        win, tie, lose = _chances(self.strength[first] - self.strength[second], self.tie)
        total = win + tie + lose
        return float(win / total), float(tie / total)

    def ranks(self) -> list[tuple[int, int]]:
        """Best and worst rank of each system: those whose interval lies wholly above, or not wholly below."""
        above = (self.low[:, None] > self.high[None, :]).sum(axis=0)
        below = (self.high[:, None] < self.low[None, :]).sum(axis=0)
        return [
            (1 + int(better), self.strength.size - int(worse))
            for better, worse in zip(above, below, strict=True)
        ]


def strengths(
    votes: Votes,
    systems: int,
    *,
    lengths: NDArray[np.float64] | None = None,
    n: int = RESAMPLES,
    seed: int = SEED,
    level: float = LEVEL,
) -> Strengths:
    """Fit the strengths of `systems` systems, with intervals. Raises ValueError without votes.

    `lengths`, of shape (votes,), are logs of the first answer's length over the second's: with them strengths
    are those at equal length.

    >>> votes = Votes(*(np.array(one) for one in ([0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 1, 2], [0, 0, 0])))
    >>> found = strengths(votes, 2, n=50)
    >>> bool(found.strength[0] > 0 > found.strength[1]), [round(one, 2) for one in found.chance(0, 1)]
    (True, [0.63, 0.31])
    """
    if not votes.outcome.size:
        raise ValueError("no votes")
    weights = np.vstack([np.ones(votes.outcome.size), _weights(votes, n, seed)])
    if lengths is None:
        design, counted = _by_pair(votes, systems)
        counts = np.einsum("rv,vpo->rpo", weights, counted, optimize=True)
    else:
        design, counted = _by_vote(votes, systems, lengths)
        counts = weights[:, :, None] * counted
    fitted = _fit(design, counts, systems)
    return _as_strengths(fitted[0], fitted[1:], _half_widths(votes, fitted[1:], level), systems)


def _as_strengths(
    fitted: NDArray[np.float64], resampled: NDArray[np.float64], half: NDArray[np.float64], systems: int
) -> Strengths:
    """From values in the order of the design, with the tie parameter last."""
    low, high = fitted - half, fitted + half
    has_length = fitted.size > systems + 1
    return Strengths(
        strength=fitted[:systems],
        tie=float(fitted[-1]),
        low=low[:systems],
        high=high[:systems],
        resampled=resampled[:, :systems],
        length=ByLength(*(float(one[systems]) for one in (fitted, low, high))) if has_length else None,
    )


def least_certain_pairs(found: Strengths, votes: Votes) -> list[tuple[int, int]]:
    """All pairs, first those of which it is least clear who is better, then those with fewer votes."""
    size = found.strength.size
    asked = np.zeros((size, size), dtype=int)
    np.add.at(asked, (votes.first, votes.second), 1)
    pairs = [(first, second) for first in range(size) for second in range(first + 1, size)]

    def certainty(pair: tuple[int, int]) -> tuple[float, int]:
        first, second = pair
        better = float(np.mean(found.resampled[:, first] > found.resampled[:, second]))
        return abs(better - 0.5), int(asked[first, second] + asked[second, first])

    return sorted(pairs, key=certainty)


def _by_pair(votes: Votes, systems: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The design of each pair of systems, and shape (votes, pairs, 3): a 1 at each vote's pair and outcome.

    Votes on a pair differ in nothing else, so that a fit adds them up.
    """
    pairs = np.array([(first, second) for first in range(systems) for second in range(first)])
    first, second = np.maximum(votes.first, votes.second), np.minimum(votes.first, votes.second)
    won = np.where(votes.first == first, votes.outcome, -votes.outcome)
    counted = np.zeros((votes.outcome.size, len(pairs), 3))
    counted[np.arange(votes.outcome.size), first * (first - 1) // 2 + second, 1 - won] = 1
    return _design(pairs[:, 0], pairs[:, 1], systems), counted


def _by_vote(
    votes: Votes, systems: int, lengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The design of each vote, and shape (votes, 3): a 1 at its outcome."""
    counted = np.zeros((votes.outcome.size, 3))
    counted[np.arange(votes.outcome.size), 1 - votes.outcome] = 1
    return _design(votes.first, votes.second, systems, lengths), counted


def _design(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    systems: int,
    lengths: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """What strengths, `c` (with lengths) and, elsewhere, `t` are multiplied with: shape (rows, columns)."""
    design = np.zeros((len(first), systems + (1 if lengths is None else 2)))
    design[np.arange(len(first)), first] = 1
    design[np.arange(len(first)), second] = -1
    if lengths is not None:
        design[:, systems] = lengths
    return design


def _weights(votes: Votes, n: int, seed: int) -> NDArray[np.float64]:
    """Shape (n, votes): how often each vote counts in each resample."""
    random = np.random.default_rng(seed)
    weights = np.ones((n, votes.outcome.size))
    for labels in (votes.topic, votes.voter):
        groups, of_vote = np.unique(labels, return_inverse=True)
        if groups.size > 1:
            drawn = random.multinomial(groups.size, np.full(groups.size, 1 / groups.size), size=n)
            weights *= drawn[:, of_vote]
    return weights


def _half_widths(votes: Votes, resampled: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Half the length of the interval of each fitted value."""
    clusters = [size for labels in (votes.topic, votes.voter) if (size := np.unique(labels).size) > 1]
    if not clusters:
        return np.full(resampled.shape[1], np.nan)
    fewest = min(clusters)
    quantile = student.ppf((1 + level) / 2, fewest - 1)
    half: NDArray[np.float64] = resampled.std(axis=0) * quantile * np.sqrt(fewest / (fewest - 1))
    return half


def _chances(
    difference: NDArray[np.float64] | float, tie: NDArray[np.float64] | float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """What the chances of win, tie and loss are proportional to."""
    return np.exp(np.divide(difference, 2)), np.exp(tie), np.exp(np.divide(difference, -2))


def _fit(design: NDArray[np.float64], counts: NDArray[np.float64], systems: int) -> NDArray[np.float64]:
    """Maximise the posterior for each of (n, rows, 3) counts by Newton's method: (n, columns)."""
    fitted = np.zeros((counts.shape[0], design.shape[1]))
    for _ in range(_STEPS):
        step = _newton_step(design, counts, fitted)
        fitted += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _SMALL_STEP:
            break
    fitted[:, :systems] -= fitted[:, :systems].mean(axis=1, keepdims=True)
    return fitted


def _newton_step(
    design: NDArray[np.float64], counts: NDArray[np.float64], fitted: NDArray[np.float64]
) -> NDArray[np.float64]:
    win, tie, lose = _chances(fitted @ design.T, fitted[:, -1:])
    total = win + tie + lose
    votes = counts.sum(axis=2)
    slope, tied = (win - lose) / (2 * total), tie / total
    by_difference = (counts[:, :, 0] - counts[:, :, 2]) / 2 - votes * slope
    gradient = by_difference @ design - fitted / PRIOR_SD**2
    gradient[:, -1] += (counts[:, :, 1] - votes * tied).sum(axis=1)
    curvature = votes * ((win + lose) / (4 * total) - slope**2)
    information = np.einsum("rp,pi,pj->rij", curvature, design, design, optimize=True)
    cross = -(votes * slope * tied) @ design
    information[:, -1, :] += cross
    information[:, :, -1] += cross
    information[:, -1, -1] += (votes * tied * (1 - tied)).sum(axis=1)
    information += np.eye(fitted.shape[1]) / PRIOR_SD**2
    return np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
