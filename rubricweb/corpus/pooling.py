"""Pools by depth: judged passages and the first ranks of runs.

Pools only grow, and only by passages that have a text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.compiled import LONGEST, compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Ranking, Run, Topic
from rubricweb.corpus.pseudonyms import shown_names

BATCH_ROWS = 2_000
KEPT_TOPICS = 512
"""Topics of which a process keeps what a previewed pool would add."""
KEPT_RANKS = 2_000
"""Ranks of all runs up to which it does: deeper pools are read anew each time."""


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
    def text(self) -> str:
        """Return the rule in words: "top 20, manual runs 50, of 3 runs"."""
        types = [f"{name} runs {depth}" for name, depth in self.by_type.items()]
        return ", ".join(
            [f"top {self.depth}", *types, *([f"of {counted(len(self.runs), 'run')}"] if self.runs else [])]
        )


def stored_rule(collection: Collection) -> PoolRule | None:
    """Return the rule by which the collection was pooled; None where files say what is pooled."""
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
    """Passages that a rule adds to the pool of one topic."""

    topic_id: int
    query_id: str
    added: dict[str, int]
    """Doc id -> passage, in the order of their ranks."""
    textless: tuple[str, ...]
    """Doc ids that the collection has no text of."""
    holes: tuple[tuple[int, int, int], ...]
    """For each run, the number of its first passages, of those in no pool now, and of those in none then."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """Counts of what a rule adds to the pools of a collection."""

    rule: PoolRule
    added: int
    textless: int
    growing: int
    """Topics whose pool grows."""
    runs: tuple[RunHoles, ...]


Seen = Callable[[TopicPlan], object]


def plan_pool(
    collection: Collection, rule: PoolRule, *, seen: Seen = lambda plan: None, stamp: int | None = None
) -> PoolPlan:
    """Return what the rule would add; nothing is changed.

    `seen` is called with the plan of each topic. One topic is read at a time, so that a collection of many
    topics takes no more memory than one of few. With the collection's `stamp`, plans of small pools are kept.
    """
    runs = list(collection.runs.accepted())
    depths = [rule.depth_of(run.run_tag, run.type) for run in runs]
    shares = tuple(
        _Share(run.pk, depth, depth or rule.depth) for run, depth in zip(runs, depths, strict=True)
    )
    is_kept = stamp is not None and sum(share.limit for share in shares) <= KEPT_RANKS
    plan_topic = partial(_kept_plan, stamp) if is_kept else _plan
    holes = np.zeros((len(runs), 3), dtype=np.int64)
    added = textless = growing = 0
    for topic in _topics(collection.pk):
        plan = plan_topic(collection.pk, topic, shares)
        seen(plan)
        added, textless = added + len(plan.added), textless + len(plan.textless)
        growing += bool(plan.added)
        holes += np.array(plan.holes, dtype=np.int64).reshape(-1, 3)
    tags = shown_names(collection.pk, tuple(run.run_tag for run in runs))
    counts_by_run = zip(tags, shares, holes.tolist(), strict=True)
    return PoolPlan(
        rule,
        added,
        textless,
        growing,
        tuple(RunHoles(tag, share.limit, *counts) for tag, share, counts in counts_by_run),
    )


@transaction.atomic
def apply_pool(collection: Collection, rule: PoolRule, *, by: User | None) -> PoolPlan:
    """Pool by this rule, now and whenever runs come. Grades that there are stay; new cells are missing."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    collection.pool_rule = asdict(rule)
    collection.save(update_fields=["pool_rule"])
    plan = _extend(collection, rule)
    audit.record(
        "pool built", collection, by=by, detail=f"{rule.text}: {counted(plan.added, 'passage')} added"
    )
    return plan


@transaction.atomic
def extend_pool(collection: Collection) -> PoolPlan | None:
    """Pool what runs that came meanwhile contribute by the collection's rule; None without a rule."""
    rule = stored_rule(collection)
    return _extend(collection, rule) if rule else None


