"""Strengths of systems from votes between two of them, ties modelled, and the battle that comes next.

The model is that of Bradley and Terry (1952) with the ties of Davidson (1970). With strengths `a` and `b` (in
log-odds) and a tie parameter `t`, the first wins, ties and loses with chances proportional to
`exp((a - b) / 2)`, `exp(t)` and `exp((b - a) / 2)`. Strengths have the mean 0. A weak normal prior (PRIOR_SD)
keeps those of systems that won or lost every vote finite.

Votes on one topic, and votes of one person, are not independent: `vote_variance` says how far strengths may
be off, never by more than without votes. A system with votes on fewer than MIN_TOPICS topics has no interval,
and is not told from others.
Ranks are those that the step-down max-T test (`max_t`) of all pairs leaves open: they hold together. What
chance makes of differences is drawn from the normal distribution of the strengths; a difference is in as many
of its standard deviations as are as rare as its Student's t.

People may prefer an answer because it is long. With lengths, the difference of strengths is `a - b + c x`,
where `x` is the log of the first answer's length over the second's, and `c` is fitted with the strengths:
these then compare answers of equal length (Li et al. 2024, "Does style matter? Disentangling style and
substance in Chatbot Arena", who add such covariates to the model of Bradley and Terry; they divide the
difference by the sum of both lengths; of the log, `c` says by what power of the ratio the odds grow).

Battles (two systems, a topic, and which system stands left) are drawn from a generator that the caller seeds,
so that the same seed and votes give the same battle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grading.statistics.max_t import ALPHA, step_down
from grading.statistics.mean_intervals import LEVEL, MIN_TOPICS, RESAMPLES, SEED
from grading.statistics.vote_variance import Scored, Variance, variance

PRIOR_SD = 3.0
"""In log-odds: nine in ten priors lie where the better one wins between 1 and 99 % of the votes."""
_STEPS = 40
_MOST_STEPS = 200
_SMALL_STEP = 1e-9
_LONGEST_STEP = 2.0
_POINTS = 5

Floats = NDArray[np.float64]


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
    """NaN, as `high`, with fewer than MIN_TOPICS topics."""
    high: float

    @property
    def has_interval(self) -> bool:
        return not isnan(self.low)

    @property
    def of_double(self) -> float:
        """Return the factor by which the odds of winning against losing grow for an answer twice as long."""
        return float(2**self.slope)


@dataclass(frozen=True, slots=True)
class Strengths:
    """What votes say of systems; matrices have the shape (systems, systems)."""

    strength: Floats
    """One a system, in log-odds; their mean is 0."""
    tie: float
    """The log of the tie parameter."""
    low: Floats
    """NaN, as `high`, for a system with votes on fewer than MIN_TOPICS topics."""
    high: Floats
    covariance: Floats
    """The covariance of the strengths, without what topics differ by."""
    deviations: Floats
    """Standard deviations of the row's system minus the column's, as rare as Student's t."""
    length: ByLength | None = None
    """None where lengths were not taken into account."""

    def chance(self, first: int, second: int) -> tuple[float, float]:
        """Return (chance that the first wins, chance of a tie)."""
        win, tie, lose = _chances(self.strength[first] - self.strength[second], self.tie)
        total = win + tie + lose
        return float(win / total), float(tie / total)

    def pairwise_p(self) -> Floats:
        """Return the p-values of all pairs, adjusted for being many; 1 where one has too few topics."""
        first, second = np.triu_indices(self.strength.size, k=1)
        is_tested = ~np.isnan(self.low[first] + self.low[second])
        first, second = first[is_tested], second[is_tested]
        p = np.ones_like(self.covariance)
        if first.size:
            observed = np.abs(self.deviations[first, second])
            random = np.random.default_rng(SEED)
            size = RESAMPLES, self.strength.size
            drawn = random.normal(size=size) @ np.linalg.cholesky(self.covariance).T
            variances = self.covariance.diagonal()
            errors = np.sqrt(variances[first] + variances[second] - 2 * self.covariance[first, second])

            def under_chance(tests: NDArray[np.int64]) -> Floats:
                differences = drawn[:, first[tests]] - drawn[:, second[tests]]
                values: Floats = np.abs(differences).T / errors[tests, np.newaxis]
                values[:, 0] = observed[tests]
                return values

            p[first, second] = p[second, first] = step_down(observed, under_chance)
        return p

    def ranks(self) -> list[tuple[int, int]]:
        """Return the best and the worst rank of each system that are left open.

        Some is wrong by chance with at most ALPHA.
        """
        is_clear = self.pairwise_p() <= ALPHA
        above = (is_clear & (self.strength[:, np.newaxis] > self.strength)).sum(axis=0)
        below = (is_clear & (self.strength[:, np.newaxis] < self.strength)).sum(axis=0)
        return [
            (1 + int(better), self.strength.size - int(worse))
            for better, worse in zip(above, below, strict=True)
        ]


