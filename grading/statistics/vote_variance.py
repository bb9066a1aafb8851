"""How far parameters that are fitted to votes may be off.

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
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SD_OF_PEOPLE = 0.5
"""In log-odds, what people are expected to differ by at most: an estimate that is uncertain by the square of
it counts half.
"""
NOISE = 0.5
_NONE = 1e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    """Of fitted parameters; matrices have the shape (parameters, parameters)."""

    model: Floats
    """The inverse of the posterior's curvature."""
    floor: Floats
    """The same, with the information on the way from equal strengths to the fitted ones."""
    topics: Floats
    """What the jackknife over topics gives."""
    by_topic: Floats
    """Shape (topics, parameters, parameters): the information of each topic."""
    people: Floats
    """What people add."""
    people_freedom: float
    """Infinite where nothing is known of people."""

    @property
    def covariance(self) -> Floats:
        """The variance without what topics differ by, which is never singular."""
        return self.model + self.people

    def errors(self, contrasts: Floats) -> tuple[Floats, Floats]:
        """Return the standard error and the degrees of freedom of each row of (rows, parameters)."""
        topics, floor, people = (_along(contrasts, one) for one in (self.topics, self.floor, self.people))
        moved = contrasts @ self.model
        carried = np.einsum("cp,tpq,cq->ct", moved, self.by_topic, moved, optimize=True)
        n_topics = carried.sum(axis=1) ** 2 / (carried**2).sum(axis=1).clip(_NONE)
        alone = np.maximum(topics, floor)
        spread = alone**2 / (n_topics - 1).clip(1) + (people + NOISE * floor) ** 2 / self.people_freedom
        total = alone + people
        return np.sqrt(total), total**2 / spread.clip(_NONE)


def variance(scored: Scored, on_the_way: Floats, topic: Ints, voter: Ints, *, prior: float) -> Variance:
    """Return the variance of parameters fitted to votes.

    `on_the_way` is the information, averaged from equal strengths to the fitted ones, and `prior` the
    precision of every parameter's prior. People may differ in all parameters but the last, that of ties.
    """
    topics = [scored.of(votes) for votes in _groups(topic)]
    precision = prior * np.eye(scored.scores.shape[1])
    information, floor = scored.information() + precision, on_the_way + precision
    by_topic = np.stack([one.information() for one in topics])
    sums = np.stack([one.scores.sum(axis=0) for one in topics])
    without = np.linalg.solve(information - by_topic, sums[:, :, np.newaxis])[:, :, 0]
    without -= without.mean(axis=0)
    model, floor = (np.asarray(np.linalg.inv(one), np.float64) for one in (information, floor))
    jackknife: Floats = (len(topics) - 1) / len(topics) * without.T @ without
    added, freedom = _people(scored, topic, voter, prior)
    return Variance(model, floor, jackknife, by_topic, model @ added @ model, freedom)


def _people(scored: Scored, topic: Ints, voter: Ints, prior: float) -> tuple[Floats, float]:
    """Return what people add to the covariance of the summed scores, and its degrees of freedom.

    Where people differ, their own sums of scores are larger than their sums on each topic explain: `squares`
    against the sum of squares that is `expected`. A variance of 1 would add `reach` to it.
    """
    people = [(scored.of(votes), topic[votes]) for votes in _groups(voter)]
    informations = np.stack([one.information()[:, :-1] for one, _ in people])
    personal = informations[:, :-1]
    bread = np.linalg.inv(personal.sum(axis=0) + prior * np.eye(personal.shape[1]))
    hats = personal @ bread

    def expected(raw: Floats) -> float:
        """Return the expected sum of squares, where `raw` has the covariance of each sum before the fit."""
        fitted = np.einsum("vij,jk,vik->", hats, raw.sum(axis=0), hats, optimize=True)
        return float(np.einsum("vii->", raw) - 2 * np.einsum("vij,vji->", hats, raw) + fitted)

    squared = personal @ personal
    within, between = np.zeros_like(personal), squared.copy()
    for place, (one, topics) in enumerate(people):
        for votes in _groups(topics):
            cell = one.of(votes)
            total, information = cell.scores.sum(axis=0)[:-1], cell.information()[:-1, :-1]
            within[place] += np.outer(total, total)
            between[place] -= information @ information
    reach = expected(between)
    if len(people) < 2 or reach <= _NONE:
        return np.zeros((scored.scores.shape[1],) * 2), inf
    squares = sum(np.square(one.scores.sum(axis=0)[:-1]).sum() for one, _ in people)
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
