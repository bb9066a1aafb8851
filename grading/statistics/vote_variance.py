"""Uncertainty of parameters fitted to votes, and how far scores explain which of two answers people prefer.

Votes on one topic, and votes of one person, are not independent. The variance of a difference of strengths is
the larger of two, plus one:

- what the jackknife over topics gives: a cluster-robust variance (MacKinnon, Nielsen and Webb 2023, "Fast and
  reliable jackknife and bootstrap methods for cluster-robust inference");
- or what the model gives: the inverse of the posterior's curvature. Without it votes that are all equal would
  claim to be certain. It is averaged on the way from equal strengths to the fitted ones, by which it is a
  test of the likelihood ratio: there, where a system wins every vote, the curvature says nothing (Hauck and
  Donner 1977, "Wald's test as applied to hypotheses in logit analysis");
- plus what people differ by beyond their votes on one topic (Cameron, Gelbach and Miller 2011: topic + voter
  - both). Few people say little of that. So it is one variance for all systems, a crossed random effect
  estimated by moments: of two people and four systems it has three degrees of freedom instead of one. An
  estimate that is itself uncertain counts less (SD_OF_PEOPLE). One person says nothing of others.

Degrees of freedom are Satterthwaite's, with one less than the topics that carry the difference. A variance of
people that is cut off at 0 errs upwards, so that only a part of its own uncertainty is counted (NOISE).
docs/certainty.md has what intervals hold.

Preference: a vote for the first of two answers, for neither, or for the second has chances proportional to
`exp(b d / 2)`, `exp(t)` and `exp(-b d / 2)`, where `d` is the difference of their scores: the model of
`bradley_terry` with strengths from the score. `b` and `t` are fitted on all topics but one, and predict the
votes on that one (leave one topic out). Intervals are over topics, since votes on one are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.mean_intervals import UNDEFINED, ConfidenceInterval, statistic_interval

SD_OF_PEOPLE = 0.5
"""In log-odds, what people are expected to differ by at most: an estimate that is uncertain by the square of
it counts half.
"""
NOISE = 0.5
_NONE = 1e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


PRIOR_SD = 10.0
"""The standard deviation of the prior of `b` and `t`, whose mean is 0.

It keeps them finite where the score is always right.
"""
_STEPS = 40
_LONGEST_STEP = 5.0
_SAME = 1e-9


class Scored(NamedTuple):
    """Votes at the fitted parameters."""

    scores: Floats
    """Shape (votes, parameters): the gradient of each vote's log-likelihood."""
    roots: Floats
    """Shape (votes, 2, parameters): the information of a vote is `root.T @ root`."""

    def of(self, votes: Ints) -> Scored:
        """Return some of the votes."""
        return Scored(self.scores[votes], self.roots[votes])

    def information(self) -> Floats:
        """Return the information of all votes."""
        rows = self.roots.reshape(-1, self.roots.shape[2])
        return rows.T @ rows


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of fitted parameters; matrices have the shape (parameters, parameters)."""

    model: Floats
    """The inverse of the posterior's curvature."""
    floor: Floats
    """The same, with the information on the way from equal strengths to the fitted ones."""
    topics: Floats
    """The variance that the jackknife over topics gives."""
    by_topic: Floats
    """Shape (topics, parameters, parameters): the information of each topic."""
    voters: Floats
    """The variance that people add."""
    voter_freedom: float
    """Infinite where nothing is known of people."""

    @property
    def covariance(self) -> Floats:
        """Return the variance without what topics differ by, which is never singular."""
        return self.model + self.voters

    def errors(self, contrasts: Floats) -> tuple[Floats, Floats]:
        """Return the standard error and the degrees of freedom of each row of (rows, parameters)."""
        topics, floor, voters = (_along(contrasts, each) for each in (self.topics, self.floor, self.voters))
        moved = contrasts @ self.model
        carried = np.einsum("cp,tpq,cq->ct", moved, self.by_topic, moved, optimize=True)
        n_topics = carried.sum(axis=1) ** 2 / (carried**2).sum(axis=1).clip(_NONE)
        alone = np.maximum(topics, floor)
        spread = alone**2 / (n_topics - 1).clip(1) + (voters + NOISE * floor) ** 2 / self.voter_freedom
        total = alone + voters
        return np.sqrt(total), total**2 / spread.clip(_NONE)