def strengths(votes: Votes, systems: int, *, lengths: Floats | None = None) -> Strengths:
    """Fit the strengths of `systems` systems, with intervals. Raises ValueError without votes.

    `lengths`, of shape (votes,), are logs of the first answer's length over the second's: with them strengths
    are those at equal length.

    >>> votes = Votes(*(np.array(one) for one in ([0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 1, 2], [0, 0, 0])))
    >>> fitted = strengths(votes, 2)
    >>> bool(fitted.strength[0] > 0 > fitted.strength[1]), [round(one, 2) for one in fitted.chance(0, 1)]
    (True, [0.63, 0.31])
    >>> fitted.low, fitted.ranks()
    (array([nan, nan]), [(1, 2), (1, 2)])
    """
    from scipy.special import ndtri, stdtrit  # a tenth of a second that commands start without

    if not votes.outcome.size:
        raise ValueError("no votes")
    design, counts = _design(votes.first, votes.second, systems, lengths), np.eye(3)[1 - votes.outcome]
    fitted = _fit(*(_by_pair(votes, systems) if lengths is None else (design, counts)), systems)
    scored = Scored(*_moments(design, counts, fitted))
    on_the_way = _on_the_way(design, counts, fitted)
    spread = variance(scored, on_the_way, votes.topic, votes.voter, prior=PRIOR_SD**-2)
    deviations = _deviations(fitted, spread, systems)
    values = np.eye(fitted.size)[:-1]
    values[:systems, :systems] -= 1 / systems
    errors, freedom = spread.errors(values)
    topics = np.append(_topics(votes, systems), np.unique(votes.topic).size)[: len(values)]
    without_votes = ndtri((1 + LEVEL) / 2) * PRIOR_SD * np.sqrt((values**2).sum(axis=1))
    half = np.minimum(errors * stdtrit(freedom, (1 + LEVEL) / 2), without_votes)
    half[topics < MIN_TOPICS] = np.nan
    low, high = fitted[:-1] - half, fitted[:-1] + half
    return Strengths(
        strength=fitted[:systems],
        tie=float(fitted[-1]),
        low=low[:systems],
        high=high[:systems],
        covariance=spread.covariance[:systems, :systems],
        deviations=deviations,
        length=None if lengths is None else ByLength(*(float(each[systems]) for each in (fitted, low, high))),
    )


def _on_the_way(design: Floats, counts: Floats, fitted: Floats) -> Floats:
    """Average the information from equal strengths to the fitted ones.

    With this average the difference of two systems, squared, is twice what the log-likelihood loses where
    they are equal: exactly so for two systems, whose ties stay as they are.
    """
    total: Floats = np.zeros((fitted.size, fitted.size))
    for point, weight in zip(*np.polynomial.legendre.leggauss(_POINTS), strict=True):
        share = (point + 1) / 2
        at = np.append(share * fitted[:-1], fitted[-1])
        total += weight * share * Scored(*_moments(design, counts, at)).information()
    return total


def _deviations(fitted: Floats, spread: Variance, systems: int) -> Floats:
    from scipy.special import ndtri, stdtr

    first, second = np.triu_indices(systems, k=1)
    eye, deviations = np.eye(fitted.size), np.zeros((systems, systems))
    errors, freedom = spread.errors(eye[first] - eye[second])
    differences = fitted[first] - fitted[second]
    as_rare = -ndtri(stdtr(freedom, -np.abs(differences) / errors))
    deviations[first, second] = np.sign(differences) * as_rare
    deviations -= deviations.T
    return deviations


