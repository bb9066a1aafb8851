"""Pools, rankings and judgments of topics as arrays, packed in the database."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from grading.types import TrecEval
from rubricweb.core import packed
from rubricweb.corpus.derived_models import PoolSnapshot

logger = logging.getLogger(__name__)

Ranked = Sequence[Sequence[str] | None]
"""By run: doc ids, best first; None where the run lacks the topic."""
RunScores = Sequence[Sequence[float] | None]

CACHED_TOPICS = 20_000
"""Topics of which a process keeps ratings, scores and orders: two collections of 10,000 topics."""
READ_AT_ONCE = 100
WRITTEN_AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class TopicRankings:
    """Rankings of one topic by each run. Texts and numbers for each rank would take ten times the memory."""

    rows: NDArray[np.int32]
    """Shape (runs, depth): rows of the pool, from its size on places in `outside`; -1 after the end."""
    outside: tuple[str, ...]
    """Doc ids that runs rank and the pool lacks."""
    lengths: NDArray[np.int32]
    """Shape (runs,): how many passages the run ranks; -1 where it lacks the topic."""
    scores: NDArray[np.float64]
    """Shape (runs, depth); NaN after the end."""


def rankings_of(doc_ids: Sequence[str], ranked: Ranked, scores: RunScores) -> TopicRankings:
    """Return the rankings of a topic whose pool is `doc_ids`; both others are by run."""
    row_of = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    outside = dict.fromkeys(doc_id for ids in ranked for doc_id in ids or () if doc_id not in row_of)
    row_of |= {doc_id: row for row, doc_id in enumerate(outside, start=len(doc_ids))}
    lengths = np.array([-1 if ids is None else len(ids) for ids in ranked], dtype=np.int32)
    shape = len(ranked), int(lengths.max(initial=0))
    rows, values = np.full(shape, -1, dtype=np.int32), np.full(shape, np.nan)
    for run, (ids, numbers) in enumerate(zip(ranked, scores, strict=True)):
        rows[run, : len(ids or ())] = [row_of[doc_id] for doc_id in ids or ()]
        values[run, : len(ids or ())] = numbers or np.nan
    return TopicRankings(rows, tuple(outside), lengths, values)


@dataclass(frozen=True, eq=False)
class TopicJudgments:
    """Judgments of one topic."""

    rows: NDArray[np.int32]
    """Shape (judged,): rows as in `TopicRankings`, and from its last one on places in `unranked`."""
    labels: NDArray[np.int32]
    """Shape (judged,): the highest judgment of each."""
    unranked: tuple[str, ...]
    """Doc ids that are judged, and neither in the pool nor ranked."""


def judgments_of(known_ids: Sequence[str], judgments: Mapping[str, int]) -> TopicJudgments:
    """Return the judgments, by doc id, of a topic whose pool and rankings have the doc ids `known_ids`."""
    row_of = {doc_id: row for row, doc_id in enumerate(known_ids)}
    unranked = [doc_id for doc_id in judgments if doc_id not in row_of]
    row_of |= {doc_id: row for row, doc_id in enumerate(unranked, start=len(known_ids))}
    rows = np.array([row_of[doc_id] for doc_id in judgments], dtype=np.int32)
    return TopicJudgments(rows, np.array(list(judgments.values()), dtype=np.int32), tuple(unranked))


NO_JUDGMENTS = judgments_of((), {})


@dataclass(frozen=True, eq=False)
class TopicPool:
    """One topic: its pool in the collection's order, each run's ranking, and the judgments."""

    topic_id: int
    query_id: str
    passage_pks: tuple[int, ...]
    doc_ids: tuple[str, ...]
    rankings: TopicRankings
    judged: TopicJudgments = NO_JUDGMENTS

    @cached_property
    def judgments(self) -> Mapping[str, int]:
        """Return the highest judgment of each doc id."""
        ids = self.known_ids + self.judged.unranked
        pairs = zip(self.judged.rows.tolist(), self.judged.labels.tolist(), strict=True)
        return {ids[row]: label for row, label in pairs}

    def judgments_by_row(self, unjudged: int) -> NDArray[np.int32]:
        """Return the judgment of each of `known_ids` or `unjudged`, shape (doc ids,)."""
        labels = np.full(len(self.known_ids), unjudged, dtype=np.int32)
        is_known = self.judged.rows < len(labels)
        labels[self.judged.rows[is_known]] = self.judged.labels[is_known]
        return labels

    @cached_property
    def row_of(self) -> dict[str, int]:
        return {doc_id: row for row, doc_id in enumerate(self.doc_ids)}

    @property
    def n_runs(self) -> int:
        return len(self.rankings.lengths)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Return how many passages each run ranks, shape (runs,); 0 where it lacks the topic."""
        return np.maximum(self.rankings.lengths, 0)

    @cached_property
    def ranked_rows(self) -> NDArray[np.int32]:
        """Return rows of the pool by rank, shape (runs, depth); -1 for one outside it and after the end."""
        rows = self.rankings.rows
        return np.where(rows < len(self.doc_ids), rows, np.int32(-1)) if self.rankings.outside else rows

    def top(self, k: int) -> NDArray[np.bool_]:
        """Return whether each passage is among each run's first k, shape (runs, passages)."""
        rows = self.ranked_rows[:, :k]
        mask = np.zeros((len(rows), len(self.doc_ids) + 1), dtype=np.bool_)
        mask[np.arange(len(rows))[:, np.newaxis], rows] = True  # row -1 sets the spare last column
        return mask[:, :-1]

    @property
    def known_ids(self) -> tuple[str, ...]:
        """Return the doc ids that the rows of `rankings` stand for."""
        return self.doc_ids + self.rankings.outside

    def ranked_by(self, run: int) -> tuple[str, ...]:
        """Return the doc ids that the run ranks, best first; none where it lacks the topic."""
        ids, n = self.known_ids, int(self.lengths[run])
        return tuple(ids[row] for row in self.rankings.rows[run, :n].tolist())

    def keeping(self, in_pool: NDArray[np.intp], runs: NDArray[np.intp] | None = None) -> TopicPool:
        """Return the topic with the pooled passages in these rows, and the runs in these places or all.

        A passage that leaves the pool stays in rankings, as one outside; judgments stay, too.
        """
        n_known, chosen = len(self.known_ids), self.rankings.rows
        lengths, scores = self.rankings.lengths, self.rankings.scores
        if runs is not None:
            chosen, lengths, scores = chosen[runs], lengths[runs], scores[runs]
        depth = int(lengths.max(initial=0))
        is_ranked = np.zeros(n_known, dtype=np.bool_)
        is_ranked[chosen[chosen >= 0]] = True
        is_ranked[in_pool] = False
        outside = np.flatnonzero(is_ranked)
        kept = len(in_pool) + len(outside)
        moved = np.full(n_known + 1, -1, dtype=np.int32)  # the last one stays -1, the row after the end
        moved[in_pool] = np.arange(len(in_pool), dtype=np.int32)
        moved[outside] = np.arange(len(in_pool), kept, dtype=np.int32)
        ids, judged = self.known_ids + self.judged.unranked, self.judged.rows
        rows = np.where(judged < n_known, moved[np.minimum(judged, n_known)], np.int32(-1))
        is_unranked = rows < 0
        unranked = tuple(ids[row] for row in judged[is_unranked])
        rows[is_unranked] = np.arange(kept, kept + len(unranked), dtype=np.int32)
        return replace(
            self,
            passage_pks=tuple(self.passage_pks[row] for row in in_pool),
            doc_ids=tuple(self.doc_ids[row] for row in in_pool),
            rankings=TopicRankings(
                moved[chosen[:, :depth]],
                tuple(self.known_ids[row] for row in outside),
                lengths,
                scores[:, :depth],
            ),
            judged=TopicJudgments(rows, self.judged.labels, unranked),
        )

    @property
    def ranked(self) -> tuple[tuple[str, ...] | None, ...]:
        """Return the doc ids that each run ranks, best first; None where the run lacks the topic."""
        lengths = enumerate(self.rankings.lengths.tolist())
        return tuple(None if length < 0 else self.ranked_by(run) for run, length in lengths)

    @property
    def scores(self) -> tuple[tuple[float, ...] | None, ...]:
        """Return scores of `ranked`, by run."""
        lists = zip(self.rankings.scores, self.rankings.lengths.tolist(), strict=True)
        return tuple(None if length < 0 else tuple(values[:length].tolist()) for values, length in lists)


