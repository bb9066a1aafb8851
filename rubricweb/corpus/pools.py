"""Pools, rankings and judgments of a collection as cached arrays; and the sizes of pools, read without them.

Pools, rankings and judgments of a collection as arrays, cached until an import or the state of a run
moves the stamp.

Runs that are not accepted are in none of them, nor are the passages that only they bring.

How large the pools of a collection are, and the keys of single ones: without a text, and without rankings.

What reads a `CollectionPool` needs memory for every passage of the collection; jobs need numbers first, and
then a few topics at a time. Workers count when they keep snapshots of the pools; until then the rows are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from sys import intern

import numpy as np
from django.db.models import Count, Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Length

from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus import derived_models, pseudonyms, topic_pools
from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Ranking, Run, Topic
from rubricweb.corpus.topic_pools import CACHED_TOPICS, CollectionPool, TopicPool, judgments_of, rankings_of

__all__ = ["CACHED_TOPICS", "CollectionPool", "TopicPool", "collection_pool", "from_rows", "pool_at"]

CACHED_COLLECTIONS = 8
READ_AT_ONCE = 20
"""Rankings; each may have a thousand ranks."""

Rankings = dict[tuple[int, int], tuple[tuple[str, ...], tuple[float, ...]]]
"""(run, topic) -> doc ids, best first, and their scores."""
_seen_out_of_date: dict[int, int] = {}
"""Stamps of collections, as `keep_snapshots` found them the last time."""
CACHED_SIZES = 8


@read_once
def collection_pool(collection: Collection) -> CollectionPool:
    """Return the runs with the names that the reader may see."""
    pool = pool_at(collection.pk, stamp_of(collection.pk))
    names = pseudonyms.shown_names(collection.pk, pool.run_tags)
    return pool if names is pool.run_tags else replace(pool, run_tags=names)


def unpooled_runs(collection: Collection) -> int:
    """Return how many runs rank a passage first that no pool has, in all topics; 0 before there is a pool."""
    pool = collection_pool(collection)
    seen = np.zeros(len(pool.run_tags), dtype=np.bool_)
    ranks_something = seen.copy()
    for topic in pool.topics:
        ranks_something |= topic.lengths > 0
        seen |= (topic.ranked_rows[:, :1] >= 0).any(axis=1)
    has_pool = any(topic.doc_ids for topic in pool.topics)
    return int(ranks_something.sum() - seen.sum()) if has_pool else 0


@lru_cache(maxsize=CACHED_COLLECTIONS)
def pool_at(collection_id: int, stamp: int) -> CollectionPool:
    """Return all accepted runs by their tags, whoever reads."""
    runs, topics = _runs(collection_id), _topics(collection_id)
    kept = topic_pools.read(stamp, [pk for pk, _ in runs], topics)
    listed = kept or _from_rows(collection_id, [pk for pk, _ in runs], topics)
    return _collection(collection_id, stamp, runs, listed)


def from_rows(collection_id: int, stamp: int) -> CollectionPool:
    """Read the pool from its rows, without a cache or snapshots."""
    runs, topics = _runs(collection_id), _topics(collection_id)
    listed = _from_rows(collection_id, [pk for pk, _ in runs], topics)
    return _collection(collection_id, stamp, runs, listed)


def _from_rows(
    collection_id: int, runs: Sequence[int], topics: Sequence[tuple[int, str]]
) -> topic_pools.Topics:
    judged: dict[int, dict[str, int]] = {}
    rows = Judgment.objects.filter(topic__collection_id=collection_id)
    for topic_id, doc_id, relevance in rows.values_list("topic_id", "doc_id", "relevance"):
        labels = judged.setdefault(topic_id, {})
        labels[doc_id] = max(relevance, labels.get(doc_id, relevance))
    pools, everything, judgments = _pooled(collection_id), _rankings(collection_id), judged
    accepted = set(runs)
    rankings = {place: ranks for place, ranks in everything.items() if place[0] in accepted}
    left_out = _left_out(everything, rankings, judgments)
    listed = []
    for topic_id, query_id in topics:
        away, pooled = left_out.get(topic_id, set()), pools.get(topic_id, [])
        passages = [(pk, doc_id) for pk, doc_id in pooled if doc_id not in away]
        uncounted = frozenset(pk for pk, doc_id in pooled if doc_id in away)
        ranks = [rankings.get((run_id, topic_id), (None, None)) for run_id in runs]
        doc_ids = tuple(doc_id for _, doc_id in passages)
        ranked = rankings_of(doc_ids, [ids for ids, _ in ranks], [scores for _, scores in ranks])
        topic = TopicPool(
            topic_id=topic_id,
            query_id=query_id,
            passage_pks=tuple(pk for pk, _ in passages),
            doc_ids=doc_ids,
            rankings=ranked,
            judged=judgments_of(doc_ids + ranked.outside, judgments.get(topic_id, {})),
        )
        listed.append((topic, uncounted))
    return listed


def _collection(
    collection_id: int, stamp: int, runs: Sequence[tuple[int, str]], topics: topic_pools.Topics
) -> CollectionPool:
    left_out = {topic.topic_id: passages for topic, passages in topics if passages}
    tags, pks = tuple(tag for _, tag in runs), tuple(pk for pk, _ in runs)
    return CollectionPool(collection_id, stamp, tags, pks, tuple(topic for topic, _ in topics), left_out)


def _runs(collection_id: int) -> list[tuple[int, str]]:
    return list(Run.objects.filter(collection=collection_id).accepted().values_list("pk", "run_tag"))


def _topics(collection_id: int) -> list[tuple[int, str]]:
    return list(Topic.objects.filter(collection=collection_id).values_list("pk", "query_id"))


def _pooled(collection_id: int) -> dict[int, list[tuple[int, str]]]:
    pools: dict[int, list[tuple[int, str]]] = {}
    rows = Pooled.objects.filter(topic__collection_id=collection_id).order_by("topic_id", "position")
    for topic_id, passage_id, doc_id in rows.values_list("topic_id", "passage_id", "passage__doc_id"):
        pools.setdefault(topic_id, []).append((passage_id, doc_id))
    return pools


def _rankings(collection_id: int) -> Rankings:
    """Return the doc ids and scores of each run and topic; equal doc ids are one string in memory."""
    rows = Ranking.objects.filter(topic__collection_id=collection_id)
    fields = rows.values_list("run_id", "topic_id", "doc_ids", "scores").iterator(chunk_size=READ_AT_ONCE)
    return {
        (run_id, topic_id): (tuple(map(intern, doc_ids)), tuple(scores))
        for run_id, topic_id, doc_ids, scores in fields
    }


def _left_out(
    rankings: Rankings, counted: Rankings, judgments: dict[int, dict[str, int]]
) -> dict[int, set[str]]:
    """Return, by topic, the doc ids that nobody judged and that only runs rank which do not count."""
    ranked: dict[int, set[str]] = {}
    for place in rankings.keys() - counted.keys():
        ranked.setdefault(place[1], set()).update(rankings[place][0])
    if ranked:
        for (_, topic_id), (doc_ids, _) in counted.items():
            ranked.get(topic_id, set()).difference_update(doc_ids)
    return {topic_id: doc_ids - judgments.get(topic_id, {}).keys() for topic_id, doc_ids in ranked.items()}


def keep_snapshots() -> None:
    """Write the snapshots of one collection in which nobody has changed runs or pools since the last call.

    A duty of workers: a web request only reads.
    """
    counted = derived_models.PoolSnapshot.objects.filter(passages__isnull=False, chars__isnull=False)
    current = counted.filter(topic=OuterRef("pk"), number=OuterRef("collection__stamp"))
    topics = Topic.objects.filter(
        ~Exists(current), collection__is_being_deleted=False, collection__is_gone=False
    )
    now = dict(topics.order_by().values_list("collection", "collection__stamp").distinct())
    quiet = [pk for pk, stamp in now.items() if _seen_out_of_date.get(pk) == stamp]
    _seen_out_of_date.clear()
    _seen_out_of_date.update(now)
    for collection_id in quiet[:1]:
        keep_snapshots_of(collection_id)


def keep_snapshots_of(collection_id: int) -> None:
    """Write the snapshots of the pools of a collection."""
    pool = from_rows(collection_id, stamp_of(collection_id))
    topic_pools.keep(pool, chars_of(pool))


def chars_of(pool: CollectionPool) -> dict[int, int]:
    """Return the characters of the passages of each topic that count."""
    if not pool.left_out:
        return dict.fromkeys(pool.by_topic, 0) | pooled_chars(pool.collection_id)
    rows = Passage.objects.filter(collection=pool.collection_id).annotate(n=Length("text"))
    chars = dict(rows.values_list("pk", "n").iterator(chunk_size=10_000))
    return {topic.topic_id: sum(chars[pk] for pk in topic.passage_pks) for topic in pool.topics}


def pooled_chars(collection_id: int) -> dict[int, int]:
    """Return the characters of all pooled passages of each topic that has some, in one query."""
    rows = Pooled.objects.filter(topic__collection=collection_id).order_by().values("topic_id")
    return dict(rows.annotate(n=Sum(Length("passage__text"))).values_list("topic_id", "n"))


def pool_sizes(collection: Collection) -> Mapping[int, int]:
    """Return how many passages of each topic count, in the order of the topics."""
    return _sizes(collection.pk, stamp_of(collection.pk))


def pool_chars(collection: Collection) -> Mapping[int, int]:
    """Return the characters of these passages, by topic; a topic without passages may be left out."""
    return _chars(collection.pk, stamp_of(collection.pk))


def pooled_passages(collection: Collection, topic_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return the primary keys of the passages of these topics that count, in the order of the pool."""
    passages: dict[int, list[int]] = {topic_id: [] for topic_id in topic_ids}
    if _has_left_out(collection.pk):
        pool = collection_pool(collection).by_topic
        return {topic_id: list(pool[topic_id].passage_pks) for topic_id in passages if topic_id in pool}
    rows = Pooled.objects.filter(topic__in=passages).order_by("topic_id", "position", "pk")
    for topic_id, passage_id in rows.values_list("topic_id", "passage_id").iterator(chunk_size=10_000):
        passages[topic_id].append(passage_id)
    return passages


