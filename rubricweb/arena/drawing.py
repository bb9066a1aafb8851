"""Which battle a person gets next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from grading.statistics.battle_drawing import Candidate, Sides, at_random, sharpening
from rubricweb.accounts.models import User
from rubricweb.arena.answers import Place, stored_answers
from rubricweb.arena.errors import NothingToDraw
from rubricweb.arena.models import Arena, Battle
from rubricweb.arena.votes import CountedVote, as_arrays, counted_votes
from rubricweb.corpus.models import Collection

REPEAT_EVERY = 5
"""Each fifth battle of a person is one on which somebody else voted, if there is one."""
RESAMPLES = 200
"""Enough to order pairs by how certain they are."""
Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Draw:
    sides: Sides
    drawn: Battle.Drawn


def draw(arena: Arena, person: User, number: int) -> Draw:
    """The person's battle of that number: the same for the same seed and votes. Raises NothingToDraw."""
    left = unseen(arena.collection, person)
    if not left:
        raise NothingToDraw
    random = np.random.default_rng([arena.seed, person.pk, number])
    votes = counted_votes(arena.collection).votes
    if number % REPEAT_EVERY == 0 and (again := _voted_on(left, votes)):
        return Draw(at_random(again, random), Battle.Drawn.REPEAT)
    if arena.drawing == Arena.Drawing.RANDOM:
        return Draw(at_random(left, random), Battle.Drawn.RANDOM)
    pairs = least_certain(votes)
    by_topic = Counter(vote.topic_id for vote in votes)
    return Draw(sharpening(left, pairs, by_topic, random), Battle.Drawn.SHARPEN)


def unseen(collection: Collection, person: User) -> list[Candidate]:
    """Every pair of answers to a topic that the person did not have, in a fixed order."""
    battles = Battle.objects.filter(collection=collection, person=person)
    seen = {
        (topic, frozenset((left, right)))
        for topic, left, right in battles.values_list("topic", "left", "right")
    }
    return [
        one for one in candidates(stored_answers(collection)) if (one.topic, frozenset(one.pair)) not in seen
    ]


def candidates(answers: Mapping[Place, str]) -> Iterable[Candidate]:
    """Every two runs that answered a topic differently; word for word the same answers are no battle."""
    runs_of: dict[int, list[int]] = {}
    for run, topic in sorted(answers):
        runs_of.setdefault(topic, []).append(run)
    for topic, runs in sorted(runs_of.items()):
        for first, second in combinations(runs, 2):
            if answers[first, topic] != answers[second, topic]:
                yield Candidate(topic, first, second)


def least_certain(votes: Sequence[CountedVote]) -> list[Pair]:
    """The pairs of runs that have votes, first those of which it is least clear who is better."""
    from grading.statistics.bradley_terry import least_certain_pairs, strengths  # brings scipy

    runs = sorted({run for vote in votes for run in vote.pair})
    if not votes:
        return []
    arrays = as_arrays(votes, runs)
    found = strengths(arrays, len(runs), n=RESAMPLES)
    return [(runs[first], runs[second]) for first, second in least_certain_pairs(found, arrays)]


def _voted_on(left: Sequence[Candidate], votes: Sequence[CountedVote]) -> list[Candidate]:
    voted = {(vote.topic_id, vote.pair) for vote in votes}
    return [one for one in left if (one.topic, one.pair) in voted]
