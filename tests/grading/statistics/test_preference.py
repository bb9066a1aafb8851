"""How far a score explains votes."""

import numpy as np
import pytest

from grading.statistics.vote_variance import explained


def simulated(slope: float, topics: int = 30, votes: int = 20, seed: int = 5):
    """Votes whose outcomes depend on the difference by `slope`, with a third of ties at 0."""
    random = np.random.default_rng(seed)
    differences = random.normal(size=topics * votes)
    chances = np.exp(np.stack([slope * differences / 2, np.zeros(topics * votes), -slope * differences / 2]))
    drawn = random.random(topics * votes) * chances.sum(axis=0)
    outcomes = 1 - (drawn[np.newaxis] > np.cumsum(chances, axis=0)).sum(axis=0)
    return differences, outcomes.astype(np.int64), np.repeat(np.arange(topics), votes)


def test_what_the_score_decides_is_explained():
    one = explained(*simulated(slope=6))
    assert one.same_side.value > 0.9
    assert one.accuracy.value > 0.7
    assert one.gain.interval.low > 0.2
    assert one.accuracy.interval.low < one.accuracy.value < one.accuracy.interval.high


def test_a_score_that_has_nothing_to_do_with_votes_explains_none():
    one = explained(*simulated(slope=0))
    assert one.same_side.interval.low < 0.5 < one.same_side.interval.high
    assert one.gain.interval.low < 0.03
    assert abs(one.gain.value) < 0.05


def test_the_other_way_round_is_below_chance():
    """Held-out accuracy is as high, since the model learns the direction; the slope says which."""
    differences, outcomes, topics = simulated(slope=6)
    right, wrong = (explained(sign * differences, outcomes, topics) for sign in (1, -1))
    assert wrong.same_side.interval.high < 0.2
    assert wrong.accuracy == right.accuracy
    assert wrong.slope == pytest.approx(-right.slope)
    assert right.slope == pytest.approx(6, rel=0.2)


def test_a_topic_is_predicted_from_the_others():
    """Where one topic contradicts all others, its votes are predicted wrong."""
    topics = np.repeat(np.arange(6), 4)
    outcomes = np.where(topics == 0, -1, 1)
    one = explained(np.full(24, 0.5), outcomes, topics)
    assert one.accuracy.value == pytest.approx(20 / 24)
    assert one.baseline.value == pytest.approx(0.5)


def test_equal_scores_count_half():
    one = explained(np.zeros(4), np.array([1, -1, 1, 0]), np.array([0, 0, 1, 1]))
    assert (one.decided, one.same_side.value) == (3, 0.5)


def test_one_topic_says_nothing_of_others_and_few_give_no_interval():
    single = explained(np.array([0.1, 0.2]), np.array([1, 1]), np.array([3, 3]))
    assert np.isnan(single.accuracy.value)
    assert single.same_side.value == 1
    few = explained(np.array([0.1, 0.2]), np.array([1, 1]), np.array([3, 4]))
    assert few.accuracy.value == 1
    assert not few.accuracy.interval.is_defined


def test_without_votes_there_is_nothing_to_say():
    with pytest.raises(ValueError, match="no votes"):
        explained(np.array([]), np.array([], dtype=np.int64), np.array([], dtype=np.int64))
