"""Which battle comes next."""

from collections import Counter

import numpy as np
import pytest

from grading.statistics.bradley_terry import Candidate, at_random, sharpening

FOUR = [Candidate(topic, first, second) for topic in (1, 2) for first, second in ((0, 1), (0, 2))]


def drawn(n: int, draw) -> Counter:
    random = np.random.default_rng(4)
    return Counter(draw(random) for _ in range(n))


def test_at_random_every_candidate_and_side_is_as_likely():
    found = drawn(4_000, lambda random: at_random(FOUR, random))
    assert len(found) == 8
    assert min(found.values()) > 400


def test_the_same_seed_gives_the_same():
    assert at_random(FOUR, np.random.default_rng(9)) == at_random(FOUR, np.random.default_rng(9))


def test_the_least_certain_pair_that_is_left_comes_first():
    pairs = [(1, 2), (0, 2), (0, 1)]
    found = drawn(50, lambda random: sharpening(FOUR, pairs, {}, random))
    assert {frozenset((one.left, one.right)) for one in found} == {frozenset((0, 2))}
    assert {one.topic for one in found} == {1, 2}


def test_a_pair_of_which_nothing_is_known_comes_before_all():
    found = drawn(20, lambda random: sharpening(FOUR, [(0, 1)], {}, random))
    assert {frozenset((one.left, one.right)) for one in found} == {frozenset((0, 2))}


def test_topics_take_turns():
    votes: Counter[int] = Counter()
    random = np.random.default_rng(2)
    for _ in range(40):
        votes[sharpening(FOUR, [(0, 1), (0, 2)], votes, random).topic] += 1
    assert votes == {1: 20, 2: 20}


@pytest.mark.parametrize("draw", [at_random, lambda none, random: sharpening(none, [], {}, random)])
def test_without_candidates_nothing_is_drawn(draw):
    with pytest.raises(ValueError, match="no candidates"):
        draw([], np.random.default_rng(1))
