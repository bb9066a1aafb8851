"""How far a score of answers explains which of two answers people prefer.

A vote for the first of two answers, for neither, or for the second has chances proportional to
`exp(b d / 2)`, `exp(t)` and `exp(-b d / 2)`, where `d` is the difference of their scores: the model of
`bradley_terry` with strengths from the score. `b` and `t` are fitted on all topics but one, and predict the
votes on that one (leave one topic out). Intervals are over topics, since votes on one are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.mean_intervals import statistic_interval
from grading.statistics.resampling import UNDEFINED, ConfidenceInterval

PRIOR_SD = 10.0
"""Of `b` and `t`, with the mean 0: keeps them finite where the score is always right."""
_STEPS = 40
_LONGEST_STEP = 5.0
_SAME = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """A share of votes, with its interval over topics."""

    value: float
    interval: ConfidenceInterval


@dataclass(frozen=True, slots=True)
class Explained:
    """What the score says of votes."""

    votes: int
    topics: int
    decided: int
    """Votes for one of the two."""
    same_side: Share
    """Of the decided votes: the share for the answer with the higher score; equal scores count half."""
    accuracy: Share
    """Of all votes: the share that is predicted on topics that the model has not seen."""
    baseline: Share
    """The same without the score: how often people call it a tie is all that is known."""
    gain: Share
    """Accuracy minus baseline."""
    slope: float
    """`b` of all votes: below 0 where people prefer the answers with lower scores."""


def explained(differences: Floats, outcomes: NDArray[np.int64], topics: NDArray[np.int64]) -> Explained:
    """Say how far differences of scores explain votes; arrays of shape (votes,).

    `differences` are first minus second; `outcomes` are 1 where the first won, -1 the second, 0 for a tie.
    Accuracies are NaN with one topic, and intervals with fewer than MIN_TOPICS. Raises ValueError without
    votes.

    >>> one = explained(np.array([0.4, 0.2, -0.3, 0.1]), np.array([1, 1, -1, -1]), np.array([0, 0, 1, 1]))
    >>> one.decided, one.same_side.value, one.accuracy.value, one.baseline.value
    (4, 0.75, 0.75, 0.5)
    """
    if not outcomes.size:
        raise ValueError("no votes")
    names, of_vote = np.unique(topics, return_inverse=True)
    decided = outcomes != 0
    side = np.where(np.abs(differences) < _SAME, 0.5, np.sign(differences) == outcomes)
    hits = _held_out(differences, outcomes, of_vote)
    chance = _held_out(np.zeros_like(differences), outcomes, of_vote)
    return Explained(
        votes=outcomes.size,
        topics=names.size,
        decided=int(decided.sum()),
        same_side=_share(side[decided], of_vote[decided]),
        accuracy=_share(hits, of_vote),
        baseline=_share(chance, of_vote),
        gain=_share(hits - chance, of_vote, bounds=(-1.0, 1.0)),
        slope=float(_fit(_design(differences), outcomes)[0]),
    )


def _held_out(differences: Floats, outcomes: NDArray[np.int64], topics: NDArray[np.int64]) -> Floats:
    """Return, by vote: 1 where the outcome is the likeliest one by the votes on other topics, a part of it
    where several are equally likely.
    """
    design = _design(differences)
    hits = np.full(outcomes.size, np.nan)
    for topic in np.unique(topics) if np.unique(topics).size > 1 else ():
        held = topics == topic
        weights = _fit(design[~held], outcomes[~held])
        chances = design[held] @ weights
        likeliest = chances >= chances.max(axis=1, keepdims=True) - _SAME
        is_hit = likeliest[np.arange(held.sum()), 1 - outcomes[held]]
        hits[held] = is_hit / likeliest.sum(axis=1)
    return hits


def _design(differences: Floats) -> Floats:
    """Shape (votes, 3, 2): what `b` and `t` are multiplied with for win, tie and loss."""
    design = np.zeros((differences.size, 3, 2))
    design[:, 0, 0], design[:, 1, 1], design[:, 2, 0] = differences / 2, 1.0, -differences / 2
    return design


def _fit(design: Floats, outcomes: NDArray[np.int64]) -> Floats:
    """Return `b` and `t`, by Newton's method."""
    weights = np.zeros(2)
    for _ in range(_STEPS):
        shifted = design @ weights
        chances = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        mean = np.einsum("vo,vop->vp", chances, design)
        gradient = (design[np.arange(outcomes.size), 1 - outcomes] - mean).sum(axis=0) - weights / PRIOR_SD**2
        apart = design - mean[:, np.newaxis, :]
        information = np.einsum("vo,vop,voq->pq", chances, apart, apart) + np.eye(2) / PRIOR_SD**2
        step = np.clip(np.linalg.solve(information, gradient), -_LONGEST_STEP, _LONGEST_STEP)
        weights += step
        if np.abs(step).max() < _SAME:
            break
    return weights


def _share(hits: Floats, topics: NDArray[np.int64], bounds: tuple[float, float] = (0.0, 1.0)) -> Share:
    """Return the mean over votes, with its interval over topics."""
    if not hits.size or np.isnan(hits).any():
        return Share(float("nan"), UNDEFINED)
    _, of_vote = np.unique(topics, return_inverse=True)
    sums = np.stack([np.bincount(of_vote, weights=hits), np.bincount(of_vote)], axis=1)
    return Share(
        float(hits.mean()),
        statistic_interval(sums, lambda total: divide(total[..., 0], total[..., 1]), bounds=bounds),
    )
