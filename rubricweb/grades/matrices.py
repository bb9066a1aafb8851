"""The hot path: ratings as one int8 matrix per (topic, config), cached in the process by its stamp."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from grading.types import FAILED, MISSING, GradeMatrix, Outcome
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades import visibility
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.stamped_cache import StampedCache
from rubricweb.grades.visibility import Hidden, Names

CACHED_MATRICES = 4_000

Key = tuple[int, int, int, int]
"""(config, topic, stamp of its grades, stamp of the collection)."""
Cells = NDArray[np.int64]
"""Shape (cells, 3): revision, passage, rating."""


@dataclass(frozen=True, eq=False)
class TopicGrades:
    """One topic's pool with every rating of one config, of items of any bank. A cache key by identity."""

    pool: TopicPool
    matrix: GradeMatrix


_cache: StampedCache[Key, TopicGrades] = StampedCache(CACHED_MATRICES)


def matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    """By topic id, for every topic of the pool; a topic without grades has a matrix without columns.

    Cells hidden from the reader are MISSING.
    """
    by_topic, hidden = _all_matrices(config, pool), visibility.hidden_cells(pool.collection_id)
    return {pk: _shown(grades, hidden[pk]) for pk, grades in by_topic.items()}


def _all_matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    keys = _keys(config, pool)
    by_topic = {topic_id: grades for topic_id, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [pool.by_topic[topic_id] for topic_id in keys if topic_id not in by_topic]
    for topic, matrix in _load(config, absent):
        by_topic[topic.topic_id] = _cache.keep(keys[topic.topic_id], TopicGrades(topic, matrix))
    return by_topic


def _shown(grades: TopicGrades, hidden: Hidden) -> TopicGrades:
    return without(grades, hidden.named(hidden.graders)) if hidden.graders else grades


@lru_cache(maxsize=CACHED_MATRICES)
def without(grades: TopicGrades, cells: Names) -> TopicGrades:
    """A copy with these cells MISSING. Readers from whom cells are hidden have caches of their own."""
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
    """Read the ratings of these topics in one query; extracted answers have none. A grade without a rating is
    FAILED.
    """
    if not topics:
        return []
    ids = sorted(topic.topic_id for topic in topics)
    rows = Grade.objects.by(config).for_topics(ids).exclude(outcome=Outcome.EXTRACTED)
    fields = rows.values_list("topic_id", "revision_id", "passage_id", "rating").iterator(chunk_size=10_000)
    values = (FAILED if value is None else value for value in chain.from_iterable(fields))
    cells = np.fromiter(values, dtype=np.int64).reshape(-1, 4)
    cells = cells[np.argsort(cells[:, 0], kind="stable")]
    parts = np.split(cells[:, 1:], np.searchsorted(cells[:, 0], ids[1:]))
    of_topic = dict(zip(ids, parts, strict=True))
    uids = dict(ItemRevision.including_secret.filter(topic__in=ids).values_list("pk", "uid"))
    return [(topic, _filled(topic, of_topic[topic.topic_id], uids)) for topic in topics]


def _filled(topic: TopicPool, cells: Cells, uids: dict[int, str]) -> GradeMatrix:
    """Items in their order in `cells`; passages outside the pool are left out."""
    row_of = {pk: row for row, pk in enumerate(topic.passage_pks)}
    rows = np.array([row_of.get(pk, -1) for pk in cells[:, 1].tolist()], dtype=np.intp)
    rows, cells = rows[rows >= 0], cells[rows >= 0]
    revisions = list(dict.fromkeys(cells[:, 0].tolist()))
    column_of = {pk: column for column, pk in enumerate(revisions)}
    columns = np.array([column_of[pk] for pk in cells[:, 0].tolist()], dtype=np.intp)
    ratings = np.full((len(topic.doc_ids), len(revisions)), MISSING, dtype=np.int8)
    ratings[rows, columns] = cells[:, 2]
    return GradeMatrix(topic.query_id, topic.doc_ids, tuple(uids[pk] for pk in revisions), ratings)
