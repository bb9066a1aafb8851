"""How large the pools of a collection are, and the keys of single ones: without a text, and without rankings.

What reads a `CollectionPool` needs memory for every passage of the collection; jobs need numbers first, and
then a few topics at a time. Workers count when they keep snapshots of the pools; until then the rows are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from django.db.models import Count

from rubricweb.corpus.models import Collection, Pooled, Run, Topic
from rubricweb.corpus.pools import chars_of, collection_pool, pooled_chars

CACHED_COLLECTIONS = 8


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


def stamp_of(collection_id: int) -> int:
    """Return the stamp that every change of pools and runs moves."""
    return int(Collection.objects.values_list("stamp", flat=True).get(pk=collection_id))


def _has_left_out(collection_id: int) -> bool:
    """Whether some passages may not count, since only runs that are not accepted bring them."""
    return Run.objects.filter(collection=collection_id).not_accepted().exists()


@lru_cache(maxsize=CACHED_COLLECTIONS)
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


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _chars(collection_id: int, stamp: int) -> dict[int, int]:
    if (kept := _kept(collection_id, stamp)) is not None:
        return {topic_id: chars for topic_id, _, chars in kept}
    if _has_left_out(collection_id):
        return chars_of(collection_pool(Collection.objects.get(pk=collection_id)))
    return pooled_chars(collection_id)


def _kept(collection_id: int, stamp: int) -> list[tuple[int, int, int]] | None:
    """(topic, passages, characters) as workers counted them for the snapshots of this stamp, if they did."""
    topics = Topic.objects.filter(collection=collection_id)
    current = topics.filter(pool_snapshot__number=stamp, pool_snapshot__chars__isnull=False)
    rows = list(current.values_list("pk", "pool_snapshot__passages", "pool_snapshot__chars"))
    return rows if len(rows) == topics.count() else None
