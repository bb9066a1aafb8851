"""Draw a person's next battle, and two systems for a question; say why the arena refuses."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TypeVar
from zlib import crc32

import numpy as np
from django.db.models import Max, QuerySet

from grading.statistics.bradley_terry import Candidate, Sides, at_random, sharpening
from grading.systems.pipeline import LABELS, Answering, SystemSpec
from rubricweb.accounts.models import User
from rubricweb.arena.answers import CountedVote, Place, as_arrays, counted_votes, stored_answers
from rubricweb.arena.models import Arena, Battle, FreshAnswer, Question
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import Writer

P = TypeVar("P")
REPEAT_EVERY = 5
"""Each fifth battle of a person is one on which somebody else voted, if there is one."""


class ArenaError(Exception):
    """Root of the arena's refusals."""


class NothingToDraw(ArenaError):
    """The person has seen every pair of answers, or there are none."""

    def __init__(self) -> None:
        super().__init__("There is no pair of answers that you have not seen.")


class NotTwoAnswers(ArenaError):
    """The two runs did not both answer the topic."""

    def __init__(self) -> None:
        super().__init__("Choose two different runs that both answered the topic.")


class VotedMeanwhile(ArenaError):
    """The same person voted on the battle in another window."""

    def __init__(self) -> None:
        super().__init__("You have voted in another window. That vote is shown.")


class NothingToTakeBack(ArenaError):
    """The battle has no vote that holds."""

    def __init__(self) -> None:
        super().__init__("There is no vote to withdraw.")


class NothingVoted(ArenaError):
    """Only a vote that holds has a reason."""

    def __init__(self) -> None:
        super().__init__("There is no vote whose reason this could be.")


class AdoptedAlready(ArenaError):
    """The question is a topic of the collection."""

    def __init__(self) -> None:
        super().__init__("This question is a topic already.")


class TopicTaken(ArenaError):
    """The collection has a topic of the chosen id."""

    def __init__(self) -> None:
        super().__init__("This collection has a topic of that id. Choose another one.")


def locked_arena(collection: Collection) -> Arena:
    """Return the collection's arena, locked, so that two windows of one person do not draw two battles."""
    Arena.objects.get_or_create(collection=collection)
    return (
        Arena.objects.select_for_update(of=("self",)).select_related("collection").get(collection=collection)
    )


def next_number(collection: Collection, person: User) -> int:
    last = collection.battles.filter(person=person).aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def keep_digests(question: Question) -> None:
    """Store in the question's battle which two answers it shows."""
    battle = Battle.objects.filter(question=question)
    if battle.exists():
        left, right = (digest_of_fresh(chunk) for chunk in question.chunks.all())
        battle.update(left_digest=left, right_digest=right)


def digest_of_fresh(chunk: FreshAnswer) -> str:
    """Return the digest of an answer that was made in the arena, as `models.digest_of` does."""
    written = json.dumps([(chunk.result or {}).get(part) for part in ("sentences", "sources")])
    return hashlib.sha256(written.encode()).hexdigest()


Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DrawnPair:
    sides: Sides
    drawn: Battle.Drawn


@dataclass(frozen=True, slots=True)
class Numbering:
    """Runs and topics by their places in the order of run tags and query ids.

    Draws are made of places: primary keys are others where a collection was restored.
    """

    runs: tuple[int, ...]
    """Primary keys."""
    topics: tuple[int, ...]
    """Likewise."""

    @classmethod
    def of(cls, collection: Collection) -> Numbering:
        """Return the numbering, sorted here, since databases sort by languages of their own."""
        runs = sorted(collection.runs.values_list("run_tag", "pk"))
        topics = sorted(collection.topics.values_list("query_id", "pk"))
        return cls(tuple(pk for _, pk in runs), tuple(pk for _, pk in topics))

    def run_places(self) -> dict[int, int]:
        return {run: place for place, run in enumerate(self.runs)}

    def topic_places(self) -> dict[int, int]:
        return {topic: place for place, topic in enumerate(self.topics)}

    def sides(self, drawn: Sides) -> Sides:
        """Return the primary keys of what was drawn by place."""
        return Sides(self.topics[drawn.topic], self.runs[drawn.left], self.runs[drawn.right])


def draw(arena: Arena, person: User, number: int) -> DrawnPair:
    """Return the battle of that number: the same for the same seed, names and votes. Raises NothingToDraw."""
    numbering = Numbering.of(arena.collection)
    left = unseen(arena.collection, person, numbering)
    if not left:
        raise NothingToDraw
    random = np.random.default_rng([arena.seed, crc32(person.username.encode()), number])
    votes = counted_votes(arena.collection).votes
    again = _voted_on(left, votes, numbering) if number % REPEAT_EVERY == 0 else []
    if again:
        return DrawnPair(numbering.sides(at_random(again, random)), Battle.Drawn.REPEAT)
    if arena.drawing == Arena.Drawing.RANDOM:
        return DrawnPair(numbering.sides(at_random(left, random)), Battle.Drawn.RANDOM)
    topics = numbering.topic_places()
    by_topic = Counter(topics[vote.topic_id] for vote in votes)
    sides = sharpening(left, least_certain(votes, numbering.run_places()), by_topic, random)
    return DrawnPair(numbering.sides(sides), Battle.Drawn.SHARPEN)


def unseen(collection: Collection, person: User, numbering: Numbering) -> list[Candidate]:
    """Return every pair of answers to a topic that the person did not have, by places, in their order."""
    runs, topics = numbering.run_places(), numbering.topic_places()
    seen = {
        (topics[topic], frozenset((runs[left], runs[right])))
        for topic, left, right in _had(collection.pk, person.pk)
    }
    answers = {
        (runs[run], topics[topic]): digest for (run, topic), digest in stored_answers(collection).items()
    }
    return [
        matchup for matchup in candidates(answers) if (matchup.topic, frozenset(matchup.pair)) not in seen
    ]


