"""A bank without items, a topic to ask about, and what a model says to the job that asks it."""

from __future__ import annotations

import pytest

from rubricweb.banks.drafting import jobs
from tests.factories import BankFactory, TopicFactory
from tests.rubricweb.banks.writers import Scripted


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
        monkeypatch.setattr(jobs, "text_model", lambda backend, name, connection: llm)
        return llm

    return script
