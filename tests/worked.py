"""A collection small enough to score by hand.

Topic t1 pools d1, d2, d3 and asks two questions; t2 pools e1, e2 and asks one; t3 pools f1 and asks none.

| rating | Which pigment? | When? |      |  rating | Why? |
|--------|----------------|-------|      |---------|------|
| d1     | 5              | 0     |      | e1      | 2    |
| d2     | 0              | 4     |      | e2      | 4    |
| d3     | 3              | failed|

| run   | t1       | t2 | Rubric-Cover | mean |
|-------|----------|----|--------------|------|
| both  | d1 d2    | e2 | 1.0, 1       | 1.0  |
| stray | zz d3    | e2 | 0.0, 1       | 0.5  |
| first | d1       | e1 | 0.5, 0       | 0.25 |
| lacks | d2       | -  | 0.5, 0       | 0.25 |
"""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.grades.models import GraderConfig
from tests import factories

POOLS = {"t1": ("d1", "d2", "d3"), "t2": ("e1", "e2"), "t3": ("f1",)}
ASKED = {
    "t1": ("Which pigment makes leaves red?", "When does chlorophyll break down?"),
    "t2": ("Why does bread rise?",),
}
RATINGS = {"d1": (5, 0), "d2": (0, 4), "d3": (3, None), "e1": (2,), "e2": (4,)}
RANKED = {
    "both": {"t1": ("d1", "d2"), "t2": ("e2",)},
    "first": {"t1": ("d1",), "t2": ("e1",)},
    "lacks": {"t1": ("d2",)},
    "stray": {"t1": ("zz", "d3"), "t2": ("e2",)},
}
JUDGED = {"t1": {"d1": 3, "d2": 0}, "t2": {"e1": 0, "e2": 2}}


@dataclass
class Worked:
    collection: Collection
    bank: Bank
    config: GraderConfig
    topics: dict[str, Topic]
    items: dict[str, list[Item]]
    passages: dict[str, Passage]

    @property
    def names(self) -> list[str]:
        """The grader, as the commands take it."""
        return ["--prompt-class", self.config.prompt_class, "--llm", self.config.llm]


def worked(collection: Collection) -> Worked:
    """Everybody reads the names of its runs."""
    collection.shows_run_tags = True
    collection.save(update_fields=["shows_run_tags"])
    bank = factories.BankFactory(collection=collection)
    made = Worked(collection, bank, factories.lexical_config(), {}, {}, {})
    for position, (query_id, doc_ids) in enumerate(POOLS.items()):
        topic = factories.TopicFactory(collection=collection, query_id=query_id, position=position)
        made.topics[query_id] = topic
        for doc_id in doc_ids:
            made.passages[doc_id] = factories.PassageFactory(collection=collection, doc_id=doc_id)
            factories.PooledFactory(topic=topic, passage=made.passages[doc_id])
        texts = ASKED.get(query_id, ())
        made.items[query_id] = [factories.ItemFactory(bank=bank, topic=topic, text=text) for text in texts]
        _grade(made, query_id)
    for run_tag, rankings in RANKED.items():
        run = factories.RunFactory(collection=collection, run_tag=run_tag)
        for query_id, doc_ids in rankings.items():
            factories.RankingFactory(run=run, topic=made.topics[query_id], doc_ids=list(doc_ids))
    return made


def judge(made: Worked) -> None:
    """Add the human judgments."""
    for query_id, labels in JUDGED.items():
        for doc_id, relevance in labels.items():
            factories.JudgmentFactory(topic=made.topics[query_id], doc_id=doc_id, relevance=relevance)


def _grade(made: Worked, query_id: str) -> None:
    for doc_id in POOLS[query_id]:
        for item, rating in zip(made.items[query_id], RATINGS.get(doc_id, ()), strict=True):
            outcome = "numeric" if rating is not None else "failed"
            factories.grade(made.config, item, made.passages[doc_id], rating, outcome)
