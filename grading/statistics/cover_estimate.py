"""Human Rubric-Cover of every run, estimated from a random sample of cells that people rated.

The estimand is the Rubric-Cover that the runs would have if people had rated every cell: the share of the
items that people rate at or above the threshold on at least one of the run's first k passages. An item that
the grader misses on twenty passages is missed only if people agree twenty times, so errors have to be carried
through that "at least one".

The grader's threshold splits the cells into two strata, and where passages have judgments these split each
in two: people agree with a grader more often on relevant passages, of which good runs rank more. In each
stratum, people reach the threshold with a rate that varies between items: logit(rate) = alpha + sigma z, z
standard normal. The marginal rate has the prior Beta(1/2, 1/2) (Jeffreys), in strata by judgment one as
weak around the rate of both, and sigma a half-normal one, so that a sample that cannot show how errors
cluster by item widens the interval instead of being read as independent errors. The posterior is computed
on a grid.
Sampled cells count as people rated them; the others are unknown, and their noise is part of the interval.
Two items that are rated on one passage are taken to err together with the correlation PASSAGE_CORRELATION.

`bench/estimated_cover.py` simulates how often the interval holds the true value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from grading.arrays import take_rows

LEVEL = 0.95
METHOD = "credible interval of a stratified hierarchical model"
MIN_ITEMS, CELLS_AN_ITEM = 10, 5
"""The fewest items, and cells of each, that show how misses cluster by item."""
MIN_ABOVE = 30
COVER_CELLS = 400
"""A sample of so many usually estimates to within 0.05 to 0.1."""
N_STRATA = 4
"""Strata by grade and judgment; those without cells change nothing."""
FEW_MISSES = 3
"""The fewest misses in the sample for the interval to have its level; with fewer it is a lower bound."""
NOT_RATED = -1
SIGMA_SCALE = 1.5
"""The scale of the half-normal prior of sigma: the odds of an error differ by a factor of a few."""
PASSAGE_CORRELATION = 0.1
"""Assumed between the errors on one passage by two items; the sample does not show it."""
DRAWS = 400
"""Points of the posterior that the interval is made of."""
LARGEST_EXPONENT = 20.0
"""The largest exponent of the correction for passages, against overflow."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


_ALPHAS = np.arange(-14, 12.01, 0.25)
_SIGMAS = np.array([0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0])
_Z = np.linspace(-4, 4, 33)
_Z_WEIGHTS = np.exp(-0.5 * _Z**2)
_Z_WEIGHTS /= _Z_WEIGHTS.sum()
_LOG_ODDS = _ALPHAS[:, None, None] + _SIGMAS[None, :, None] * _Z
_RATES = np.clip(1 / (1 + np.exp(-_LOG_ODDS)), 1e-9, 1 - 1e-9)
_LOG_RATES, _LOG_MISSED = np.log(_RATES), np.log1p(-_RATES)
_MARGINAL = (_RATES * _Z_WEIGHTS).sum(axis=2)
_STEPS = np.maximum(np.gradient(_MARGINAL, _ALPHAS, axis=0), 1e-300)
_LOG_SIGMAS = -0.5 * (_SIGMAS / SIGMA_SCALE) ** 2 + np.log(np.gradient(_SIGMAS))
_NODES = np.array([NormalDist().inv_cdf((n + 0.5) / 16) for n in range(16)])
_NODES /= _NODES.std()


