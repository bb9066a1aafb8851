"""Scores that are sums over rated units, estimated from a random sample: by simulation, and at the edges."""

import numpy as np
import pytest

from bench.linear_estimates import nuggets, precision, simulated
from grading.statistics.cover_sample import (
    MIN_UNITS,
    Units,
    chances_of,
    drawn,
    expected_half_width,
    linear_estimate,
    size_for,
)


@pytest.mark.parametrize("of", [nuggets, precision, lambda random: nuggets(random, by_topic=1.5)])
def test_intervals_hold_the_scores_that_all_ratings_would_give(of):
    found = simulated(of, "active", a_run=60, draws=12, seed=1)
    assert 0.91 < found.held.mean() < 0.985
    assert abs(found.errors.mean()) < 0.01


def test_a_grader_saves_ratings_and_its_confidence_some_more():
    """100 ratings of people alone are as good as about 62 with a grader, and 58 drawn by its confidence."""
    halves = {
        (method, a_run): simulated(nuggets, method, a_run=a_run, draws=4, seed=2).halves.mean()
        for method, a_run in (("classic", 100), ("PPI++", 62), ("active", 58), ("classic", 60))
    }
    assert halves["PPI++", 62] == pytest.approx(halves["classic", 100], rel=0.08)
    assert halves["active", 58] < halves["classic", 100] * 1.03
    assert halves["classic", 60] > halves["PPI++", 62] * 1.25


def test_a_grader_that_knows_nothing_does_little_harm():
    def half(method):
        return simulated(lambda random: nuggets(random, knows=0.0), method, a_run=60, draws=3, seed=3).halves

    assert half("PPI++").mean() < half("classic").mean() * 1.05


def test_the_interval_of_a_grader_without_errors_has_a_width():
    grader = np.tile([1.0, 0.0], 60)
    people = np.where(np.arange(120) < 40, grader, np.nan)
    found = linear_estimate(Units(np.full((1, 120), 1 / 120), grader, people, np.full(120, 1 / 3)))
    assert found.value == pytest.approx([0.5])
    assert found.high - found.low > 0.05


def test_units_that_are_all_rated_leave_no_doubt():
    ratings = np.random.default_rng(1).random(60)
    found = linear_estimate(Units(np.full((1, 60), 1 / 60), np.zeros(60), ratings, np.ones(60)))
    assert found.value == found.low == found.high == pytest.approx([ratings.mean()])


def test_a_run_with_few_rated_units_has_no_estimate():
    weights = np.zeros((2, 200))
    weights[0, :100] = weights[1, 100:] = 0.01
    people = np.full(200, np.nan)
    people[:MIN_UNITS] = 1.0
    people[100 : 100 + MIN_UNITS - 1] = 1.0
    found = linear_estimate(Units(weights, np.ones(200), people, np.full(200, 0.2)))
    assert np.isfinite(found.value).tolist() == [True, False]
    assert found.n_rated.tolist() == [MIN_UNITS, MIN_UNITS - 1]


def test_units_are_drawn_with_about_their_chances():
    random = np.random.default_rng(4)
    weights, doubts = random.random((3, 40)) * (random.random((3, 40)) < 0.5), random.random(40)
    chances = chances_of(weights, doubts, 12)
    counts = np.zeros(40)
    for seed in range(1500):
        counts[drawn(chances, 12, seed=seed)] += 1
    assert chances.sum() == pytest.approx(12)
    assert counts / 1500 == pytest.approx(chances, abs=0.06)
    assert not counts[weights.sum(axis=0) == 0].any()


def test_sizes_are_those_that_the_runs_need():
    weights = np.kron(np.eye(3), np.full(50, 1 / 50))
    doubts = np.full(150, 0.2)
    assert size_for(weights, doubts, 20) == 60
    assert size_for(weights, doubts, 1000) == 150
    assert chances_of(np.zeros((2, 0)), np.zeros(0), 5).shape == (0,)
    assert np.isnan(expected_half_width(np.zeros((0, 0)), np.zeros(0), np.zeros(0)))
