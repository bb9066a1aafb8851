"""Strengths from votes: published figures, another optimiser, and coverage of the intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize

from grading.statistics import bradley_terry
from grading.statistics.bradley_terry import PRIOR_SD, Votes, least_certain_pairs, strengths

BASEBALL = {
    # Agresti, Categorical Data Analysis, table 10.10: wins of the row's team against the column's, 1987.
    "Milwaukee": [0, 7, 9, 7, 7, 9, 11],
    "Detroit": [6, 0, 7, 5, 11, 9, 9],
    "Toronto": [4, 6, 0, 7, 7, 8, 12],
    "New York": [6, 8, 6, 0, 6, 7, 10],
    "Boston": [6, 2, 6, 7, 0, 7, 12],
    "Cleveland": [4, 4, 5, 6, 6, 0, 6],
    "Baltimore": [2, 4, 1, 3, 1, 7, 0],
}
PUBLISHED = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]


def votes_of(rows):
    """Votes from (first, second, outcome, topic, voter)."""
    return Votes(*np.array(rows).T)


def drawn_votes(random, truth, tie, *, topics, per_topic, topic_sd=0.0):
    """Votes between random pairs; each topic shifts the strengths by its own amount."""
    rows = []
    for topic in range(topics):
        shifted = truth + random.normal(0, topic_sd, size=truth.size)
        for _ in range(per_topic):
            first, second = random.choice(truth.size, size=2, replace=False)
            half = (shifted[first] - shifted[second]) / 2
            chances = np.exp([half, tie, -half])
            rows.append((first, second, random.choice([1, 0, -1], p=chances / chances.sum()), topic, 0))
    return votes_of(rows)


def test_published_strengths_of_baseball_teams(monkeypatch):
    monkeypatch.setattr(bradley_terry, "PRIOR_SD", 1e3)
    rows = [
        (first, second, 1, number, 0)
        for first, wins in enumerate(BASEBALL.values())
        for second, won in enumerate(wins)
        for number in range(won)
    ]
    found = strengths(votes_of(rows), 7, n=2).strength
    assert np.round(found - found[-1], 2).tolist() == pytest.approx(PUBLISHED, abs=0.011)


def test_another_optimiser_finds_the_same_strengths_and_ties():
    votes = drawn_votes(np.random.default_rng(1), np.array([0.8, 0.1, -0.9]), 0.2, topics=10, per_topic=9)

    def minus_log_posterior(values):
        half = (values[votes.first] - values[votes.second]) / 2
        said = np.choose(votes.outcome + 1, [-half, np.full_like(half, values[3]), half])
        total = np.logaddexp(np.logaddexp(half, -half), values[3])
        return (total - said).sum() + (values**2).sum() / (2 * PRIOR_SD**2)

    expected = minimize(minus_log_posterior, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    found = strengths(votes, 3, n=2)
    assert found.strength == pytest.approx(expected[:3] - expected[:3].mean(), abs=1e-5)
    assert found.tie == pytest.approx(expected[3], abs=1e-5)


def test_who_wins_every_vote_has_a_finite_strength_and_the_first_rank():
    votes = votes_of([(0, 1 + vote % 2, 1, vote, 0) for vote in range(40)])
    found = strengths(votes, 3, n=200)
    assert np.isfinite(found.high).all()
    assert found.ranks() == [(1, 1), (2, 3), (2, 3)]


def test_the_order_within_a_pair_does_not_matter():
    votes = drawn_votes(np.random.default_rng(2), np.array([0.5, -0.5, 0.0]), -0.5, topics=6, per_topic=8)
    swapped = votes._replace(first=votes.second, second=votes.first, outcome=-votes.outcome)
    assert strengths(votes, 3, n=20).resampled == pytest.approx(strengths(swapped, 3, n=20).resampled)


def test_intervals_cover_where_topics_differ():
    """The intervals of few topics must cover what many give (bench/arena_intervals.py has more of it)."""
    random = np.random.default_rng(3)
    drawn = {"truth": np.array([0.6, 0.2, -0.2, -0.6]), "tie": 0.0, "topic_sd": 1.0, "per_topic": 6}
    limit = strengths(drawn_votes(random, **drawn, topics=1_000), 4, n=2).strength
    covered = []
    for _ in range(25):
        found = strengths(drawn_votes(random, **drawn, topics=30), 4, n=100)
        covered.append((found.low <= limit) & (limit <= found.high))
    assert 0.9 <= np.mean(covered) <= 1


def test_the_least_certain_pair_is_asked_next():
    votes = votes_of(
        [(0, 2, 1, topic, 0) for topic in range(20)]
        + [(1, 2, 1, topic, 0) for topic in range(20)]
        + [(0, 1, (-1) ** topic, topic, 0) for topic in range(20)]
    )
    assert least_certain_pairs(strengths(votes, 3, n=100), votes)[0] == (0, 1)


def test_without_votes_there_is_nothing_to_fit():
    with pytest.raises(ValueError, match="no votes"):
        strengths(Votes(*(np.array([], dtype=int) for _ in range(5))), 2)
