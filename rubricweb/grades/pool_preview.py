"""What a pool would cost to grade, before anybody builds it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pooling import PoolPlan, PoolRule, plan_pool
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine.missing import missing_over
from rubricweb.grades.engine.price import price
from rubricweb.grades.engine.stages import extractions, unanswered
from rubricweb.jobs.progress import Price


@dataclass(frozen=True, slots=True)
class PoolPreview:
    plan: PoolPlan
    price: Price
    """Of the new passages by the graders that Re-grade runs, for every bank; graded ones are not counted.

    Answers are verified after their extraction, which is counted too: at most so much, since some questions
    have no answer in a passage.
    """


def preview_pool(collection: Collection, rule: PoolRule, *, workers: int) -> PoolPreview:
    """`workers` share the work."""
    plan = plan_pool(collection, rule)
    pool = _new_passages(collection, plan)
    find = partial(missing_over, collection, pool=pool)
    found = find(active_configs(collection))
    missing = [*extractions(found, find), *found, *unanswered(found)]
    return PoolPreview(plan, price(collection, missing, workers=workers))


def _new_passages(collection: Collection, plan: PoolPlan) -> CollectionPool:
    """The pool as if it held nothing else, by a stamp of its own, since matrices are kept by the stamp."""
    topics = [_only_new(one.topic, one.added) for one in plan.topics if one.added]
    return CollectionPool(collection.pk, new_stamp(), (), (), tuple(topics))


def _only_new(topic: TopicPool, added: dict[str, int]) -> TopicPool:
    return replace(
        topic, passage_pks=tuple(added.values()), doc_ids=tuple(added), ranked=(), scores=(), judgments={}
    )
