"""Start and cancel grading jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.conf import settings
from django.db import transaction

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.models import DIRECT_UID, ItemRevision
from rubricweb.banks.querysets import ItemQuerySet
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.configs import active_configs, kinds_of
from rubricweb.grades.engine import chunks, dispatch, endings
from rubricweb.grades.engine.missing import Missing, left_to_start, missing_cells
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk

logger = logging.getLogger(__name__)

CHUNKS_A_QUERY = 200


def start_grading(
    collection: Collection,
    *,
    by: User | None,
    topics: Iterable[Topic] | None = None,
    items: ItemQuerySet | None = None,
    configs: Iterable[GraderConfig] | None = None,
) -> list[GradingJob]:
    """A job for each config with cells that are missing and in no live job; none if nothing is.

    `configs` are the collection's own by default. Who starts holds the collection's row, so that of two
    people who press at once the second finds nothing left.
    """
    chosen = active_configs(collection) if configs is None else list(configs)
    within = None if topics is None else list(topics)
    missing_cells(collection, chosen, topics=within, items=items)  # loads the matrices before the lock
    with transaction.atomic():
        Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        if any(ItemKind.DIRECT in kinds_of(config) for config in chosen):
            _make_direct_wordings(collection)
        missing = missing_cells(collection, chosen, topics=within, items=items)
        left = left_to_start(collection, missing)
        return [_start(collection, found, by) for found in left if found.gaps]


def cancel_job(job: GradingJob, *, by: User | None) -> GradingJob:
    """Stop the job; the grades that it has made stay. Nothing happens if it has ended."""
    with transaction.atomic():
        locked = endings.lock(job.pk)
        if not locked.has_ended:
            locked = endings.cancel_chunks(job.pk)
            audit.record("grading cancelled", locked, by=by, detail=locked.scope)
    return locked


def _start(collection: Collection, missing: Missing, by: User | None) -> GradingJob:
    job = GradingJob.objects.create(
        collection=collection, config=missing.config, scope=missing.scope, total=missing.cells, by=by
    )
    cut = [(gap.topic_id, cells) for gap in missing.gaps for cells in chunks.cut(gap, settings.CHUNK_CELLS)]
    rows = [
        JobChunk(job=job, number=number, topic_id=topic_id, cells=cells, size=len(cells))
        for number, (topic_id, cells) in enumerate(cut)
    ]
    JobChunk.objects.bulk_create(rows, batch_size=CHUNKS_A_QUERY)
    dispatch.enqueue((row.pk, 0) for row in rows)
    audit.record("grading started", job, by=by, detail=job.scope)
    events.publish_on_commit(collection.channel, "progress")
    logger.info("started job %s: %d cells in %d chunks", job.pk, job.total, len(rows))
    return job


def _make_direct_wordings(collection: Collection) -> None:
    """The synthetic item of each topic, whose text is the query; a topic without text has none to ask."""
    topics = collection.topics.exclude(text="").exclude(revisions__uid=DIRECT_UID)
    absent = [ItemRevision(topic=topic, uid=DIRECT_UID, text=topic.text) for topic in topics]
    ItemRevision.objects.bulk_create(absent, ignore_conflicts=True)
