"""How chunks and jobs end. A job gets its last state in `finish_if_done` and nowhere else.

Whoever ends a chunk locks its job first, so that of two last chunks the second sees the first.
"""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from rubricweb.grades.engine import dispatch, followers
from rubricweb.grades.engine.leases import Lease, LeaseLost
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs.leases import MAX_ATTEMPTS

logger = logging.getLogger(__name__)

State = JobChunk.State
ENDED = {"lease_until": None}


def lock(job_id: int) -> GradingJob:
    """The job's row, locked until the transaction ends; grades that name the job can still be written."""
    return (
        GradingJob.objects.select_for_update(no_key=True, of=("self",))
        .select_related("collection")
        .get(pk=job_id)
    )


@transaction.atomic
def end_chunk(lease: Lease, *, seconds: float) -> None:
    """All cells of the chunk are graded; the last of it took `seconds`. Raises LeaseLost."""
    job = lock(lease.job_id)
    if not lease.held().update(state=State.DONE, seconds=F("seconds") + seconds, **ENDED):
        raise LeaseLost
    finish_if_done(job)


@transaction.atomic
def retry_chunk(lease: Lease, *, error: str) -> bool:
    """After a failed attempt the chunk waits for the next, or is given up. False if the lease is lost."""
    job = lock(lease.job_id)
    if lease.attempt < MAX_ATTEMPTS and not job.is_cancelling:
        was_held = lease.held().update(state=State.QUEUED, worker="", **ENDED)
        if was_held and not job.is_paused:
            dispatch.enqueue([(lease.chunk_id, lease.attempt)], job.priority)
        return bool(was_held)
    last = State.CANCELLED if job.is_cancelling else State.FAILED
    if not lease.held().update(state=last, **ENDED):
        return False
    if not job.is_cancelling:
        _note(job, error)
        logger.error("gave chunk %s of job %s up: %s", lease.chunk_id, job.pk, error)
    finish_if_done(job)
    return True


@transaction.atomic
def give_back(lease: Lease, *, queue_name: str = "") -> None:
    """A worker that stops in the middle lets others have its chunk, which counts as no attempt.

    It goes to `queue_name` if given; else the resumed job, or a reaper, enqueues it. Of a job that is being
    cancelled nobody shall have it: it ends.
    """
    job = lock(lease.job_id)
    if job.is_cancelling:
        if lease.held().update(state=State.CANCELLED, **ENDED):
            finish_if_done(job)
    elif lease.held().update(state=State.QUEUED, worker="", **ENDED, attempts=F("attempts") - 1):
        logger.info("gave chunk %s of job %s back", lease.chunk_id, lease.job_id)
        if queue_name:
            dispatch.enqueue([(lease.chunk_id, lease.attempt)], queue_name)


@transaction.atomic
def fail_job(lease: Lease, *, error: str) -> None:
    """The grader cannot run: what waits is cancelled, and the job fails with `error` for people to read."""
    job = lock(lease.job_id)
    if lease.held().update(state=State.FAILED, **ENDED):
        job.chunks.filter(state=State.QUEUED).update(state=State.CANCELLED)
        _note(job, error)
        finish_if_done(job)


@transaction.atomic
def fail_waiting(job_id: int, *, error: str) -> None:
    """No living worker can run the grader: what waits fails, with `error` for people to read."""
    job = lock(job_id)
    if job.state in GradingJob.WORKED_ON and job.chunks.filter(state=State.QUEUED).update(state=State.FAILED):
        _note(job, error)
        finish_if_done(job)


@transaction.atomic
def cancel_chunks(job_id: int) -> GradingJob:
    """Cancel all that waits or runs; a worker that loses its chunk so writes nothing more."""
    job = lock(job_id)
    job.chunks.filter(state__in=JobChunk.LIVE).update(state=State.CANCELLED, **ENDED)
    finish_if_done(job)
    return job


@transaction.atomic
def cancel_waiting(job_id: int) -> GradingJob:
    """Cancel what waits; what runs is cancelled by its worker, after it has saved its present batch."""
    job = lock(job_id)
    job.chunks.filter(state=State.QUEUED).update(state=State.CANCELLED)
    if job.chunks.filter(state=State.LEASED).exists():
        job.state = GradingJob.State.CANCELLING
        job.save(update_fields=["state"])
    finish_if_done(job)
    return job


def finish_if_done(job: GradingJob) -> None:
    """End the job, whose row is locked, if none of its chunks is left. The one writer of last states."""
    states = set(job.chunks.order_by().values_list("state", flat=True).distinct())
    if job.has_ended or states & set(JobChunk.LIVE):
        return
    job.pause_reason = ""
    job.state = GradingJob.State.DONE
    if State.FAILED in states:
        job.state = GradingJob.State.FAILED
    elif State.CANCELLED in states:
        job.state = GradingJob.State.CANCELLED
    job.ended_at = timezone.now()
    job.save(update_fields=["state", "ended_at", "pause_reason"])
    logger.info("job %s ended: %s", job.pk, job.state)
    transaction.on_commit(lambda: dispatch.announce_end(job))
    for follower in followers.let_go(job):
        finish_if_done(follower)


def _note(job: GradingJob, error: str) -> None:
    """Keep the first error; later ones are in the log."""
    if not job.error:
        job.error = error[:2_000]
        job.save(update_fields=["error"])
