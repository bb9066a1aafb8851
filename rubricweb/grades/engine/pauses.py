"""A job that pauses, by a person or by its circuit breaker, and goes on where it was."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Sum

from rubricweb.grades.engine import dispatch, endings
from rubricweb.grades.engine.breaker import Breaker
from rubricweb.grades.models import GradingJob, JobChunk

logger = logging.getLogger(__name__)

State = GradingJob.State


@transaction.atomic
def pause(job_id: int) -> GradingJob:
    """No more chunks are taken; workers save the batch that they are at, and give the rest back."""
    job = endings.lock(job_id)
    if job.state in GradingJob.WORKED_ON:
        _pause(job, reason="")
    return job


@transaction.atomic
def resume(job_id: int) -> GradingJob:
    """Go on with what is left; the circuit breaker begins anew."""
    job = endings.lock(job_id)
    if job.is_paused:
        job.state = State.RUNNING if job.started_at else State.QUEUED
        job.pause_reason, job.failures = "", Breaker(base=_done(job)).kept
        job.save(update_fields=["state", "pause_reason", "failures"])
        waiting = job.chunks.filter(state=JobChunk.State.QUEUED)
        dispatch.enqueue(waiting.values_list("pk", "attempts"), job.priority)
        transaction.on_commit(lambda: dispatch.announce_end(job))
        logger.info("job %s was resumed", job.pk)
    return job


def note_results(job: GradingJob, error_classes: Iterable[str]) -> None:
    """Count a batch's errors ("" for a grade) in the transaction that saves it; enough of them pause the job.

    Called before the batch's chunk is counted, because whoever changes chunks locks their job first.
    """
    locked = endings.lock(job.pk)
    breaker = Breaker.of(locked.failures)
    breaker.seen = _done(locked) - breaker.base
    for error_class in error_classes:
        breaker.add(error_class)
    locked.failures = job.failures = breaker.kept
    locked.save(update_fields=["failures"])
    if breaker.tripped and locked.state in GradingJob.WORKED_ON:
        _pause(locked, reason=breaker.sentence)


def _pause(job: GradingJob, *, reason: str) -> None:
    job.state, job.pause_reason = State.PAUSED, reason
    job.save(update_fields=["state", "pause_reason"])
    transaction.on_commit(lambda: dispatch.announce_end(job))
    logger.warning("job %s was paused: %s", job.pk, reason or "by a person")


def _done(job: GradingJob) -> int:
    return job.chunks.aggregate(done=Sum("done"))["done"] or 0
