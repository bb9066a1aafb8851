"""The ratings of (config, topic) as packed arrays, beside the stamp that says whether they are still true.

Workers make them once nobody writes (`matrices.keep_snapshots`). Readers take one only where it has the
present stamp and is whole; else the rows of grades are read, which alone are the truth.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef
from numpy.typing import NDArray

from grading.types import MISSING, Ratings
from rubricweb.core import packed
from rubricweb.grades.models import MatrixSnapshot, MatrixStamp

logger = logging.getLogger(__name__)

READ_AT_ONCE = 100
WRITTEN_AT_ONCE = 200
LAYOUT = 2
"""Added to a stamp's number. Raised, it puts all earlier snapshots out of date, also those of workers that
still run the version before: at 0 some held the ratings of other topics, at 1 extracted answers were absent.
"""


@dataclass(frozen=True, slots=True)
class TopicRatings:
    """Every rating of one config in one topic, whatever its pool is now."""

    revisions: NDArray[np.int64]
    """Primary keys, shape (items,)."""
    passages: NDArray[np.int64]
    """Primary keys in rising order, shape (passages,)."""
    ratings: Ratings
    """Shape (passages, items)."""


def of_cells(cells: NDArray[np.int64]) -> TopicRatings:
    """Return the ratings of cells, of shape (cells, 3): revision, passage, rating. Items keep their order."""
    passages, rows = np.unique(cells[:, 1], return_inverse=True)
    revisions, first, columns = np.unique(cells[:, 0], return_index=True, return_inverse=True)
    ratings = np.full((len(passages), len(revisions)), MISSING, dtype=np.int8)
    ratings[rows, columns] = cells[:, 2]
    order = np.argsort(first)
    return TopicRatings(revisions[order], passages, ratings[:, order])


def read(config_id: int, numbers: Mapping[int, int]) -> Iterator[tuple[int, TopicRatings]]:
    """Yield (topic, its ratings) of those topics whose snapshot is whole and has the number that is given."""
    rows = MatrixSnapshot.objects.filter(config=config_id, topic__in=list(numbers))
    fields = rows.values_list("topic_id", "number", "content").iterator(chunk_size=READ_AT_ONCE)
    for topic_id, number, content in fields:
        if number != numbers[topic_id] + LAYOUT:
            continue
        try:
            yield topic_id, TopicRatings(**packed.unpack(_key(config_id, topic_id, number), content))
        except packed.Damaged:
            logger.warning("the snapshot of config %d, topic %d is damaged", config_id, topic_id)


def keep(config_id: int, ratings: Iterable[tuple[int, int, TopicRatings]]) -> None:
    """Write snapshots, (topic, number, ratings); the number of each stamp was read before its rows."""
    rows = [
        MatrixSnapshot(
            config_id=config_id,
            topic_id=topic_id,
            number=number + LAYOUT,
            content=packed.pack(
                _key(config_id, topic_id, number + LAYOUT),
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


def out_of_date() -> list[MatrixStamp]:
    """Return the stamps of (config, topic) without a snapshot of their present state, by config."""
    same = {"config": OuterRef("config"), "topic": OuterRef("topic"), "number": OuterRef("number") + LAYOUT}
    present = MatrixStamp.objects.filter(
        topic__collection__is_being_deleted=False, topic__collection__is_gone=False
    )
    stamps = present.exclude(Exists(MatrixSnapshot.objects.filter(**same)))
    return list(stamps.select_related("config").order_by("config_id", "topic_id"))


def _key(config_id: int, topic_id: int, number: int) -> str:
    return f"ratings of config {config_id}, topic {topic_id} at {number}"
