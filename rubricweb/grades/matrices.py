"""The hot path: ratings as one int8 matrix a (topic, config), cached in the process, keyed by its stamp."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from grading.types import FAILED, MISSING, GradeMatrix, Outcome
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.stamped import StampedCache
from rubricweb.grades.visibility import Hidden, Names

CACHED_MATRICES = 4_000

Key = tuple[int, int, int, int]
"""(config, topic, stamp of its grades, stamp of the collection)."""
Cell = tuple[int, int, int | None, str]
"""(revision, passage, rating, outcome)."""


@dataclass(frozen=True, eq=False)
class TopicGrades:
    """One topic's pool with every rating of one config, whichever bank asks. A cache key by identity."""

    pool: TopicPool
    matrix: GradeMatrix


_cache: StampedCache[Key, TopicGrades] = StampedCache(CACHED_MATRICES)


def matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    """By topic id, for every topic of the pool; a topic without grades has a matrix without columns.

    What is hidden from whoever reads now is MISSING.
    """
    found, hidden = _all_matrices(config, pool), visibility.hidden_cells(pool.collection_id)
    return {pk: _shown(grades, hidden[pk]) for pk, grades in found.items()}


def _all_matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    keys = _keys(config, pool)
    found = {topic_id: grades for topic_id, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [pool.by_topic[topic_id] for topic_id in keys if topic_id not in found]
    for topic, matrix in _load(config, absent):
        found[topic.topic_id] = _cache.keep(keys[topic.topic_id], TopicGrades(topic, matrix))
    return found


def _shown(grades: TopicGrades, hidden: Hidden) -> TopicGrades:
    return without(grades, hidden.named(hidden.graders)) if hidden.graders else grades


@lru_cache(maxsize=CACHED_MATRICES)
def without(grades: TopicGrades, cells: Names) -> TopicGrades:
    """The same with these cells MISSING. Who sees less has matrices, and caches of scores, of their own."""
    matrix = grades.matrix
    hidden = visibility.mask_of(grades.pool, matrix.item_ids, cells)
    ratings = np.where(hidden, MISSING, matrix.ratings).astype(np.int8)
    return TopicGrades(grades.pool, replace(matrix, ratings=ratings))


def topic_grades(config: GraderConfig, pool: CollectionPool, topic_id: int) -> TopicGrades:
    """One topic of `matrices`."""
    return matrices(config, pool.only(topic_id))[topic_id]


def _keys(config: GraderConfig, pool: CollectionPool) -> dict[int, Key]:
    stamps = MatrixStamp.objects.filter(config=config, topic__collection=pool.collection_id)
    if len(pool.topics) == 1:
        stamps = stamps.filter(topic=pool.topics[0].topic_id)
    number = dict(stamps.values_list("topic_id", "number"))
    return {t.topic_id: (config.pk, t.topic_id, number.get(t.topic_id, 0), pool.stamp) for t in pool.topics}


def _load(config: GraderConfig, topics: list[TopicPool]) -> list[tuple[TopicPool, GradeMatrix]]:
    """Read the ratings of these topics in one query; extracted answers have none and are not read."""
    if not topics:
        return []
    cells: dict[int, list[Cell]] = {topic.topic_id: [] for topic in topics}
    rows = Grade.objects.by(config).for_topics(cells).exclude(outcome=Outcome.EXTRACTED)
    fields = rows.values_list("topic_id", "revision_id", "passage_id", "rating", "outcome")
    for topic_id, revision, passage, rating, outcome in fields.iterator(chunk_size=10_000):
        cells[topic_id].append((revision, passage, rating, outcome))
    uids = dict(ItemRevision.objects.filter(topic__in=list(cells)).values_list("pk", "uid"))
    return [(topic, _fill(topic, cells[topic.topic_id], uids)) for topic in topics]


def _fill(topic: TopicPool, cells: Iterable[Cell], uids: dict[int, str]) -> GradeMatrix:
    row_of = {pk: row for row, pk in enumerate(topic.passage_pks)}
    pooled = [cell for cell in cells if cell[1] in row_of]
    revisions = list(dict.fromkeys(cell[0] for cell in pooled))
    column_of = {pk: column for column, pk in enumerate(revisions)}
    ratings = np.full((len(topic.doc_ids), len(revisions)), MISSING, dtype=np.int8)
    for revision, passage, rating, outcome in pooled:
        kept = FAILED if rating is None or outcome == Outcome.FAILED else rating
        ratings[row_of[passage], column_of[revision]] = kept
    return GradeMatrix(topic.query_id, topic.doc_ids, tuple(uids[pk] for pk in revisions), ratings)
