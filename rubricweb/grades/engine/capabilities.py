"""Chunks that this worker cannot grade: another gets them, or their job fails where no other can."""

from __future__ import annotations

import logging

import redis

from rubricweb.grades.engine import endings
from rubricweb.grades.engine.leases import Lease
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk
from rubricweb.jobs import capabilities, worker_state
from rubricweb.jobs.worker_state import Need

logger = logging.getLogger(__name__)


def need_of(config: GraderConfig) -> Need:
    return Need(f"{capabilities.PREFIX}config-{config.fingerprint}", str(config))


def refuse(lease: Lease, config: GraderConfig, reason: str) -> None:
    """This worker cannot run the config: others get the chunk, or the job fails where no other can."""
    need = need_of(config)
    try:
        if capabilities.refuse(need, reason):
            logger.info("handed chunk %s of job %s over: %s", lease.chunk_id, lease.job_id, reason)
            endings.give_back(lease, queue_name=need.queue)
            return
    except redis.RedisError:
        endings.give_back(lease)
        return
    logger.error("job %s cannot be graded by any worker: %s", lease.job_id, reason)
    endings.fail_job(lease, error=reason)


def fail_what_nobody_can_run() -> None:
    """Jobs that waited for another worker, which is gone. Raises redis.RedisError."""
    if not worker_state.now.cannot():
        return
    waiting = GradingJob.objects.filter(state__in=GradingJob.WORKED_ON)
    waiting = waiting.filter(chunks__state=JobChunk.State.QUEUED).distinct()
    for job in waiting.select_related("config"):
        if reason := capabilities.nobody_can(need_of(job.config)):
            endings.fail_waiting(job.pk, error=reason)
