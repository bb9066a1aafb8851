"""The hot path: ratings as one int8 matrix per (topic, config), cached in the process by its stamp.

A snapshot is the ratings of (config, topic) as packed arrays, beside the stamp that says whether they are
still true. Workers make snapshots once nobody writes (`keep_snapshots`). Readers take one only where it has
the present stamp and is whole; else the rows of grades are read, which alone are the truth.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, groupby
from operator import attrgetter
from threading import Lock
from typing import Generic, TypeVar

import numpy as np
from django.db import transaction
from django.db.models import Case, Exists, IntegerField, OuterRef, QuerySet, When
from django.db.models.functions import Coalesce
from numpy.typing import NDArray

from grading.types import ANSWERED, FAILED, MISSING, GradeMatrix, Outcome, Ratings
from rubricweb.banks.models import ItemRevision
from rubricweb.core import database, packed
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.grades import cold, visibility
from rubricweb.grades.models import Grade, GraderConfig, MatrixSnapshot, MatrixStamp

CacheKey = TypeVar("CacheKey")
Value = TypeVar("Value")
logger = logging.getLogger(__name__)
SNAPSHOTS_AT_ONCE = 100
WRITTEN_AT_ONCE = 200
LAYOUT = 2
"""Version added to a stamp's number. Raising it outdates all earlier snapshots, also those of workers that
still run the version before: at 0 some held the ratings of other topics, at 1 extracted answers were
absent.
"""
READ_AT_ONCE = 1_000_000
"""Approximate number of grades that one query reads as rows."""
KEPT_AT_ONCE = 200_000
"""Grades that one call of `keep_snapshots` reads, so that it takes about a second."""
Key = tuple[int, int, int, int]
"""Config, topic, stamp of its grades, and stamp of the collection."""
Stamps = Mapping[int, tuple[int, int]]
"""Stamp and number of grades, by topic."""
Loaded = Iterator[tuple[TopicPool, GradeMatrix]]
_seen_out_of_date: dict[int, int] = {}
"""Numbers of outdated stamps at the last call of `keep_snapshots`."""


class StampedCache(Generic[CacheKey, Value]):
    """A cache of the `size` values used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[CacheKey, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: CacheKey) -> Value | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def keep(self, key: CacheKey, value: Value) -> Value:
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


@dataclass(frozen=True, slots=True)
class TopicRatings:
    """Every rating of one config in one topic, whatever its pool is now."""

    revisions: NDArray[np.int64]
    """Primary keys, shape (items,)."""
    passages: NDArray[np.int64]
    """Primary keys in rising order, shape (passages,)."""
    ratings: Ratings
    """Ratings, shape (passages, items)."""


def of_cells(cells: NDArray[np.int64]) -> TopicRatings:
    """Return the ratings of cells, of shape (cells, 3): revision, passage, rating. Items keep their order."""
    passages, rows = np.unique(cells[:, 1], return_inverse=True)
    revisions, first, columns = np.unique(cells[:, 0], return_index=True, return_inverse=True)
    ratings = np.full((len(passages), len(revisions)), MISSING, dtype=np.int8)
    ratings[rows, columns] = cells[:, 2]
    order = np.argsort(first)
    return TopicRatings(revisions[order], passages, ratings[:, order])


def read_snapshots(config_id: int, numbers: Mapping[int, int]) -> Iterator[tuple[int, TopicRatings]]:
    """Yield (topic, ratings) of topics whose snapshot is whole and has the given number."""
    rows = MatrixSnapshot.objects.filter(config=config_id, topic__in=list(numbers))
    fields = rows.values_list("topic_id", "number", "content").iterator(chunk_size=SNAPSHOTS_AT_ONCE)
    for topic_id, number, content in fields:
        if number != numbers[topic_id] + LAYOUT:
            continue
        try:
            yield topic_id, TopicRatings(**packed.unpack(_snapshot_key(config_id, topic_id, number), content))
        except packed.Damaged:
            logger.warning("the snapshot of config %d, topic %d is damaged", config_id, topic_id)


def write_snapshots(config_id: int, ratings: Iterable[tuple[int, int, TopicRatings]]) -> None:
    """Write snapshots (topic, number, ratings), each number read before the rows."""
    rows = [
        MatrixSnapshot(
            config_id=config_id,
            topic_id=topic_id,
            number=number + LAYOUT,
            content=packed.pack(
                _snapshot_key(config_id, topic_id, number + LAYOUT),
                {"revisions": of_topic.revisions, "passages": of_topic.passages, "ratings": of_topic.ratings},
            ),
        )
        for topic_id, number, of_topic in ratings
    ]
    with transaction.atomic():
        MatrixSnapshot.objects.bulk_create(
            rows,
            WRITTEN_AT_ONCE,
            update_conflicts=True,
            unique_fields=["config", "topic"],
            update_fields=["number", "content"],
        )