def half_tie_strengths(votes: Votes, systems: int) -> Floats:
    """Return strengths by Bradley and Terry with a tie as half a win for both, shape (systems,), mean 0.

    There is no prior, as in arena-rank, so that they are NaN where no finite strengths are the likeliest:
    where some systems never lost, nor tied, against the others. Raises ValueError without votes.

    >>> votes = Votes(*(np.array(one) for one in ([0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0])))
    >>> half_tie_strengths(votes, 2).round(4).tolist()
    [0.0, 0.0]
    """
    if not votes.outcome.size:
        raise ValueError("no votes")
    won = np.zeros((systems, systems))
    np.add.at(won, (votes.first, votes.second), (1 + votes.outcome) / 2)
    np.add.at(won, (votes.second, votes.first), (1 - votes.outcome) / 2)
    if not _are_connected(won > 0):
        return np.full(systems, np.nan)
    battles, fitted = won + won.T, np.zeros(systems)
    for _ in range(_MOST_STEPS):
        chances = 1 / (1 + np.exp(fitted - fitted[:, np.newaxis]))
        weights = battles * chances * (1 - chances)
        information = np.diag(weights.sum(axis=1)) - weights + 1 / systems
        step = np.linalg.solve(information, (won - battles * chances).sum(axis=1))
        fitted += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _SMALL_STEP:
            break
    return np.asarray(fitted - fitted.mean())


def _are_connected(won: NDArray[np.bool_]) -> bool:
    """Return whether each system is reached from each other one by wins, shape (systems, systems)."""
    reached = won | np.eye(len(won), dtype=bool)
    for _ in range(len(won).bit_length()):
        reached = (reached.astype(np.float32) @ reached.astype(np.float32)) > 0
    return bool(reached.all())


def rating(strength: float) -> float:
    """Return a strength, in log-odds, on the scale of arenas: 1000 is the mean, 400 points are odds of ten.

    >>> round(rating(0.279331), 3)
    1048.525
    """
    return 1000 + 400 / log(10) * strength


def least_certain_pairs(fitted: Strengths, votes: Votes) -> list[tuple[int, int]]:
    """Return all pairs: those whose better one is least clear first, then those with fewer votes."""
    size = fitted.strength.size
    n_votes = np.zeros((size, size), dtype=int)
    np.add.at(n_votes, (votes.first, votes.second), 1)
    pairs = [(first, second) for first in range(size) for second in range(first + 1, size)]

    def certainty(pair: tuple[int, int]) -> tuple[float, int]:
        first, second = pair
        certain = round(abs(float(fitted.deviations[first, second])), 6)
        return certain, int(n_votes[first, second] + n_votes[second, first])

    return sorted(pairs, key=certainty)