@dataclass(frozen=True, eq=False)
class CollectionPool:
    """All topics of a collection with all accepted runs, in the order of `run_tags`."""

    collection_id: int
    stamp: int
    run_tags: tuple[str, ...]
    run_pks: tuple[int, ...]
    topics: tuple[TopicPool, ...]
    left_out: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """Pooled passages that do not count, since only runs that are not accepted bring them, by topic."""

    @cached_property
    def by_topic(self) -> dict[int, TopicPool]:
        return {topic.topic_id: topic for topic in self.topics}

    def is_left_out(self, topic_id: int, passage_pk: int) -> bool:
        return passage_pk in self.left_out.get(topic_id, ())

    def ranked_by(self, run_tags: Iterable[str]) -> dict[int, frozenset[int]]:
        """Return the pooled passages that any of these runs ranks, by topic id."""
        runs = [self.run_tags.index(tag) for tag in run_tags]
        rows = ((topic, np.unique(topic.ranked_rows[runs]).tolist()) for topic in self.topics)
        return {
            topic.topic_id: frozenset(topic.passage_pks[row] for row in places if row >= 0)
            for topic, places in rows
        }

    def only(self, topic_id: int) -> CollectionPool:
        """Return the same collection with one topic."""
        return replace(self, topics=(self.by_topic[topic_id],))