def out_of_date(**of: object) -> list[MatrixStamp]:
    """Return the stamps of (config, topic) without a snapshot of their present state, by config."""
    same = {"config": OuterRef("config"), "topic": OuterRef("topic"), "number": OuterRef("number") + LAYOUT}
    present = MatrixStamp.objects.filter(
        topic__collection__is_being_deleted=False, topic__collection__is_gone=False
    )
    stamps = present.filter(**of).exclude(Exists(MatrixSnapshot.objects.filter(**same)))
    return list(stamps.select_related("config").order_by("config_id", "topic_id"))


def _snapshot_key(config_id: int, topic_id: int, number: int) -> str:
    return f"ratings of config {config_id}, topic {topic_id} at {number}"


NO_RATINGS = of_cells(np.zeros((0, 3), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class TopicGrades:
    """One topic's pool with every rating of one config, of items of any bank. A cache key by identity."""

    pool: TopicPool
    matrix: GradeMatrix


_cache: StampedCache[Key, TopicGrades] = StampedCache(CACHED_TOPICS)


def matrices(config: GraderConfig, pool: CollectionPool) -> dict[int, TopicGrades]:
    """Return matrices by topic id, for every topic of the pool; without grades they have no columns.

    Cells hidden from the reader are MISSING.
    """
    only = pool.topics[0].topic_id if len(pool.topics) == 1 else None
    stamps = _stamps(config, pool.collection_id, only)
    keys = {t.topic_id: _key(config, t.topic_id, stamps, pool.stamp) for t in pool.topics}
    by_topic = {topic_id: grades for topic_id, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [pool.by_topic[topic_id] for topic_id in keys if topic_id not in by_topic]
    for topic, matrix in _load(config, absent, stamps) if absent else ():
        by_topic[topic.topic_id] = _cache.keep(keys[topic.topic_id], TopicGrades(topic, matrix))
    hidden = visibility.without_grades(pool.collection_id, pool.by_topic)
    return {pk: _visible(grades, hidden[pk]) for pk, grades in by_topic.items()}


def _visible(grades: TopicGrades, hidden: visibility.Hidden) -> TopicGrades:
    return without(grades, hidden.named(hidden.graders)) if hidden.graders else grades


@lru_cache(maxsize=CACHED_TOPICS)
def without(grades: TopicGrades, cells: visibility.Names) -> TopicGrades:
    """Return a copy with these cells MISSING. Readers from whom cells are hidden have caches of their own."""
    matrix = grades.matrix
    hidden = visibility.mask_of(grades.pool, matrix.item_ids, cells)
    ratings = np.where(hidden, MISSING, matrix.ratings).astype(np.int8)
    return TopicGrades(grades.pool, replace(matrix, ratings=ratings))


def topic_grades(config: GraderConfig, pool: CollectionPool, topic_id: int) -> TopicGrades:
    """Return one topic of `matrices`."""
    return matrices(config, pool.only(topic_id))[topic_id]


@read_once
def _stamps(config: GraderConfig, collection_id: int, only: int | None) -> Stamps:
    """Return those of the collection's topics, or of `only` one."""
    of = (config.pk, collection_id)
    rows = _of_collection(*of) if only is None else _of_topic(*of, only)
    return {topic_id: (number, grades) for topic_id, number, grades in rows}


def begun_topics(config: GraderConfig, collection_id: int) -> set[int]:
    """Return the collection's topics that may have grades of the config, which are those with a stamp."""
    return set(_stamps(config, collection_id, None))


@compiled_once
def _of_collection(config: int, collection: int) -> QuerySet[MatrixStamp, tuple[int, int, int]]:
    stamps = MatrixStamp.objects.filter(config=config, topic__collection=collection)
    return stamps.values_list("topic_id", "number", "grades")


@compiled_once
def _of_topic(config: int, collection: int, topic: int) -> QuerySet[MatrixStamp, tuple[int, int, int]]:
    stamps = MatrixStamp.objects.filter(config=config, topic__collection=collection, topic=topic)
    return stamps.values_list("topic_id", "number", "grades")


def _key(config: GraderConfig, topic_id: int, stamps: Stamps, stamp: int) -> Key:
    number, _ = stamps.get(topic_id, (0, 0))
    return config.pk, topic_id, number, stamp


def _load(config: GraderConfig, topics: list[TopicPool], stamps: Stamps) -> Loaded:
    """Read the ratings of these topics from their snapshots, and the others from their rows.

    A topic without a stamp has none.
    """
    ids = sorted(topic.topic_id for topic in topics if topic.topic_id in stamps)
    of_topics = dict(read_snapshots(config.pk, {pk: stamps[pk][0] for pk in ids}))
    absent = [pk for pk in ids if pk not in of_topics]
    for some in database.in_portions(absent, (stamps[pk][1] for pk in absent), READ_AT_ONCE):
        of_topics |= from_rows(config, some)
    uids = dict(ItemRevision.including_secret.filter(topic__in=list(of_topics)).values_list("pk", "uid"))
    for topic in topics:
        ratings = of_topics.pop(topic.topic_id, NO_RATINGS)
        yield topic, _in_pool(topic, ratings, uids)


def from_rows(config: GraderConfig, topic_ids: Sequence[int]) -> dict[int, TopicRatings]:
    """Return the ratings of these topics, from one query and for those in cold storage from their files.

    A grade without a rating is ANSWERED where it is an extracted answer, else FAILED.
    """
    if not topic_ids:
        return {}
    rising = sorted(topic_ids)
    whole = IntegerField()
    rated = Coalesce("rating", FAILED, output_field=whole)
    value = Case(When(outcome=Outcome.EXTRACTED, then=ANSWERED), default=rated, output_field=whole)
    rows = Grade.objects.by(config).for_topics(rising).annotate(value=value)
    fields = rows.values_list("topic_id", "revision_id", "passage_id", "value").iterator(chunk_size=10_000)
    stored = np.fromiter(chain.from_iterable(fields), dtype=np.int64).reshape(-1, 4)
    absent = np.setdiff1d(rising, stored[:, 0]).tolist()
    cells = np.concatenate([stored, cold.outcomes(config.pk, absent)]) if absent else stored
    cells = cells[np.argsort(cells[:, 0], kind="stable")]
    parts = np.split(cells[:, 1:], np.searchsorted(cells[:, 0], rising[1:]))
    return {pk: of_cells(part) for pk, part in zip(rising, parts, strict=True)}


def _in_pool(topic: TopicPool, of_topic: TopicRatings, uids: Mapping[int, str]) -> GradeMatrix:
    """Leave out passages outside the pool, and items that have ratings of no other."""
    pool = np.array(topic.passage_pks, dtype=np.int64)
    if len(of_topic.passages):
        places = np.minimum(np.searchsorted(of_topic.passages, pool), len(of_topic.passages) - 1)
        is_known = (of_topic.passages[places] == pool)[:, np.newaxis]
        ratings = np.where(is_known, of_topic.ratings[places], np.int8(MISSING))
    else:
        ratings = np.full((len(pool), len(of_topic.revisions)), MISSING, dtype=np.int8)
    revisions = of_topic.revisions.tolist()
    is_rated = (ratings != MISSING).any(axis=0).tolist()
    columns = [place for place, pk in enumerate(revisions) if is_rated[place] and pk in uids]
    items = tuple(uids[revisions[place]] for place in columns)
    if len(columns) < len(revisions):
        ratings = ratings[:, columns]
    return GradeMatrix.of_outcomes(topic.query_id, topic.doc_ids, items, ratings)


def keep_snapshots() -> None:
    """Write snapshots of ratings that nobody changed since the last call, of at most KEPT_AT_ONCE grades.

    A duty of workers: a web request only reads, and while a job grades its topics change with every batch.
    """
    stamps = out_of_date()
    quiet = [stamp for stamp in stamps if _seen_out_of_date.get(stamp.pk) == stamp.number]
    _seen_out_of_date.clear()
    _seen_out_of_date.update((stamp.pk, stamp.number) for stamp in stamps)
    before = accumulate((stamp.grades for stamp in quiet), initial=0)
    _keep(stamp for stamp, grades in zip(quiet, before, strict=False) if grades < KEPT_AT_ONCE)


def keep_all_snapshots(collection: Collection) -> None:
    """Write every snapshot of a collection's ratings that is outdated."""
    stamps = out_of_date(topic__collection=collection)
    for some in database.in_portions(stamps, (stamp.grades for stamp in stamps), KEPT_AT_ONCE):
        _keep(some)


def _keep(stamps: Iterable[MatrixStamp]) -> None:
    for config, of_config in groupby(stamps, key=attrgetter("config")):
        numbers = {stamp.topic_id: stamp.number for stamp in of_config}
        of_topics = from_rows(config, list(numbers))
        write_snapshots(config.pk, ((pk, numbers[pk], ratings) for pk, ratings in of_topics.items()))