def variance(scored: Scored, on_the_way: Floats, topic: Ints, voter: Ints, *, prior: float) -> Variance:
    """Return the variance of parameters fitted to votes.

    `on_the_way` is the information, averaged from equal strengths to the fitted ones, and `prior` the
    precision of every parameter's prior. People may differ in all parameters but the last, that of ties.
    """
    topics = [scored.of(votes) for votes in _groups(topic)]
    precision = prior * np.eye(scored.scores.shape[1])
    information, floor = scored.information() + precision, on_the_way + precision
    by_topic = np.stack([each.information() for each in topics])
    sums = np.stack([each.scores.sum(axis=0) for each in topics])
    without = np.linalg.solve(information - by_topic, sums[:, :, np.newaxis])[:, :, 0]
    without -= without.mean(axis=0)
    model, floor = (np.asarray(np.linalg.inv(each), np.float64) for each in (information, floor))
    jackknife: Floats = (len(topics) - 1) / len(topics) * without.T @ without
    added, freedom = _variance_of_people(scored, topic, voter, prior)
    return Variance(model, floor, jackknife, by_topic, model @ added @ model, freedom)


def _variance_of_people(scored: Scored, topic: Ints, voter: Ints, prior: float) -> tuple[Floats, float]:
    """Return what people add to the covariance of the summed scores, and its degrees of freedom.

    Where people differ, their own sums of scores are larger than their sums on each topic explain: `squares`
    against the sum of squares that is `expected`. A variance of 1 would add `reach` to it.
    """
    by_person = [(scored.of(votes), topic[votes]) for votes in _groups(voter)]
    informations = np.stack([each.information()[:, :-1] for each, _ in by_person])
    personal = informations[:, :-1]
    bread = np.linalg.inv(personal.sum(axis=0) + prior * np.eye(personal.shape[1]))
    hats = personal @ bread

    def expected(raw: Floats) -> float:
        """Return the expected sum of squares, where `raw` has the covariance of each sum before the fit."""
        fitted = np.einsum("vij,jk,vik->", hats, raw.sum(axis=0), hats, optimize=True)
        return float(np.einsum("vii->", raw) - 2 * np.einsum("vij,vji->", hats, raw) + fitted)

    squared = personal @ personal
    within, between = np.zeros_like(personal), squared.copy()
    for place, (each, topics) in enumerate(by_person):
        for votes in _groups(topics):
            cell = each.of(votes)
            total, information = cell.scores.sum(axis=0)[:-1], cell.information()[:-1, :-1]
            within[place] += np.outer(total, total)
            between[place] -= information @ information
    reach = expected(between)
    if len(by_person) < 2 or reach <= _NONE:
        return np.zeros((scored.scores.shape[1],) * 2), inf
    squares = sum(np.square(each.scores.sum(axis=0)[:-1]).sum() for each, _ in by_person)
    fit = squared.sum(axis=0) @ bread
    # Where people do not differ, the variance of `squares` is twice the noise.
    noise = np.einsum("vii->", squared) - 2 * np.einsum("vij,vji->", personal, hats @ personal)
    noise = float(noise + np.trace(fit @ fit))
    trusted = SD_OF_PEOPLE**4 / (SD_OF_PEOPLE**4 + 2 * noise / reach**2)
    variance_of_people = max((squares - expected(within)) / reach, 0.0) * trusted
    added = variance_of_people * np.einsum("vpi,vqi->pq", informations, informations)
    return added, max(expected(personal) ** 2 / noise, 1.0)


def _groups(labels: Ints) -> list[Ints]:
    """Return the places of each label, in the order of the labels."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _along(contrasts: Floats, matrix: Floats) -> Floats:
    """Return the variance of each row of contrasts."""
    variances: Floats = np.einsum("cp,pq,cq->c", contrasts, matrix, contrasts, optimize=True)
    return variances


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
    """The share of the decided votes for the answer with the higher score; equal scores count half."""
    accuracy: Share
    """The share of all votes that is predicted on topics that the model has not seen."""
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
    """Return, by vote, whether its outcome is the likeliest one by the votes on other topics.

    1 is yes, 0 no, and a part of 1 where several are equally likely.
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
    """Return an array of shape (votes, 3, 2): what `b` and `t` are multiplied with for win, tie and loss."""
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
