"""Which two systems are compared next, on which topic, and which of them stands left.

Everything is drawn from a generator that the caller seeds, so that the same seed and votes give the same
battle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


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
    return _with_sides(candidates[int(random.integers(len(candidates)))], random)


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
    first = min((place.get(one.pair, -1) for one in candidates), default=0)
    of_pair = [one for one in candidates if place.get(one.pair, -1) == first]
    fewest = min((votes.get(one.topic, 0) for one in of_pair), default=0)
    return at_random([one for one in of_pair if votes.get(one.topic, 0) == fewest], random)


def _with_sides(candidate: Candidate, random: np.random.Generator) -> Sides:
    topic, first, second = candidate
    return Sides(topic, second, first) if random.random() < 0.5 else Sides(topic, first, second)
