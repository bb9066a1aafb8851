"""Three runs with answers to two topics, and a bank that asks about the first."""

from __future__ import annotations

from uuid import uuid4

import pytest

from rubricweb.arena import actions, battles
from rubricweb.arena.actions import Ballot
from rubricweb.arena.models import Battle, Vote
from rubricweb.corpus.models import Passage, Response, Run
from tests.factories import BankFactory, PassageFactory, RankingFactory, TopicFactory, graded, responded

MOON, SUN, LAND = "The moon pulls.", "The sun helps.", "Land stands still."
TAGS = ("secretalpha", "secretbeta", "secretgamma")


@pytest.fixture
def topics(collection):
    return [
        TopicFactory(collection=collection, query_id=f"t{number}", text=text)
        for number, text in enumerate(("how do tides work", "why is the sea salty"), 1)
    ]


@pytest.fixture
def answers(collection, topics) -> list[Response]:
    """By topic and run: alpha says the moon, beta the sun, gamma the land."""
    PassageFactory(collection=collection, doc_id="d1", text="A passage of the corpus.")
    first = [responded(topics[0], tag, text) for tag, text in zip(TAGS, (MOON, SUN, LAND), strict=True)]
    second = []
    for number, one in enumerate(first):
        RankingFactory(run=one.run, topic=topics[1], doc_ids=["d1"])
        told = [{"text": f"Salt, way {number}.", "citations": [["d1", None]]}]
        second.append(
            Response.objects.create(run=one.run, topic=topics[1], sentences=told, passages_of="sentence")
        )
    return first + second


@pytest.fixture
def runs(answers) -> list[Run]:
    return [answer.run for answer in answers[:3]]


@pytest.fixture
def bank(collection, topics, answers):
    """Alpha covers both items of t1, beta one of them, gamma none."""
    bank = BankFactory(collection=collection)
    passages = [Passage.objects.get(text=text) for text in (MOON, SUN, LAND)]
    graded(bank, topics[0], passages, {"What pulls?": (5, 0, 0), "What moves?": (4, 5, 1)})
    return bank


def ballot(answer: str, evidence: str | None = "tie") -> Ballot:
    return Ballot(Vote.Verdict(answer), Vote.Verdict(evidence) if evidence else None, uuid4())


def voted(person, topic, left, right, answer: str, evidence: str = "tie") -> Battle:
    """A blind vote of the person on these two runs."""
    battle = actions._new_battle(
        topic.collection,
        person,
        battles.next_number(topic.collection, person),
        (topic.pk, left.pk, right.pk),
        drawn=Battle.Drawn.RANDOM,
    )
    actions.vote(battle, ballot(answer, evidence), by=person, seen=0)
    return battle
