"""Pools, rankings and judgments of a collection as arrays, cached until an import or the state of a run
moves the stamp.

Runs that are not accepted are in none of them, nor are the passages that only they bring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from sys import intern

import numpy as np
from numpy.typing import NDArray

from rubricweb.corpus.models import Collection, Judgment, Pooled, Ranking
from rubricweb.corpus.pseudonyms import shown_names

CACHED_COLLECTIONS = 8
READ_AT_ONCE = 20
"""Rankings; each may have a thousand ranks."""

Rankings = dict[tuple[int, int], tuple[tuple[str, ...], tuple[float, ...]]]
"""(run, topic) -> doc ids, best first, and their scores."""


@dataclass(frozen=True, eq=False)
class TopicPool:
    """One topic: its pool in the collection's order, each run's ranking, and the judgments."""

    topic_id: int
    query_id: str
    passage_pks: tuple[int, ...]
    doc_ids: tuple[str, ...]
    ranked: tuple[tuple[str, ...] | None, ...]
    """By run: doc ids, best first; None where the run lacks the topic."""
    scores: tuple[tuple[float, ...] | None, ...]
    judgments: dict[str, int]
    """By doc id: the highest judgment."""

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {doc_id: row for row, doc_id in enumerate(self.doc_ids)}

    @cached_property
    def ranked_rows(self) -> NDArray[np.int32]:
        """Shape (runs, depth): rows of the pool; -1 for a passage outside it and after the end."""
        depth = max((len(ids) for ids in self.ranked if ids), default=0)
        rows = np.full((len(self.ranked), depth), -1, dtype=np.int32)
        for run, doc_ids in enumerate(self.ranked):
            if doc_ids:
                rows[run, : len(doc_ids)] = [self.row_of.get(doc_id, -1) for doc_id in doc_ids]
        return rows

    def top(self, k: int) -> NDArray[np.bool_]:
        """Shape (runs, passages): whether the passage is among the run's first k."""
        rows = self.ranked_rows[:, :k]
        mask = np.zeros((len(rows), len(self.doc_ids) + 1), dtype=np.bool_)
        mask[np.arange(len(rows))[:, np.newaxis], rows] = True  # row -1 sets the spare last column
        return mask[:, :-1]

    @cached_property
    def scored(self) -> tuple[dict[str, float] | None, ...]:
        """By run: doc id -> score, as trec_eval takes it."""
        pairs = zip(self.ranked, self.scores, strict=True)
        return tuple(dict(zip(ids, values, strict=True)) if ids and values else None for ids, values in pairs)


@dataclass(frozen=True, eq=False)
class CollectionPool:
    """All topics of a collection with all accepted runs, in the order of `run_tags`."""

    collection_id: int
    stamp: int
    run_tags: tuple[str, ...]
    run_pks: tuple[int, ...]
    topics: tuple[TopicPool, ...]
    left_out: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By topic: pooled passages that do not count, since only runs that are not accepted bring them."""

    @cached_property
    def by_topic(self) -> dict[int, TopicPool]:
        return {topic.topic_id: topic for topic in self.topics}

    def is_left_out(self, topic_id: int, passage_pk: int) -> bool:
        return passage_pk in self.left_out.get(topic_id, ())

    def only(self, topic_id: int) -> CollectionPool:
        """Return the same collection with one topic."""
        return replace(self, topics=(self.by_topic[topic_id],))


def collection_pool(collection: Collection) -> CollectionPool:
    """Runs have the names that the reader may see."""
    pool = _load(collection.pk, Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk))
    names = shown_names(collection.pk, pool.run_tags)
    return pool if names is pool.run_tags else replace(pool, run_tags=names)


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _load(collection_id: int, stamp: int) -> CollectionPool:
    collection = Collection.objects.get(pk=collection_id)
    runs = list(collection.runs.accepted().values_list("pk", "run_tag"))
    pools = _pooled(collection_id)
    everything = _rankings(collection_id)
    accepted = {pk for pk, _ in runs}
    rankings = {place: ranks for place, ranks in everything.items() if place[0] in accepted}
    judgments = _judgments(collection_id)
    left_out = _left_out(everything, rankings, judgments)
    topics, uncounted = [], {}
    for topic_id, query_id in collection.topics.values_list("pk", "query_id"):
        away = left_out.get(topic_id, ())
        pooled = pools.get(topic_id, [])
        passages = [(pk, doc_id) for pk, doc_id in pooled if doc_id not in away]
        if away:
            uncounted[topic_id] = frozenset(pk for pk, doc_id in pooled if doc_id in away)
        lists = [rankings.get((run_id, topic_id), (None, None)) for run_id, _ in runs]
        topics.append(
            TopicPool(
                topic_id=topic_id,
                query_id=query_id,
                passage_pks=tuple(pk for pk, _ in passages),
                doc_ids=tuple(doc_id for _, doc_id in passages),
                ranked=tuple(doc_ids for doc_ids, _ in lists),
                scores=tuple(scores for _, scores in lists),
                judgments=judgments.get(topic_id, {}),
            )
        )
    tags, pks = tuple(tag for _, tag in runs), tuple(pk for pk, _ in runs)
    return CollectionPool(collection_id, stamp, tags, pks, tuple(topics), uncounted)


def _pooled(collection_id: int) -> dict[int, list[tuple[int, str]]]:
    pools: dict[int, list[tuple[int, str]]] = {}
    rows = Pooled.objects.filter(topic__collection_id=collection_id).order_by("topic_id", "position")
    for topic_id, passage_id, doc_id in rows.values_list("topic_id", "passage_id", "passage__doc_id"):
        pools.setdefault(topic_id, []).append((passage_id, doc_id))
    return pools


def _rankings(collection_id: int) -> Rankings:
    """Each doc id is one text, however many runs rank it, so few rows as read are held at a time."""
    rows = Ranking.objects.filter(topic__collection_id=collection_id)
    fields = rows.values_list("run_id", "topic_id", "doc_ids", "scores").iterator(chunk_size=READ_AT_ONCE)
    return {
        (run_id, topic_id): (tuple(map(intern, doc_ids)), tuple(scores))
        for run_id, topic_id, doc_ids, scores in fields
    }


def _left_out(
    rankings: Rankings, counted: Rankings, judgments: dict[int, dict[str, int]]
) -> dict[int, set[str]]:
    """By topic: doc ids that some run ranks, but none that counts, and that nobody judged."""
    ranked: dict[int, set[str]] = {}
    for place in rankings.keys() - counted.keys():
        ranked.setdefault(place[1], set()).update(rankings[place][0])
    if ranked:
        for (_, topic_id), (doc_ids, _) in counted.items():
            ranked.get(topic_id, set()).difference_update(doc_ids)
    return {topic_id: doc_ids - judgments.get(topic_id, {}).keys() for topic_id, doc_ids in ranked.items()}


def _judgments(collection_id: int) -> dict[int, dict[str, int]]:
    judged: dict[int, dict[str, int]] = {}
    rows = Judgment.objects.filter(topic__collection_id=collection_id)
    for topic_id, doc_id, relevance in rows.values_list("topic_id", "doc_id", "relevance"):
        labels = judged.setdefault(topic_id, {})
        labels[doc_id] = max(relevance, labels.get(doc_id, relevance))
    return judged
