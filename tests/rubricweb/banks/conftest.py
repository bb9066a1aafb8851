"""A bank without items, a topic to ask about, and what a model says to the job that asks it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rubricweb.jobs import limits
from tests.factories import BankFactory, TopicFactory


class Scripted:
    """A model that gives the replies in turn, the last one for ever; an error is raised."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        self.asked.append(messages[-1][1])
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")


@pytest.fixture
def bank(collection):
    return BankFactory(collection=collection)


@pytest.fixture
def says(monkeypatch):
    """`says(*replies)`: what the model will say to the job."""

    def script(*replies: str | Exception) -> Scripted:
        llm = Scripted(*replies)
        monkeypatch.setattr(limits, "text_model", lambda *_, **__: llm)
        return llm

    return script