@read_once
def stamp_of(collection_id: int) -> int:
    """Return the stamp that every change of pools and runs moves."""
    for stamp in _stamp(collection_id):
        return stamp
    raise Collection.DoesNotExist


@compiled_once
def _stamp(collection: int) -> QuerySet[Collection, int]:
    return Collection.objects.filter(pk=collection).values_list("stamp", flat=True)


def _has_left_out(collection_id: int) -> bool:
    """Return whether some passages may not count, since only runs that are not accepted bring them."""
    return Run.objects.filter(collection=collection_id).not_accepted().exists()


@lru_cache(maxsize=CACHED_SIZES)
def _sizes(collection_id: int, stamp: int) -> dict[int, int]:
    if (kept := _kept(collection_id, stamp)) is not None:
        return {topic_id: passages for topic_id, passages, _ in kept}
    if _has_left_out(collection_id):
        pool = collection_pool(Collection.objects.get(pk=collection_id))
        return {topic.topic_id: len(topic.passage_pks) for topic in pool.topics}
    pooled = Pooled.objects.filter(topic__collection=collection_id).order_by().values("topic_id")
    counted = dict(pooled.annotate(n=Count("pk")).values_list("topic_id", "n"))
    topics = Topic.objects.filter(collection=collection_id).values_list("pk", flat=True)
    return {topic_id: counted.get(topic_id, 0) for topic_id in topics}


@lru_cache(maxsize=CACHED_SIZES)
def _chars(collection_id: int, stamp: int) -> dict[int, int]:
    if (kept := _kept(collection_id, stamp)) is not None:
        return {topic_id: chars for topic_id, _, chars in kept}
    if _has_left_out(collection_id):
        return chars_of(collection_pool(Collection.objects.get(pk=collection_id)))
    return pooled_chars(collection_id)


def _kept(collection_id: int, stamp: int) -> list[tuple[int, int, int]] | None:
    """Return (topic, passages, characters) as workers counted them for this stamp; None if they have not."""
    topics = Topic.objects.filter(collection=collection_id)
    current = topics.filter(pool_snapshot__number=stamp, pool_snapshot__chars__isnull=False)
    rows = list(current.values_list("pk", "pool_snapshot__passages", "pool_snapshot__chars"))
    return rows if len(rows) == topics.count() else None
