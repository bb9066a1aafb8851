"""Gives out again what a dead worker or a restarted Redis lost. Any number of reapers may run at once."""

from __future__ import annotations

import logging
from collections import defaultdict

from django.db.models.functions import Now

from rubricweb.grades.engine import dispatch, endings
from rubricweb.grades.engine.dispatch import ChunkAttempt
from rubricweb.grades.engine.leases import Lease
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import queue
from rubricweb.jobs.leases import ENQUEUED_WITHIN

logger = logging.getLogger(__name__)


def reap() -> int:
    """How many chunks were given out again. Raises redis.RedisError when the queue is away."""
    return _take_from_the_dead() + _enqueue_lost(queue.waiting_ids())


def _take_from_the_dead() -> int:
    """Chunks whose worker was not heard of for a whole lease."""
    expired = JobChunk.objects.filter(state=JobChunk.State.LEASED, lease_until__lt=Now()).order_by("pk")
    leases = [Lease(*row) for row in expired.values_list("pk", "job_id", "attempts", "worker")]
    return sum(_take(lease) for lease in leases)


def _take(lease: Lease) -> bool:
    error = f"The worker {lease.worker} died while it graded chunk {lease.chunk_id}."
    is_taken = endings.retry_chunk(lease, error=error)
    if is_taken:
        logger.warning("worker %s died with chunk %s of job %s", lease.worker, lease.chunk_id, lease.job_id)
    return is_taken


def _enqueue_lost(waiting: set[str]) -> int:
    """Chunks that wait in the database and not in Redis. One that is enqueued twice is still graded once."""
    old = JobChunk.objects.filter(state=JobChunk.State.QUEUED, job__created_at__lt=Now() - ENQUEUED_WITHIN)
    wanted = old.filter(job__state__in=GradingJob.WORKED_ON).order_by("pk")
    lost: dict[str, list[ChunkAttempt]] = defaultdict(list)
    found = {dispatch.chunk_of(name) for name in waiting}
    for pk, attempts, priority in wanted.values_list("pk", "attempts", "job__priority"):
        if pk not in found:
            lost[priority].append((pk, attempts))
    for priority, chunks in lost.items():
        dispatch.enqueue_now(chunks, priority)
        logger.warning("enqueued %d chunks that the queue had lost", len(chunks))
    return sum(map(len, lost.values()))