def restamped(stamp: int, *kept: object) -> int:
    """Return the stamp of a part of a pool, under which matrices of the same grades are cached apart."""
    return int.from_bytes(hashlib.blake2b(repr((stamp, kept)).encode(), digest_size=8).digest())


Topics = Sequence[tuple[TopicPool, frozenset[int]]]
"""Topics, each with its pooled passages that do not count."""


def read(stamp: int, run_pks: Sequence[int], topics: Collection[tuple[int, str]]) -> Topics | None:
    """Return the pools of these topics, (id, query id), in their order; None unless all are known."""
    names, pools = dict(topics), {}
    rows = PoolSnapshot.objects.filter(topic__in=names, number=stamp)
    for topic_id, content in rows.values_list("topic_id", "content").iterator(chunk_size=READ_AT_ONCE):
        try:
            arrays = packed.unpack(_key(topic_id, stamp), content)
            if arrays["runs"].tolist() != list(run_pks):
                raise packed.Damaged(f"the runs of topic {topic_id}")
            outside, unranked = packed.texts(arrays["outside"]), packed.texts(arrays["unranked"])
            topic = TopicPool(
                topic_id=topic_id,
                query_id=names[topic_id],
                passage_pks=tuple(arrays["passages"].tolist()),
                doc_ids=packed.texts(arrays["doc_ids"]),
                rankings=TopicRankings(arrays["rows"], outside, arrays["lengths"], arrays["scores"]),
                judged=TopicJudgments(arrays["judged"], arrays["judgments"], unranked),
            )
            pools[topic_id] = topic, frozenset(arrays["left_out"].tolist())
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


Scores = NDArray[np.float64]


@lru_cache(maxsize=CACHED_TOPICS)
def trec_rows(topic: TopicPool, version: TrecEval) -> NDArray[np.int32]:
    """Return `ranked_rows` in trec_eval's order."""
    places = trec_places(topic, version)
    return topic.ranked_rows if places is None else np.take_along_axis(topic.ranked_rows, places, axis=1)


@lru_cache(maxsize=CACHED_TOPICS)
def ordered_otherwise(topic: TopicPool) -> NDArray[np.bool_]:
    """Return whether trec_eval 9 and 10 order each run's passages differently, shape (runs,)."""
    scores = np.sort(topic.rankings.scores, axis=1)
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    is_close = (single[:, 1:] == single[:, :-1]) & (scores[:, 1:] != scores[:, :-1])
    if not is_close.any():
        return np.asarray(is_close.any(axis=1))
    usual = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    orders = (trec_places(topic, version) for version in TrecEval)
    nine, ten = (usual if places is None else places for places in orders)
    return np.asarray((nine != ten).any(axis=1))


@lru_cache(maxsize=CACHED_TOPICS)
def trec_places(topic: TopicPool, version: TrecEval) -> NDArray[np.intp] | None:
    """Return the places of each run's passages by score, then id, both descending.

    Scores are in single precision for trec_eval 9. Shape (runs, depth); None where all runs have their
    passages in that order already.
    """
    with np.errstate(over="ignore"):
        values: Scores = topic.rankings.scores
        if version is TrecEval.NINE:
            values = values.astype(np.float32).astype(np.float64)
    runs = np.flatnonzero((values[:, 1:] >= values[:, :-1]).any(axis=1))
    if not len(runs):
        return None
    known_ids = topic.known_ids
    of_id = np.empty(len(known_ids) + 1, dtype=np.int64)
    of_id[sorted(range(len(known_ids)), key=known_ids.__getitem__)] = np.arange(len(known_ids))
    of_id[-1] = -1  # after the end
    places = np.broadcast_to(np.arange(values.shape[1]), values.shape).copy()
    scores = np.where(np.isnan(values[runs]), -np.inf, values[runs])
    places[runs] = np.lexsort((-of_id[topic.rankings.rows[runs]], -scores), axis=1)
    return places
