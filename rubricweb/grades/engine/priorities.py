"""Which job goes first: also its chunks that wait in Redis already change their place."""

from __future__ import annotations

import logging

from django.db import transaction

from rubricweb.grades.engine import dispatch, endings
from rubricweb.grades.models import GradingJob, JobChunk

logger = logging.getLogger(__name__)

Priority = GradingJob.Priority


@transaction.atomic
def go_first(job_id: int) -> GradingJob:
    """Somebody waits for it: workers take its chunks before those of other jobs."""
    return _change(job_id, Priority.HIGH)


@transaction.atomic
def go_in_turn(job_id: int) -> GradingJob:
    """Nobody waits for it."""
    return _change(job_id, Priority.DEFAULT)


def _change(job_id: int, priority: Priority) -> GradingJob:
    job = endings.lock(job_id)
    if not job.has_ended and job.priority != priority:
        before, job.priority = job.priority, priority
        job.save(update_fields=["priority"])
        waiting = job.chunks.filter(state=JobChunk.State.QUEUED).order_by("number")
        dispatch.move(waiting.values_list("pk", "attempts"), before, priority)
        logger.info("job %s has the priority %s now", job.pk, priority)
    return job
