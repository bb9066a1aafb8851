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

from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.corpus.models import Collection, Passage, Pooled, Ranking, Run, Topic
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
    _pool(made)
    _ask(made)
    factories.grades(
        made.config,
        [
            (item, made.passages[doc_id], rating)
            for query_id, doc_ids in POOLS.items()
            for doc_id in doc_ids
            for item, rating in zip(made.items[query_id], RATINGS.get(doc_id, ()), strict=True)
        ],
    )
    _rank(made)
    return made


def _pool(made: Worked) -> None:
    """Make topics, passages and pools; together, as each of the rows below, which is three times as quick."""
    for position, query_id in enumerate(POOLS):
        made.topics[query_id] = factories.TopicFactory.build(
            collection=made.collection, query_id=query_id, position=position
        )
    Topic.objects.bulk_create(made.topics.values())
    pooled = []
    for query_id, doc_ids in POOLS.items():
        for doc_id in doc_ids:
            passage = factories.PassageFactory.build(collection=made.collection, doc_id=doc_id)
            pooled.append(factories.PooledFactory.build(topic=made.topics[query_id], passage=passage))
            made.passages[doc_id] = passage
    Passage.objects.bulk_create(made.passages.values())
    Pooled.objects.bulk_create(pooled)


def _ask(made: Worked) -> None:
    for query_id, topic in made.topics.items():
        texts = ASKED.get(query_id, ())
        made.items[query_id] = [
            factories.ItemFactory.build(bank=made.bank, topic=topic, text=text) for text in texts
        ]
    items = [item for of_topic in made.items.values() for item in of_topic]
    ItemRevision.objects.bulk_create([item.revision for item in items])
    Item.objects.bulk_create(items)


def _rank(made: Worked) -> None:
    runs = {tag: factories.RunFactory.build(collection=made.collection, run_tag=tag) for tag in RANKED}
    Run.objects.bulk_create(runs.values())
    Ranking.objects.bulk_create(
        factories.RankingFactory.build(run=runs[tag], topic=made.topics[query_id], doc_ids=list(doc_ids))
        for tag, rankings in RANKED.items()
        for query_id, doc_ids in rankings.items()
    )


def judge(made: Worked) -> None:
    """Add the human judgments."""
    for query_id, labels in JUDGED.items():
        for doc_id, relevance in labels.items():
            factories.JudgmentFactory(topic=made.topics[query_id], doc_id=doc_id, relevance=relevance)
