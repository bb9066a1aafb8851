"""A track of three tasks with random rankings, grades, judgments and an official leaderboard."""

import random

from grading.statistics.rank_intervals import competition_ranks
from rubricweb.corpus.models import Collection, Judgment, OfficialScore
from rubricweb.corpus.pooling import PoolRule, apply_pool
from rubricweb.grades.models import Grade
from rubricweb.grades.store import save_grades
from tests.factories import (
    BankFactory,
    CollectionFactory,
    ItemFactory,
    PassageFactory,
    PooledFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    lexical_config,
)

TASKS = {"R": 4, "AG": 3, "RAG": 4, "": 2}
"""How many runs each has."""
DEPTH, DOCS, RANKED = 3, 24, 9


def track(slug: str, tasks: tuple[str, ...], *, has_rule: bool = True) -> Collection:
    """A track with the runs of these tasks, from the same draws whatever they are."""
    drawn = random.Random(7)
    collection = CollectionFactory(slug=slug, name="Track", min_relevant=1)
    bank, config = BankFactory(collection=collection), lexical_config()
    docs = [PassageFactory(collection=collection, doc_id=f"d{n}", text=f"text {n}") for n in range(DOCS)]
    runs = {
        f"{task.lower() or 'free'}{n}": RunFactory(
            collection=collection, run_tag=f"{task.lower() or 'free'}{n}", task=task, team=f"team{n}"
        )
        if task in tasks
        else None
        for task, count in TASKS.items()
        for n in range(count)
    }
    for number in range(6):
        topic = TopicFactory(collection=collection, query_id=f"t{number}", position=number)
        pooled = set()
        for run in runs.values():
            ranking = drawn.sample(docs, RANKED)
            if run:
                RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id for passage in ranking])
                pooled |= set(ranking)
        for passage in drawn.sample(docs, 4):
            pooled.add(passage)
            Judgment.objects.create(topic=topic, doc_id=passage.doc_id, relevance=drawn.randint(0, 2))
        for passage in () if has_rule else pooled:
            PooledFactory(topic=topic, passage=passage)
        rows = []
        for text in ("Which one?", "Where is it?", "Who did it?"):
            item = ItemFactory(bank=bank, topic=topic, text=text)
            rows += [
                Grade(config=config, topic=topic, revision=item.revision, passage=passage) for passage in docs
            ]
        for row in rows:
            row.rating, row.outcome = drawn.randint(0, 5), "numeric"
        save_grades(config, rows)
    if has_rule:
        apply_pool(collection, PoolRule(DEPTH), by=None)
    order = {tag: float(place * 5 % 13) for place, tag in enumerate(runs) if runs[tag]}
    for tag, rank in competition_ranks(order).items():
        OfficialScore.objects.create(
            collection=collection, board="track", run_tag=tag, value=rank, is_rank=True
        )
    return collection
