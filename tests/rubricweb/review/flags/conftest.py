"""A topic with two questions and three passages, to be flagged."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Passage, Topic
from rubricweb.review.models import Subject
from tests.factories import BankFactory, ItemFactory, PassageFactory, PooledFactory, TopicFactory


@dataclass(frozen=True)
class Place:
    bank: Bank
    topic: Topic
    items: list[Item]
    passages: list[Passage]

    @property
    def cell(self) -> Subject:
        return Subject(self.bank, self.topic, self.items[0], self.passages[0])

    @property
    def item(self) -> Subject:
        return Subject(self.bank, self.topic, item=self.items[0])

    @property
    def passage(self) -> Subject:
        return Subject(self.bank, self.topic, passage=self.passages[0])


@pytest.fixture
def place(collection) -> Place:
    topic = TopicFactory(collection=collection, query_id="q1", text="why do leaves turn red")
    bank = BankFactory(collection=collection)
    texts = ("Which pigment makes leaves red?", "Does frost matter?")
    items = [ItemFactory(bank=bank, topic=topic, text=text) for text in texts]
    passages = [PassageFactory(collection=collection, doc_id=f"d{n}") for n in range(3)]
    for passage in passages:
        PooledFactory(topic=topic, passage=passage)
    return Place(bank, topic, items, passages)