@dataclass(frozen=True, eq=False)
class Unit:
    """A topic, or a subtopic, as the board averages it."""

    reached: Mask
    """Shape (passages, items): the grader rates the cell at or above the threshold."""
    ranked: NDArray[np.int32]
    """Shape (runs, k): rows of the first k passages; -1 for one outside the pool, or padding."""
    human: NDArray[np.int8]
    """Shape (passages, items): 1 or 0 where people rated a sampled cell, at or above the threshold or not;
    NOT_RATED elsewhere.
    """
    adds: Floats
    """Shape (runs, items): what covering the item adds to the run's score."""
    relevant: Mask | None = None
    """Shape (passages,): judged relevant; None without judgments."""

    @property
    def strata(self) -> NDArray[np.intp]:
        """Return an array of shape (passages, items): the stratum of each cell, of N_STRATA."""
        relevant = np.zeros(len(self.reached), dtype=np.bool_) if self.relevant is None else self.relevant
        return self.reached + 2 * relevant[:, np.newaxis].astype(np.intp)


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Sampled cells of the runs' first k passages, and whether they can tell how errors cluster by item."""

    below: int
    above: int
    items: int
    """Items with at least CELLS_AN_ITEM sampled cells below the threshold, or all of them if fewer."""
    needed_items: int
    needed_above: int
    misses: int = 0
    """Sampled cells below the threshold that people rate at or above it."""

    @property
    def cells(self) -> int:
        return self.below + self.above

    @property
    def has_few_misses(self) -> bool:
        """Return whether misses are few: the interval then holds the truth more often than its level says."""
        return self.misses < FEW_MISSES

    @property
    def is_enough(self) -> bool:
        return self.items >= self.needed_items and self.above >= self.needed_above


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of every run, each of shape (runs,)."""

    value: Floats
    low: Floats
    high: Floats
    settled: Floats
    """Share of the variance that comes from not knowing the rates: what a larger sample takes away."""


@dataclass(frozen=True, eq=False)
class _Stratum:
    missed: Floats
    """Shape (draws, kinds, n): the chance that n further cells of an item all stay below the threshold."""
    kind: NDArray[np.intp]
    """By item: its place in `missed`; items with the same counts are of one kind."""
    rate: float


def estimate(units: Sequence[Unit], *, seed: int = 0) -> Estimates:
    """Estimate every run's Rubric-Cover by people, with the central credible interval of LEVEL.

    Two runs over ten items each; the grader finds nothing in the second, and people agree with it wherever
    they looked, which was at half of the cells.

    >>> reached = np.tile([[True], [False]], (40, 10))
    >>> human = np.where(np.arange(80)[:, np.newaxis] < 40, reached, NOT_RATED).astype(np.int8)
    >>> ranked = np.array([[0, 2, 4], [41, 43, 45]], dtype=np.int32)
    >>> found = estimate([Unit(reached, ranked, human, np.full((2, 10), 0.1))])
    >>> found.value.round(2).tolist(), found.high.round(2).tolist()
    ([1.0, 0.01], [1.0, 0.11])
    """
    counts = [_counts(unit) for unit in units]
    unrated, is_hit = (np.concatenate(part, axis=-1) for part in zip(*counts, strict=True))
    strata = [_stratum(units, number, seed=seed) for number in range(N_STRATA)]
    adds = np.concatenate([unit.adds for unit in units], axis=1)
    unknown = np.where(is_hit, 0.0, adds)
    missed, place = _missed(strata, unrated)
    means = adds.sum(axis=1) - missed @ _by_place(place, unknown, missed.shape[1]).T
    noise = (missed * (1 - missed)) @ _by_place(place, unknown**2, missed.shape[1]).T
    rates = [stratum.rate for stratum in strata]
    noise *= _passage_factor(units, missed.mean(axis=0)[place], unknown, rates)
    return _summed(means, noise, adds.sum(axis=1))


def sample_size(units: Sequence[Unit]) -> SampleSize:
    """Return how much of what the runs rank was sampled; less is needed where there is less."""
    sampled, there, above, above_there, misses = np.zeros(0), np.zeros(0), 0, 0, 0
    for unit in units:
        in_top = np.zeros(len(unit.reached) + 1, dtype=np.bool_)
        in_top[unit.ranked] = True
        cells = np.broadcast_to(in_top[:-1, np.newaxis], unit.reached.shape)
        rated = cells & (unit.human != NOT_RATED)
        sampled = np.append(sampled, (rated & ~unit.reached).sum(axis=0))
        there = np.append(there, (cells & ~unit.reached).sum(axis=0))
        above += int((rated & unit.reached).sum())
        misses += int((cells & (unit.human == 1) & ~unit.reached).sum())
        above_there += int((cells & unit.reached).sum())
    enough = (there > 0) & (sampled >= np.minimum(CELLS_AN_ITEM, there))
    return SampleSize(
        below=int(sampled.sum()),
        above=above,
        items=int(enough.sum()),
        needed_items=min(MIN_ITEMS, int((there > 0).sum())),
        needed_above=min(MIN_ABOVE, above_there),
        misses=misses,
    )


def _counts(unit: Unit) -> tuple[NDArray[np.int64], Mask]:
    """Return the cells of the first k passages that nobody rated, and whether a rated one is a hit.

    The counts have the shape (strata, runs, items), the hits (runs, items).
    """
    is_open, strata = unit.human == NOT_RATED, unit.strata
    unrated = [take_rows(is_open & (strata == number), unit.ranked).sum(axis=1) for number in range(N_STRATA)]
    return np.stack(unrated), np.asarray(take_rows(unit.human == 1, unit.ranked).any(axis=1))


def _stratum(units: Sequence[Unit], number: int, *, seed: int) -> _Stratum:
    """Return the posterior of the rates on the grid, summed up by kind of item."""
    within = [unit.strata == number for unit in units]
    hits, rated = (
        np.concatenate([(of & cells).sum(axis=0) for of, cells in zip(masks, within, strict=True)])
        for masks in ([unit.human == 1 for unit in units], [unit.human != NOT_RATED for unit in units])
    )
    kinds, kind, n = np.unique(
        np.column_stack([hits, rated]), axis=0, return_inverse=True, return_counts=True
    )
    likelihoods = [
        np.exp(hit * _LOG_RATES + (of - hit) * _LOG_MISSED) * _Z_WEIGHTS for hit, of in kinds.tolist()
    ]
    log = _log_prior(_expected_rate(units, number)) + sum(
        c * np.log(each.sum(axis=2) + 1e-300) for c, each in zip(n, likelihoods, strict=True)
    )
    posterior = np.exp(log - log.max())
    posterior /= posterior.sum()
    nodes, back = np.unique(_drawn(posterior, seed=[seed, number]), return_inverse=True)
    at = np.unravel_index(nodes, posterior.shape)
    depth = max((unit.ranked.shape[1] for unit in units), default=0)
    powers = (1 - _RATES[at])[:, :, np.newaxis] ** np.arange(depth + 1)
    weights = np.stack([each[at] for each in likelihoods], axis=1)
    missed = (weights / weights.sum(axis=2, keepdims=True)) @ powers
    return _Stratum(missed[back], kind.ravel(), float((posterior * _MARGINAL).sum()))


def _log_prior(expected: float) -> Floats:
    """Return the log prior of shape (alphas, sigmas), up to a constant.

    It is Beta(expected, 1 - expected) for the marginal rate, half-normal for sigma.
    """
    rates = _STEPS * _MARGINAL ** (expected - 1) * (1 - _MARGINAL) ** -expected
    return np.asarray(np.log(rates / rates.sum(axis=0)) + _LOG_SIGMAS)


def _expected_rate(units: Sequence[Unit], number: int) -> float:
    """Return what the prior expects of the rate in a stratum.

    It is 1/2, as Jeffreys' does, but where judgments split the cells of a grade the rate of both together.
    """
    if not any(unit.relevant is not None and unit.relevant.any() for unit in units):
        return 0.5
    cells = [unit.human[unit.strata % 2 == number % 2] for unit in units]
    hits = sum(int((each == 1).sum()) for each in cells)
    rated = sum(int((each != NOT_RATED).sum()) for each in cells)
    return (hits + 0.5) / (rated + 1)


def _drawn(posterior: Floats, *, seed: list[int]) -> NDArray[np.intp]:
    """Return points of the grid in proportion to the posterior, evenly and always the same.

    The strata's are shuffled against each other.
    """
    points = (np.arange(DRAWS) + 0.5) / DRAWS
    shuffled = np.random.default_rng(seed).permutation(points)
    return np.minimum(np.searchsorted(posterior.cumsum(), shuffled), posterior.size - 1)


def _missed(strata: Sequence[_Stratum], unrated: NDArray[np.int64]) -> tuple[Floats, NDArray[np.intp]]:
    """Return the chance that a unit is missed, shape (draws, places), and the place of each (run, item)."""
    codes = np.stack(
        [
            stratum.kind * stratum.missed.shape[2] + cells
            for stratum, cells in zip(strata, unrated, strict=True)
        ]
    )
    keys, place = np.unique(codes.reshape(len(strata), -1), axis=1, return_inverse=True)
    missed = np.ones((DRAWS, keys.shape[1]))
    for stratum, code in zip(strata, keys, strict=True):
        missed *= stratum.missed.reshape(DRAWS, -1)[:, code]
    return np.minimum(missed, 1.0), place.reshape(codes.shape[1:])


def _by_place(place: NDArray[np.intp], weights: Floats, places: int) -> Floats:
    """Return an array of shape (runs, places): the sum of the weights at each place."""
    return np.array([np.bincount(row, each, places) for row, each in zip(place, weights, strict=True)])


def _passage_factor(units: Sequence[Unit], missed: Floats, adds: Floats, rates: Sequence[float]) -> Floats:
    """Return by how much errors that a passage's items share widen the variance, shape (runs,).

    For two items with the rates p and q on the same n passages, P(both missed) / (P(missed) P(missed)) is
    exp(n PASSAGE_CORRELATION sqrt(p / (1 - p) q / (1 - q))) to first order.
    """
    odds = np.sqrt([rate / (1 - rate) for rate in rates])
    alone = (missed * (1 - missed) * adds**2).sum(axis=1)
    shared, start = np.zeros(len(adds)), 0
    for unit in units:
        items = slice(start, start := start + unit.reached.shape[1])
        doubt = np.where(unit.human == NOT_RATED, odds[unit.strata], 0.0)
        doubt = take_rows(doubt, unit.ranked)
        together = np.minimum(PASSAGE_CORRELATION * (doubt.transpose(0, 2, 1) @ doubt), LARGEST_EXPONENT)
        chances = missed[:, items]
        spread = np.sqrt(chances * (1 - chances))
        covariance = np.minimum(_outer(chances) * np.expm1(together), _outer(spread)) * _outer(adds[:, items])
        shared += covariance.sum(axis=(1, 2)) - np.trace(covariance, axis1=1, axis2=2)
    factor = np.divide(shared, alone, out=np.zeros_like(alone), where=alone > 0)
    return np.asarray(1 + factor, dtype=np.float64)


def _outer(values: Floats) -> Floats:
    return values[:, :, np.newaxis] * values[:, np.newaxis, :]


def _summed(means: Floats, noise: Floats, most: Floats) -> Estimates:
    """Sum up (draws, runs) as a mixture of normal distributions, one a draw."""
    points = (means[:, :, np.newaxis] + np.sqrt(noise)[:, :, np.newaxis] * _NODES).swapaxes(0, 1)
    low, high = np.quantile(points.reshape(len(most), -1), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=1)
    between, within = means.var(axis=0), noise.mean(axis=0)
    whole = between + within
    return Estimates(
        value=means.mean(axis=0),
        low=np.clip(low, 0, most),
        high=np.clip(high, 0, most),
        settled=np.divide(between, whole, out=np.zeros_like(whole), where=whole > 0),
    )
