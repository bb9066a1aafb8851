"""The hot path: ratings as one int8 matrix per (topic, config), cached in the process by its stamp."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, groupby
from operator import attrgetter

import numpy as np
from django.db.models import Case, IntegerField, When
from django.db.models.functions import Coalesce

from grading.types import ANSWERED, FAILED, MISSING, GradeMatrix, Outcome
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades import snapshots, visibility
from rubricweb.grades.models import Grade, GraderConfig, MatrixStamp
from rubricweb.grades.snapshots import TopicRatings
from rubricweb.grades.stamped_cache import StampedCache
from rubricweb.grades.visibility import Hidden, Names

CACHED_MATRICES = 4_000
READ_AT_ONCE = 1_000_000
"""Grades, as rows: one query reads about so many."""
KEPT_AT_ONCE = 200_000
"""Grades that one call of `keep_snapshots` reads, so that it takes about a second."""

Key = tuple[int, int, int, int]
"""(config, topic, stamp of its grades, stamp of the collection)."""
Stamps = Mapping[int, tuple[int, int]]
"""By topic: the stamp of its grades, and how many they are."""
Loaded = Iterator[tuple[TopicPool, GradeMatrix]]
NO_RATINGS = snapshots.of_cells(np.zeros((0, 3), dtype=np.int64))


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
    by_topic = _all_matrices(config, pool)
    hidden = visibility.without_grades(pool.collection_id, pool.by_topic)
    return {pk: _shown(grades, hidden[pk]) for pk, grades in by_topic.items()}


def _all_matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    stamps = _stamps(config, pool)
    keys = {t.topic_id: _key(config, t.topic_id, stamps, pool.stamp) for t in pool.topics}
    by_topic = {topic_id: grades for topic_id, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [pool.by_topic[topic_id] for topic_id in keys if topic_id not in by_topic]
    for topic, matrix in _load(config, absent, stamps):
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


def _stamps(config: GraderConfig, pool: CollectionPool) -> Stamps:
    stamps = MatrixStamp.objects.filter(config=config, topic__collection=pool.collection_id)
    if len(pool.topics) == 1:
        stamps = stamps.filter(topic=pool.topics[0].topic_id)
    rows = stamps.values_list("topic_id", "number", "grades")
    return {topic_id: (number, grades) for topic_id, number, grades in rows}


def _key(config: GraderConfig, topic_id: int, stamps: Stamps, stamp: int) -> Key:
    number, _ = stamps.get(topic_id, (0, 0))
    return config.pk, topic_id, number, stamp


def _load(config: GraderConfig, topics: list[TopicPool], stamps: Stamps) -> Loaded:
    """Read the ratings of these topics from their snapshots, and the others from their rows; a topic without
    a stamp has none.
    """
    ids = sorted(topic.topic_id for topic in topics if topic.topic_id in stamps)
    known = dict(snapshots.read(config.pk, {pk: stamps[pk][0] for pk in ids}))
    for some in _groups({pk: stamps[pk][1] for pk in ids if pk not in known}):
        known |= from_rows(config, some)
    uids = dict(ItemRevision.including_secret.filter(topic__in=list(known)).values_list("pk", "uid"))
    for topic in topics:
        ratings = known.pop(topic.topic_id, NO_RATINGS)
        yield topic, _in_pool(topic, ratings, uids)


def _groups(grades: Mapping[int, int]) -> Iterator[list[int]]:
    """The topics in their order, some at a time: of so many grades that their rows take little memory."""
    before = accumulate(grades.values(), initial=0)
    pairs = zip(grades, before, strict=False)
    for _, group in groupby(pairs, key=lambda pair: pair[1] // READ_AT_ONCE):
        yield [topic_id for topic_id, _ in group]


def from_rows(config: GraderConfig, topic_ids: Sequence[int]) -> dict[int, TopicRatings]:
    """Return the ratings of these topics in one query. A grade without a rating is ANSWERED where it is an
    extracted answer, else FAILED.
    """
    if not topic_ids:
        return {}
    rising = sorted(topic_ids)
    whole = IntegerField()
    rated = Coalesce("rating", FAILED, output_field=whole)
    value = Case(When(outcome=Outcome.EXTRACTED, then=ANSWERED), default=rated, output_field=whole)
    rows = Grade.objects.by(config).for_topics(rising).annotate(value=value)
    fields = rows.values_list("topic_id", "revision_id", "passage_id", "value").iterator(chunk_size=10_000)
    cells = np.fromiter(chain.from_iterable(fields), dtype=np.int64).reshape(-1, 4)
    cells = cells[np.argsort(cells[:, 0], kind="stable")]
    parts = np.split(cells[:, 1:], np.searchsorted(cells[:, 0], rising[1:]))
    return {pk: snapshots.of_cells(part) for pk, part in zip(rising, parts, strict=True)}


def _in_pool(topic: TopicPool, known: TopicRatings, uids: Mapping[int, str]) -> GradeMatrix:
    """Passages outside the pool are left out, and items that have ratings of no other."""
    pool = np.array(topic.passage_pks, dtype=np.int64)
    if len(known.passages):
        places = np.minimum(np.searchsorted(known.passages, pool), len(known.passages) - 1)
        is_known = (known.passages[places] == pool)[:, np.newaxis]
        ratings = np.where(is_known, known.ratings[places], np.int8(MISSING))
    else:
        ratings = np.full((len(pool), len(known.revisions)), MISSING, dtype=np.int8)
    revisions = known.revisions.tolist()
    is_rated = (ratings != MISSING).any(axis=0).tolist()
    columns = [place for place, pk in enumerate(revisions) if is_rated[place] and pk in uids]
    items = tuple(uids[revisions[place]] for place in columns)
    if len(columns) < len(revisions):
        ratings = ratings[:, columns]
    return GradeMatrix(topic.query_id, topic.doc_ids, items, ratings)


_seen_out_of_date: dict[int, int] = {}
"""Numbers of stamps, as `keep_snapshots` found them the last time."""


def keep_snapshots() -> None:
    """Write snapshots of ratings that nobody has changed since the last call, at most of KEPT_AT_ONCE grades.

    A duty of workers: a web request only reads, and while a job grades its topics change with every batch.
    """
    stamps = snapshots.out_of_date()
    quiet = [stamp for stamp in stamps if _seen_out_of_date.get(stamp.pk) == stamp.number]
    _seen_out_of_date.clear()
    _seen_out_of_date.update((stamp.pk, stamp.number) for stamp in stamps)
    before = accumulate((stamp.grades for stamp in quiet), initial=0)
    taken = [stamp for stamp, grades in zip(quiet, before, strict=False) if grades < KEPT_AT_ONCE]
    for config, of_config in groupby(taken, key=attrgetter("config")):
        numbers = {stamp.topic_id: stamp.number for stamp in of_config}
        known = from_rows(config, list(numbers))
        snapshots.keep(config.pk, ((pk, numbers[pk], ratings) for pk, ratings in known.items()))
