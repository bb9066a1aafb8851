"""Pools by depth: judged passages and the first ranks of runs.

Pools only grow, and only by passages that have a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import zip_longest

from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.importers.passages import LOOKED_UP
from rubricweb.corpus.models import Collection, Pooled
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool

BATCH_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class PoolRule:
    """How many of its first passages each accepted run contributes to the pool of a topic."""

    depth: int
    by_type: Mapping[str, int] = field(default_factory=dict)
    """Other depths by the type of a run; 0 pools nothing of them."""
    runs: tuple[str, ...] = ()
    """The tags of the runs that contribute; empty for all, those that come later included."""

    def depth_of(self, run_tag: str, run_type: str) -> int:
        if self.runs and run_tag not in self.runs:
            return 0
        return self.by_type.get(run_type, self.depth)

    @property
    def words(self) -> str:
        """ "top 20, manual runs 50, of 3 runs"."""
        types = [f"{name} runs {depth}" for name, depth in self.by_type.items()]
        return ", ".join([f"top {self.depth}", *types, *([f"of {len(self.runs)} runs"] if self.runs else [])])


def stored_rule(collection: Collection) -> PoolRule | None:
    """The rule by which the collection was pooled; None where files say what is pooled."""
    rule = collection.pool_rule
    return PoolRule(rule["depth"], rule["by_type"], tuple(rule["runs"])) if rule else None


@dataclass(frozen=True, slots=True)
class RunHoles:
    """How many of the first passages of a run, over all topics, are in no pool and so are not graded."""

    run_tag: str
    depth: int
    """At which holes are counted: the run's own, or the rule's for runs that contribute nothing."""
    ranked: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """What a rule adds to the pool of one topic."""

    topic: TopicPool
    added: dict[str, int]
    """Doc id -> passage, in the order of their ranks."""
    textless: tuple[str, ...]
    """Doc ids that the collection has no text of."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What a rule adds to the pools of a collection."""

    rule: PoolRule
    topics: tuple[TopicPlan, ...]
    runs: tuple[RunHoles, ...]

    @property
    def added(self) -> int:
        return sum(len(topic.added) for topic in self.topics)

    @property
    def textless(self) -> int:
        return sum(len(topic.textless) for topic in self.topics)

    @property
    def growing(self) -> int:
        """Topics whose pool grows."""
        return sum(bool(topic.added) for topic in self.topics)


def plan_pool(collection: Collection, rule: PoolRule) -> PoolPlan:
    """Return what the rule would add; nothing is changed."""
    pool = collection_pool(collection)
    runs = collection.runs.in_bulk(pool.run_pks)
    depths = [rule.depth_of(runs[pk].run_tag, runs[pk].type) for pk in pool.run_pks]
    wanted = [_wanted(topic, depths) for topic in pool.topics]
    passages = _passages(collection, {doc_id for doc_ids in wanted for doc_id in doc_ids})
    topics = tuple(
        TopicPlan(
            topic,
            {doc_id: passages[doc_id] for doc_id in doc_ids if doc_id in passages},
            tuple(doc_id for doc_id in doc_ids if doc_id not in passages),
        )
        for topic, doc_ids in zip(pool.topics, wanted, strict=True)
    )
    return PoolPlan(rule, topics, _holes(pool, topics, [depth or rule.depth for depth in depths]))


@transaction.atomic
def apply_pool(collection: Collection, rule: PoolRule, *, by: User | None) -> PoolPlan:
    """Pool by this rule, now and whenever runs come. Grades that there are stay; new cells are missing."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    collection.pool_rule = asdict(rule)
    collection.save(update_fields=["pool_rule"])
    plan = _extend(collection, rule)
    audit.record("pool built", collection, by=by, detail=f"{rule.words}: {plan.added:,} passages added")
    return plan


@transaction.atomic
def extend_pool(collection: Collection) -> PoolPlan | None:
    """Pool what runs that came meanwhile contribute by the collection's rule; None without a rule."""
    rule = stored_rule(collection)
    return _extend(collection, rule) if rule else None


def _extend(collection: Collection, rule: PoolRule) -> PoolPlan:
    plan = plan_pool(collection, rule)
    if plan.added:
        rows = [row for topic in plan.topics for row in _rows(topic)]
        Pooled.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)
        collection.stamp = new_stamp()
        collection.save(update_fields=["stamp"])
        for event in ("runs", "items"):
            events.publish_on_commit(collection.channel, event)
    return plan


def _rows(plan: TopicPlan) -> list[Pooled]:
    if not plan.added:
        return []
    last = Pooled.objects.filter(topic=plan.topic.topic_id).order_by("position").last()
    start = 0 if last is None else last.position + 1
    return [
        Pooled(topic_id=plan.topic.topic_id, passage_id=pk, position=start + place)
        for place, pk in enumerate(plan.added.values())
    ]


def _wanted(topic: TopicPool, depths: list[int]) -> list[str]:
    """Doc ids to add: judged ones, then the first ranks of all runs, the second, and so on."""
    tops = [(doc_ids or ())[:depth] for doc_ids, depth in zip(topic.ranked, depths, strict=True)]
    by_rank = (doc_id for rank in zip_longest(*tops) for doc_id in rank if doc_id is not None)
    wanted = dict.fromkeys([*topic.judgments, *by_rank])
    return [doc_id for doc_id in wanted if doc_id not in topic.row_of]


def _passages(collection: Collection, doc_ids: Iterable[str]) -> dict[str, int]:
    """Passages of the collection with a text, by doc id."""
    listed = list(doc_ids)
    passages: dict[str, int] = {}
    for start in range(0, len(listed), LOOKED_UP):
        rows = collection.passages.filter(doc_id__in=listed[start : start + LOOKED_UP]).exclude(text="")
        passages.update(rows.values_list("doc_id", "pk"))
    return passages


def _holes(pool: CollectionPool, plans: tuple[TopicPlan, ...], depths: list[int]) -> tuple[RunHoles, ...]:
    holes = []
    for run, (run_tag, depth) in enumerate(zip(pool.run_tags, depths, strict=True)):
        tops = [((plan.topic.ranked[run] or ())[:depth], plan) for plan in plans]
        before = [(doc_id, plan) for top, plan in tops for doc_id in top if doc_id not in plan.topic.row_of]
        after = sum(doc_id not in plan.added for doc_id, plan in before)
        holes.append(RunHoles(run_tag, depth, sum(len(top) for top, _ in tops), len(before), after))
    return tuple(holes)