def _by_pair(votes: Votes, systems: int) -> tuple[Floats, Floats]:
    """Return the design of each pair of systems, and shape (pairs, 3): its votes by outcome.

    Votes on a pair differ in nothing else, so that a fit adds them up.
    """
    pairs = np.array([(first, second) for first in range(systems) for second in range(first)])
    first, second = np.maximum(votes.first, votes.second), np.minimum(votes.first, votes.second)
    won = np.where(votes.first == first, votes.outcome, -votes.outcome)
    counts = np.zeros((len(pairs), 3))
    np.add.at(counts, (first * (first - 1) // 2 + second, 1 - won), 1)
    return _design(pairs[:, 0], pairs[:, 1], systems), counts


def _design(
    first: NDArray[np.int64], second: NDArray[np.int64], systems: int, lengths: Floats | None = None
) -> Floats:
    """Return the factors of strengths, `c` (with lengths) and, elsewhere, `t`: shape (rows, columns)."""
    design = np.zeros((len(first), systems + (1 if lengths is None else 2)))
    design[np.arange(len(first)), first] = 1
    design[np.arange(len(first)), second] = -1
    if lengths is not None:
        design[:, systems] = lengths
    return design


def _topics(votes: Votes, systems: int) -> NDArray[np.int64]:
    """Return the number of topics with votes on each system."""
    system, topic = np.concatenate([votes.first, votes.second]), np.tile(votes.topic, 2)
    return np.bincount(np.unique(np.stack([system, topic]), axis=1)[0], minlength=systems)


def _chances(difference: Floats | float, tie: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return what the chances of win, tie and loss are proportional to."""
    return np.exp(np.divide(difference, 2)), np.exp(tie), np.exp(np.divide(difference, -2))


def _fit(design: Floats, counts: Floats, systems: int) -> Floats:
    """Maximise the posterior of (rows, 3) counts of outcomes by Newton's method: (columns,)."""
    fitted = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        scores, roots = _moments(design, counts, fitted)
        rows = roots.reshape(-1, fitted.size)
        information = rows.T @ rows + np.eye(fitted.size) / PRIOR_SD**2
        step = np.linalg.solve(information, scores.sum(axis=0) - fitted / PRIOR_SD**2)
        fitted += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _SMALL_STEP:
            break
    fitted[:systems] -= fitted[:systems].mean()
    return fitted


def _moments(design: Floats, counts: Floats, fitted: Floats) -> tuple[Floats, Floats]:
    """Return each row's gradient of the log-likelihood, (rows, columns), and the roots of its information.

    The roots, (rows, 2, columns), are a factor of the covariance of (half the outcome, whether it is a tie).
    """
    chances = np.stack(_chances(design @ fitted, np.full(len(design), fitted[-1])))
    win, tie, lose = chances / chances.sum(axis=0)
    votes = counts.sum(axis=1)
    gradients = ((counts[:, 0] - counts[:, 2] - votes * (win - lose)) / 2)[:, np.newaxis] * design
    gradients[:, -1] += counts[:, 1] - votes * tie
    half = np.sqrt(win * lose + (win + lose) * tie / 4)
    roots = np.zeros((len(design), 2, design.shape[1]))
    roots[:, 0] = half[:, np.newaxis] * design
    roots[:, 0, -1] -= (win - lose) * tie / (2 * half)
    roots[:, 1, -1] = np.sqrt(win * lose * tie) / half
    return gradients, roots * np.sqrt(votes)[:, np.newaxis, np.newaxis]


class Candidate(NamedTuple):
    """Two systems that both answered a topic; `first` is the smaller number."""

    topic: int
    first: int
    second: int

    @property
    def pair(self) -> tuple[int, int]:
        return self.first, self.second


class Sides(NamedTuple):
    """A battle as it is shown."""

    topic: int
    left: int
    right: int


def at_random(candidates: Sequence[Candidate], random: np.random.Generator) -> Sides:
    """Draw a candidate, each as likely as any other, and its sides. Raises ValueError without candidates.

    >>> at_random([Candidate(7, 0, 1)], np.random.default_rng(3)).topic
    7
    """
    if not candidates:
        raise ValueError("no candidates")
    topic, first, second = candidates[int(random.integers(len(candidates)))]
    return Sides(topic, second, first) if random.random() < 0.5 else Sides(topic, first, second)


def sharpening(
    candidates: Sequence[Candidate],
    pairs: Sequence[tuple[int, int]],
    votes: Mapping[int, int],
    random: np.random.Generator,
) -> Sides:
    """Draw a battle of the first of `pairs` that has a candidate, on its topic with the fewest votes.

    `pairs` come least certain first (`bradley_terry.least_certain_pairs`); a pair that is not among them
    comes before all, since nothing is known of it. `votes` counts them by topic. What is left equal is drawn.

    >>> known, two = [(0, 1)], [Candidate(7, 0, 1), Candidate(8, 0, 1)]
    >>> sharpening(two, known, {7: 3, 8: 1}, np.random.default_rng(3)).topic
    8
    """
    place = {pair: number for number, pair in enumerate(pairs)}
    first = min((place.get(each.pair, -1) for each in candidates), default=0)
    of_pair = [each for each in candidates if place.get(each.pair, -1) == first]
    fewest = min((votes.get(each.topic, 0) for each in of_pair), default=0)
    return at_random([each for each in of_pair if votes.get(each.topic, 0) == fewest], random)