def _extend(collection: Collection, rule: PoolRule) -> PoolPlan:
    plan = plan_pool(collection, rule, seen=_pool)
    if plan.added:
        collection.stamp = new_stamp()
        collection.save(update_fields=["stamp"])
        for event in ("runs", "items"):
            events.publish_on_commit(collection.channel, event)
    return plan


def _pool(plan: TopicPlan) -> None:
    if not plan.added:
        return
    last = Pooled.objects.filter(topic=plan.topic_id).order_by("position").last()
    start = 0 if last is None else last.position + 1
    rows = (
        Pooled(topic_id=plan.topic_id, passage_id=pk, position=start + place)
        for place, pk in enumerate(plan.added.values())
    )
    Pooled.objects.bulk_create(rows, batch_size=BATCH_ROWS, ignore_conflicts=True)


class _Share(NamedTuple):
    """What a run contributes to the pool of each topic."""

    run_id: int
    depth: int
    """How many of its passages are pooled."""
    limit: int
    """Down to which rank holes are counted."""


def _plan(collection_id: int, topic: tuple[int, str], shares: tuple[_Share, ...]) -> TopicPlan:
    """Read what the pool of a topic has and lacks."""
    topic_id, query_id = topic
    ranked = dict(_ranked(topic_id))
    tops = [ranked.get(share.run_id, [])[: share.limit] for share in shares]
    # Judged passages come first, then the first ranks of all runs, the second, and so on.
    pooled = set(_pooled_ids(topic_id))
    by_rank = (
        doc_id
        for rank in zip_longest(*[top[: share.depth] for top, share in zip(tops, shares, strict=True)])
        for doc_id in rank
        if doc_id is not None
    )
    sought = dict.fromkeys([*_judged_ids(topic_id), *by_rank])
    doc_ids = [doc_id for doc_id in sought if doc_id not in pooled]
    passages: dict[str, int] = {}
    for start in range(0, len(doc_ids), LONGEST):
        passages.update(_with_text(collection_id, tuple(doc_ids[start : start + LONGEST])))
    added = {doc_id: passages[doc_id] for doc_id in doc_ids if doc_id in passages}
    textless = tuple(doc_id for doc_id in doc_ids if doc_id not in passages)
    return TopicPlan(topic_id, query_id, added, textless, tuple(_holes(top, pooled, added) for top in tops))


@lru_cache(maxsize=KEPT_TOPICS)
def _kept_plan(
    stamp: int, collection_id: int, topic: tuple[int, str], shares: tuple[_Share, ...]
) -> TopicPlan:
    """Return the plan of rankings, pools, judgments and texts, each change of which moves the stamp."""
    return _plan(collection_id, topic, shares)


@compiled_once
def _topics(collection: int) -> QuerySet[Topic, tuple[int, str]]:
    return Topic.objects.filter(collection=collection).values_list("pk", "query_id")


@compiled_once
def _ranked(topic: int) -> QuerySet[Ranking, tuple[int, list[str]]]:
    return Ranking.objects.filter(topic=topic, run__state=Run.State.ACCEPTED).values_list("run_id", "doc_ids")


@compiled_once
def _pooled_ids(topic: int) -> QuerySet[Pooled, str]:
    return Pooled.objects.filter(topic=topic).order_by().values_list("passage__doc_id", flat=True)


@compiled_once
def _judged_ids(topic: int) -> QuerySet[Judgment, str]:
    return Judgment.objects.filter(topic=topic).order_by("pk").values_list("doc_id", flat=True)


@compiled_once
def _with_text(collection: int, doc_ids: tuple[str, ...]) -> QuerySet[Passage, tuple[str, int]]:
    rows = Passage.objects.filter(collection=collection, doc_id__in=doc_ids).exclude(text="")
    return rows.values_list("doc_id", "pk")


def _holes(top: list[str], pooled: set[str], added: dict[str, int]) -> tuple[int, int, int]:
    before = [doc_id for doc_id in top if doc_id not in pooled]
    return len(top), len(before), sum(doc_id not in added for doc_id in before)
