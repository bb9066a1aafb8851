"""What a pool would cost to grade, before anybody builds it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pooling import PoolPlan, PoolRule, TopicPlan, plan_pool
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.corpus.topic_pools import rankings_of
from rubricweb.grades.configs import planned_configs
from rubricweb.grades.engine.missing import Missing, missing_over
from rubricweb.grades.engine.price import price
from rubricweb.grades.engine.stages import extractions, unanswered
from rubricweb.jobs.progress import Price
from rubricweb.jobs.queue import WorkerBeat


@dataclass(frozen=True, slots=True)
class PoolPreview:
    plan: PoolPlan
    price: Price
    """Of the new passages by the graders that Re-grade runs, for every bank; graded ones are not counted.

    Answers are verified after their extraction, which is counted too: at most so much, since some questions
    have no answer in a passage.
    """


def preview_pool(collection: Collection, rule: PoolRule, workers: Sequence[WorkerBeat]) -> PoolPreview:
    """What the rule would add, and what grading that takes these living workers."""
    configs = planned_configs(collection)
    sought: dict[tuple[int, int], list[Missing]] = defaultdict(list)

    def count(topic: TopicPlan) -> None:
        """What is missing of one topic, by stage and grader."""
        find = partial(missing_over, collection, pool=_new_passages(collection, topic))
        found = find(configs) if topic.added else []
        for stage, missing in enumerate((extractions(collection, found, find), found, unanswered(found))):
            for one in missing:
                sought[stage, one.config.pk].append(one)

    plan = plan_pool(collection, rule, seen=count)
    missing = [_joined(parts) for _, parts in sorted(sought.items())]
    return PoolPreview(plan, price(collection, missing, workers))


def _joined(parts: list[Missing]) -> Missing:
    """What one grader lacks of several topics."""
    return replace(parts[0], gaps=tuple(gap for one in parts for gap in one.gaps), unanswered=())


def _new_passages(collection: Collection, plan: TopicPlan) -> CollectionPool:
    """The pool of the topic as if it held nothing else."""
    pks, doc_ids = tuple(plan.added.values()), tuple(plan.added)
    topic = TopicPool(plan.topic_id, plan.query_id, pks, doc_ids, rankings_of(doc_ids, (), ()))
    return CollectionPool(collection.pk, new_stamp(), (), (), (topic,))
