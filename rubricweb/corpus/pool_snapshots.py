"""Pools as packed arrays in the database, which are read in a tenth of the time that their rows take."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from rubricweb.core import packed
from rubricweb.corpus.derived_models import PoolSnapshot
from rubricweb.corpus.models import Topic
from rubricweb.corpus.topic_pools import CollectionPool, TopicJudgments, TopicPool, TopicRankings

logger = logging.getLogger(__name__)

READ_AT_ONCE = 100
WRITTEN_AT_ONCE = 200
Topics = Sequence[tuple[TopicPool, frozenset[int]]]
"""Topics, each with its pooled passages that do not count."""


def read(stamp: int, run_pks: Sequence[int], topics: Collection[tuple[int, str]]) -> Topics | None:
    """Return the pools of these topics, (id, query id), in their order; None unless all are known."""
    names, pools = dict(topics), {}
    rows = PoolSnapshot.objects.filter(topic__in=names, number=stamp)
    for topic_id, content in rows.values_list("topic_id", "content").iterator(chunk_size=READ_AT_ONCE):
        try:
            pools[topic_id] = _unpacked(topic_id, names[topic_id], stamp, run_pks, content)
        except packed.Damaged:
            logger.warning("the snapshot of the pool of topic %d is damaged", topic_id)
            return None
    return [pools[pk] for pk in names] if pools and len(pools) == len(names) else None


def keep(pool: CollectionPool, chars: Mapping[int, int]) -> None:
    """Write the snapshots of all topics.

    `pool` has every topic, and its stamp was read before its rows; `chars` has the characters of each topic's
    passages.
    """
    rows = (
        PoolSnapshot(
            topic_id=topic.topic_id,
            number=pool.stamp,
            content=_packed(pool, topic),
            passages=len(topic.passage_pks),
            chars=chars[topic.topic_id],
        )
        for topic in pool.topics
    )
    with transaction.atomic():
        PoolSnapshot.objects.bulk_create(
            rows,
            WRITTEN_AT_ONCE,
            update_conflicts=True,
            unique_fields=["topic"],
            update_fields=["number", "content", "passages", "chars"],
        )


def out_of_date() -> dict[int, int]:
    """Return, by collection, the stamp of those whose snapshots are not of their present state."""
    counted = PoolSnapshot.objects.filter(passages__isnull=False, chars__isnull=False)
    current = counted.filter(topic=OuterRef("pk"), number=OuterRef("collection__stamp"))
    topics = Topic.objects.filter(
        ~Exists(current), collection__is_being_deleted=False, collection__is_gone=False
    )
    return dict(topics.order_by().values_list("collection", "collection__stamp").distinct())


def _key(topic_id: int, stamp: int) -> str:
    return f"pool of topic {topic_id} at {stamp}"


def _packed(pool: CollectionPool, topic: TopicPool) -> bytes:
    rankings, judged = topic.rankings, topic.judged
    arrays: dict[str, NDArray[Any]] = {  # Any: numbers of each kind
        "runs": np.array(pool.run_pks, dtype=np.int64),
        "passages": np.array(topic.passage_pks, dtype=np.int64),
        "left_out": np.array(sorted(pool.left_out.get(topic.topic_id, ())), dtype=np.int64),
        "scores": rankings.scores,
        "rows": rankings.rows,
        "lengths": rankings.lengths,
        "judged": judged.rows,
        "judgments": judged.labels,
        "doc_ids": packed.of_texts(topic.doc_ids),
        "outside": packed.of_texts(rankings.outside),
        "unranked": packed.of_texts(judged.unranked),
    }
    return packed.pack(_key(topic.topic_id, pool.stamp), arrays)


def _unpacked(
    topic_id: int, query_id: str, stamp: int, run_pks: Iterable[int], content: bytes | memoryview
) -> tuple[TopicPool, frozenset[int]]:
    arrays = packed.unpack(_key(topic_id, stamp), content)
    if arrays["runs"].tolist() != list(run_pks):
        raise packed.Damaged(f"the runs of topic {topic_id}")
    outside, unranked = packed.texts(arrays["outside"]), packed.texts(arrays["unranked"])
    topic = TopicPool(
        topic_id=topic_id,
        query_id=query_id,
        passage_pks=tuple(arrays["passages"].tolist()),
        doc_ids=packed.texts(arrays["doc_ids"]),
        rankings=TopicRankings(arrays["rows"], outside, arrays["lengths"], arrays["scores"]),
        judged=TopicJudgments(arrays["judged"], arrays["judgments"], unranked),
    )
    return topic, frozenset(arrays["left_out"].tolist())
