"""Panels: how ratings of several graders become one, what each weighs, and how many judges they are worth.

Judges who read alike err together, so that n of them are worth fewer. With the mean correlation r of their
errors, the mean of n ratings has the variance of n / (1 + (n - 1) r) independent ones: the effective sample
size under the design effect of Kish (1965, Survey Sampling, 8.2). An error is a rating minus people's rating
of the same cell; r below 0 counts as 0.

Weights are those of the mean with the least squared error, w ~ M^-1 1, where M has the mean products of the
members' errors (Bates and Granger 1969, The Combination of Forecasts, Operational Research Quarterly 20). M
is drawn towards members that err alike and apart, by IMAGINED cells, and no weight is below 0. They are
cross-fitted: the weights for a topic come from people's ratings of topics in other folds, so that what a
panel says of rated cells has not read these ratings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide_or_zero
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLDS = 5
IMAGINED = 20
"""Cells that members are taken to have erred on alike and apart, before any was rated."""
LEAST_CELLS = 30
"""Rated cells from which on weights are learned."""
_HALF = 0.5 - 1e-9


class PanelRule(StrEnum):
    """How votes become one rating."""

    MAJORITY = "majority"
    """The most frequent rating; of several, the one nearest to the median, and of two as near the lower."""
    MEDIAN = "median"
    """The median; of an even number of votes the lower one, so that a tie covers nothing."""
    WEIGHTS = "weights"
    """The lower weighted median, by weights learned from people's ratings."""
    FIRST = "first"
    """The first member's rating where it has one, else the median of the others."""


class PanelRating(NamedTuple):
    """What a panel says of a cell."""

    rating: int
    share: float
    """The share of the votes, or of their weight, that are this rating: 0..1."""
    mean: float
    """The mean of the votes, weighted where the rule has weights."""


def panel_rating(
    rule: PanelRule, votes: Sequence[int | None], weights: Sequence[float] | None = None
) -> PanelRating | None:
    """Return the rating that the votes make, one vote a member and None for none; None without a vote.

    >>> panel_rating(PanelRule.MAJORITY, [5, 4, 0])
    PanelRating(rating=4, share=0.333333, mean=3.0)
    >>> panel_rating(PanelRule.MEDIAN, [5, None, 0]).rating
    0
    >>> panel_rating(PanelRule.WEIGHTS, [5, 0, 0], [0.6, 0.2, 0.2]).rating
    5
    >>> panel_rating(PanelRule.FIRST, [None, 3, 1, 2]).rating
    2
    """
    given = weights if weights is not None and rule is PanelRule.WEIGHTS else [1.0] * len(votes)
    cast = sorted((vote, weight) for vote, weight in zip(votes, given, strict=True) if vote is not None)
    if not cast:
        return None
    total = sum(weight for _, weight in cast)
    if total <= 0:  # nobody with a weight has voted
        cast, total = [(vote, 1.0) for vote, _ in cast], float(len(cast))
    first = votes[0]
    if rule is PanelRule.FIRST and first is not None:
        rating = first
    elif rule is PanelRule.MAJORITY:
        rating = _most_frequent([vote for vote, _ in cast])
    else:
        rating = _median(cast, total)
    share = sum(weight for vote, weight in cast if vote == rating) / total
    mean = sum(vote * weight for vote, weight in cast) / total
    return PanelRating(rating, round(share, 6), round(mean, 6))


def _median(cast: list[tuple[int, float]], total: float) -> int:
    """Return the lowest vote up to which half of the weight has voted; `cast` is in rising order."""
    reached = 0.0
    for vote, weight in cast:
        reached += weight
        if reached >= total * _HALF:
            return vote
    return cast[-1][0]


