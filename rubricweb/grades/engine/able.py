"""Which living worker can run a grader: one that cannot says so with its beat, and hands its chunks over.

What is handed over waits in a queue of its own, which only those look into that have not refused.
"""

from __future__ import annotations

import logging

import redis

from rubricweb.core import queue
from rubricweb.grades.engine import endings, leases, working
from rubricweb.grades.engine.leases import Lease
from rubricweb.grades.models import GraderConfig, GradingJob, JobChunk

logger = logging.getLogger(__name__)

PREFIX = "config-"


def queue_of(config: GraderConfig) -> str:
    return f"{PREFIX}{config.pk}"


def more_queues() -> list[str]:
    """What other workers handed over and this one has not refused."""
    refused = {f"{PREFIX}{pk}" for pk in working.now.cannot()}
    return [name for name in queue.known_names() if name.startswith(PREFIX) and name not in refused]


def others_can(config: GraderConfig) -> bool:
    """Is there a living worker, besides this one, that has not refused? Raises redis.RedisError."""
    others = [beat for beat in queue.living_workers() if beat.name != leases.worker_name()]
    return any(config.pk not in beat.cannot for beat in others)


def refuse(lease: Lease, config: GraderConfig, reason: str) -> None:
    """This worker cannot run the config: others get the chunk, or the job fails where no other can."""
    working.now.refuse(config, reason)
    try:
        queue.beat(working.now.beat())
        if others_can(config):
            logger.info("handed chunk %s of job %s over: %s", lease.chunk_id, lease.job_id, reason)
            endings.give_back(lease, queue_name=queue_of(config))
            return
    except redis.RedisError:
        endings.give_back(lease)
        return
    logger.error("job %s cannot be graded by any worker: %s", lease.job_id, reason)
    endings.fail_job(lease, error=reason)


def fail_what_nobody_can_run() -> None:
    """Jobs that waited for another worker, which is gone."""
    for pk in working.now.cannot():
        config = GraderConfig.objects.get(pk=pk)
        waiting = GradingJob.objects.filter(config=config, state__in=GradingJob.WORKED_ON)
        waiting = waiting.filter(chunks__state=JobChunk.State.QUEUED).distinct()
        for job_id in waiting.values_list("pk", flat=True):
            if not others_can(config):
                reason = f"No living worker can run this grader. {working.now.why_not(config)}"
                endings.fail_waiting(job_id, error=reason)
