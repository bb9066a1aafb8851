"""A topic small enough to work out by hand.

      judged  Q1  Q2  N1
d1    3       5   0   0
d2    2       1   0   failed
d3    1       4   0   .
d4    0       0   0*  2        * the reply held no rating; . is a blank
d5    .       .   .   .
d6    2       .   .   .
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.models import GraderConfig
from tests.factories import (
    BankFactory,
    ItemFactory,
    JudgmentFactory,
    PassageFactory,
    PooledFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    grade,
    lexical_config,
)

TEXTS = {
    "d1": "Anthocyanins make maple leaves red in autumn.",
    "d2": "Maples are planted along many streets.",
    "d3": "Ripe apples turn red because of anthocyanins.",
    "d4": '<script>alert("d4")</script> Leaves & colours.',
    "<b>d5": "Birches turn yellow.",
    "d6": "The days grow short.",
}
JUDGED = {"d1": 3, "d2": 2, "d3": 1, "d4": 0, "d6": 2}
RATED = {
    "d1": (5, 0, 0),
    "d2": (1, 0, "failed"),
    "d3": (4, 0, None),
    "d4": (0, "defaulted", 2),
}
ITEMS = (
    ("question", "Which pigment makes leaves red?"),
    ("question", "What does <script> do to a leaf?"),
    ("nugget", "Chlorophyll breaks down in autumn"),
)


@dataclass
class Autumn:
    """The rows of the example."""

    collection: Collection
    topic: Topic
    bank: Bank
    items: list[Item]
    passages: dict[str, Passage]
    config: GraderConfig

    @property
    def grid(self) -> str:
        return f"/review/banks/{self.bank.pk}/topics/{self.topic.pk}/?view=grid"

    def cell(self, doc_id: str, item: int) -> str:
        passage = self.passages[doc_id].pk
        return f"/review/banks/{self.bank.pk}/topics/{self.topic.pk}/cells/{passage}/{self.items[item].pk}/"


@pytest.fixture
def autumn(collection: Collection, owner: User) -> Autumn:
    """Everybody reads the names of its runs."""
    collection.shows_run_tags = True
    collection.save(update_fields=["shows_run_tags"])
    topic = TopicFactory(collection=collection, query_id="t1", text="why do leaves turn red")
    bank = BankFactory(collection=collection, name="main")
    items = [ItemFactory(bank=bank, topic=topic, kind=kind, text=text) for kind, text in ITEMS]
    passages = {}
    for position, (doc_id, text) in enumerate(TEXTS.items()):
        passages[doc_id] = PassageFactory(collection=collection, doc_id=doc_id, text=text)
        PooledFactory(topic=topic, passage=passages[doc_id], position=position)
    for doc_id, relevance in JUDGED.items():
        JudgmentFactory(topic=topic, doc_id=doc_id, relevance=relevance)
    for run_tag, doc_ids in {"bm25": ["d1", "d2", "d3"], "dense": ["d3", "d1"]}.items():
        RankingFactory(run=RunFactory(collection=collection, run_tag=run_tag), topic=topic, doc_ids=doc_ids)
    config = lexical_config()
    for doc_id, ratings in RATED.items():
        for item, rating in zip(items, ratings, strict=True):
            _grade(config, item, passages[doc_id], rating)
    return Autumn(collection, topic, bank, items, passages, config)


def _grade(config: GraderConfig, item: Item, passage: Passage, rating: int | str | None) -> None:
    if rating == "failed":
        grade(config, item, passage, None, outcome="failed")
    elif rating == "defaulted":
        grade(config, item, passage, 0, outcome="defaulted")
    elif rating is not None:
        grade(config, item, passage, int(rating))