def count_unseen(collection: Collection, person: User) -> int:
    """Return how many pairs `unseen` has, without a row for each."""
    answers = stored_answers(collection)
    of_topic: dict[int, Counter[str]] = {}
    for (_, topic), digest in answers.items():
        of_topic.setdefault(topic, Counter())[digest] += 1
    pairs = sum(
        comb(digests.total(), 2) - sum(comb(same, 2) for same in digests.values())
        for digests in of_topic.values()
    )
    places = ([(run, topic) for run in runs] for topic, *runs in _had(collection.pk, person.pk))
    seen = ([answers.get(place) for place in both] for both in places)
    return pairs - sum(None not in both and both[0] != both[1] for both in seen)


@compiled_once
def _had(collection: int, person: int) -> QuerySet[Battle, tuple[int, int, int]]:
    """Return topic and runs of the pairs of stored answers that the person had."""
    battles = Battle.objects.filter(collection=collection, person=person, question=None).order_by()
    return battles.values_list("topic", "left", "right")


def candidates(answers: Mapping[Place, str]) -> Iterable[Candidate]:
    """Return every two runs that answered a topic differently; identical answers are no battle."""
    runs_of: dict[int, list[int]] = {}
    for run, topic in sorted(answers):
        runs_of.setdefault(topic, []).append(run)
    for topic, runs in sorted(runs_of.items()):
        for first, second in combinations(runs, 2):
            if answers[first, topic] != answers[second, topic]:
                yield Candidate(topic, first, second)


def least_certain(votes: Sequence[CountedVote], places: Mapping[int, int]) -> list[Pair]:
    """Return the pairs of runs that have votes, by places, the closest ones first."""
    from grading.statistics.bradley_terry import least_certain_pairs, strengths  # brings scipy

    if not votes:
        return []
    runs = sorted({run for vote in votes for run in vote.pair}, key=lambda run: places[run])
    arrays = as_arrays(votes, runs)
    pairs = least_certain_pairs(strengths(arrays, len(runs)), arrays)
    return [(places[runs[first]], places[runs[second]]) for first, second in pairs]


def _voted_on(
    left: Sequence[Candidate], votes: Sequence[CountedVote], numbering: Numbering
) -> list[Candidate]:
    runs, topics = numbering.run_places(), numbering.topic_places()
    voted = {(topics[vote.topic_id], frozenset(runs[run] for run in vote.pair)) for vote in votes}
    return [matchup for matchup in left if (matchup.topic, frozenset(matchup.pair)) in voted]


FEW = 3
"""Passages of the smaller stand-in."""
DRAWN = ""
"""The choice of those who let the system be drawn."""


@dataclass(frozen=True, slots=True)
class FreshSystem:
    """One way to answer a question: a method over the first passages by BM25."""

    name: str
    answering: Answering
    sources: int = 0
    """Passages it reads; 0 for the method's own number."""

    @property
    def label(self) -> str:
        """Return the name with the number of model calls: "RIFER, about 43 calls"."""
        spec = self.spec(Writer("any", "any"))
        over = f" of {spec.n_sources} passages" if self.answering is Answering.SENTENCES else ""
        calls = spec.calls(spec.depth)
        about = "" if not calls else (", 1 call" if calls == 1 else f", about {calls} calls")
        return f"{LABELS[self.answering]}{over}{about}"

    @property
    def needs_model(self) -> bool:
        return self.answering is not Answering.SENTENCES

    def spec(self, writer: Writer | None) -> SystemSpec:
        """Return the system's specification. Raises ValueError without a model that it needs."""
        spec = SystemSpec(Answering.SENTENCES, sources=self.sources)
        if not self.needs_model:
            return spec
        model = writer or Writer("", "")
        return replace(spec, answering=self.answering, backend=model.backend, llm=model.llm)


SYSTEMS = {
    system.name: system
    for system in (
        FreshSystem("sentences", Answering.SENTENCES),
        FreshSystem("few-sentences", Answering.SENTENCES, FEW),
        FreshSystem("ragnarok", Answering.RAGNAROK),
        FreshSystem("spans", Answering.SPANS),
        FreshSystem("rifer", Answering.RIFER),
        FreshSystem("eifrp", Answering.EIFRP),
        FreshSystem("question", Answering.QUESTION),
    )
}
"""Name -> system, those without a model first."""


def offered(writer: Writer | None) -> list[FreshSystem]:
    return [system for system in SYSTEMS.values() if writer or not system.needs_model]


def two_systems(
    chosen: Sequence[str | P], writer: Writer | None, random: np.random.Generator
) -> tuple[FreshSystem | P, FreshSystem | P]:
    """Return the left and the right system: those chosen, by name or as a pipeline, else drawn.

    The sides are drawn, too. Raises ValueError for the same system twice, or one that needs a model where
    there is none.
    """
    names = {system.name for system in offered(writer)}
    kept = [system for system in chosen if system != DRAWN]
    named = {system for system in kept if isinstance(system, str)}
    if len(set(kept)) < len(kept) or not names.issuperset(named):
        raise ValueError("two different systems are needed, of those that are offered")
    left = sorted(names - named)
    drawn = random.choice(left, size=len(chosen) - len(kept), replace=False).tolist()
    both = [SYSTEMS[system] if isinstance(system, str) else system for system in (*kept, *drawn)]
    first, second = random.permutation(2).tolist()
    return both[first], both[second]