def _most_frequent(votes: list[int]) -> int:
    middle = votes[(len(votes) - 1) // 2]
    return min(set(votes), key=lambda vote: (-votes.count(vote), abs(vote - middle), vote))


def fold_of(query_id: str) -> int:
    """Return the fold of a topic, from 0 to FOLDS - 1: the same for ever, whatever other topics there are."""
    return crc32(query_id.encode()) % FOLDS


def error_weights(errors: Floats) -> Floats:
    """Return the weights of members with these errors, shape (cells, members); they sum to 1.

    The first two err together, so that they share what one of them would weigh:

    >>> e = np.array([[1.0, 1, 0], [-1, -1, 0], [0, 0, 1], [0, 0, -1]] * 500)
    >>> error_weights(e).round(2).tolist()
    [0.25, 0.25, 0.5]
    """
    cells, members = errors.shape
    products = errors.T @ errors
    typical = float(np.trace(products)) / max(1, cells * members) or 1.0
    products = products + IMAGINED * typical * np.eye(members)
    weights, kept = np.zeros(members), np.arange(members)
    while True:
        solved = np.linalg.solve(products[np.ix_(kept, kept)], np.ones(len(kept)))
        if (solved >= 0).all():
            weights[kept] = solved / solved.sum()
            return weights
        kept = np.delete(kept, solved.argmin())


def cross_fitted_weights(errors: Floats, folds: Ints) -> Floats:
    """Return an array of shape (FOLDS, members): the weights for the topics of each fold.

    `errors` has shape (cells, members), `folds` the fold of each cell's topic. Each row is learned from cells
    of the other folds.
    """
    return np.stack([error_weights(errors[folds != fold]) for fold in range(FOLDS)])


@dataclass(frozen=True, slots=True)
class EffectiveJudges:
    """How many independent judges a panel is worth."""

    judges: int
    cells: int
    """Cells that all members and people rated."""
    correlation: float
    """The mean correlation of two members' errors; NaN without cells."""
    effective: float
    """From 1 to `judges`; NaN without cells."""
    interval: ConfidenceInterval
    """95 % over topics; undefined with few topics."""


def effective_judges(errors: Floats, topics: Ints) -> EffectiveJudges:
    """Return the effective number of members with these errors, shape (cells, members).

    `topics` is any number that is the same for cells of one topic, shape (cells,).

    >>> together = np.array([[1.0, 1], [-1, -1], [0, 0]])
    >>> effective_judges(together, np.arange(3)).effective
    1.0
    """
    cells, judges = errors.shape
    if not cells or not judges:
        undefined = ConfidenceInterval(math.nan, math.nan)
        return EffectiveJudges(judges, cells, math.nan, math.nan, undefined)
    rows = np.column_stack([np.ones(cells), errors])
    _, place = np.unique(topics, return_inverse=True)
    tables = np.zeros((int(place.max()) + 1, judges + 1, judges + 1))
    np.add.at(tables, place, rows[:, :, np.newaxis] * rows[:, np.newaxis, :])
    correlation = float(_mean_correlation(tables.sum(axis=0)))
    ends = statistic_interval(tables, _mean_correlation, bounds=(-1, 1))
    interval = ConfidenceInterval(_worth(judges, ends.high), _worth(judges, ends.low))
    return EffectiveJudges(judges, cells, correlation, _worth(judges, correlation), interval)


def _worth(judges: int, correlation: float) -> float:
    return float(judges / (1 + (judges - 1) * np.clip(correlation, 0.0, 1.0)))


def _mean_correlation(sums: Floats) -> Floats:
    """Return the mean correlation of two members; a member whose errors never differ has 0 with others."""
    cells = sums[..., :1, :1]
    means = divide_or_zero(sums[..., :1, 1:], cells)
    covariances = divide_or_zero(sums[..., 1:, 1:], cells) - np.swapaxes(means, -1, -2) * means
    spreads = np.sqrt(np.maximum(np.diagonal(covariances, axis1=-2, axis2=-1), 0.0))
    products = spreads[..., :, np.newaxis] * spreads[..., np.newaxis, :]
    correlations = divide_or_zero(covariances, products)
    judges = correlations.shape[-1]
    pairs = ~np.eye(judges, dtype=np.bool_)
    return np.asarray((correlations * pairs).sum(axis=(-2, -1)) / max(1, judges * (judges - 1)))
