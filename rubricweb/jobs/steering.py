"""Steer whole jobs: pause, resume, cancel, retry, and change their priority."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from grading.graders.replies import NoReply
from grading.types import ErrorClass
from rubricweb.core import audit, events
from rubricweb.jobs import leases, queue
from rubricweb.jobs.kinds import finish_if_done, kind_of_job
from rubricweb.jobs.models import Chunk, Job

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

logger = logging.getLogger(__name__)

State = Job.State
J = TypeVar("J", bound=Job)


def lock(job: J) -> J:
    """Return the row as it is now, locked until the transaction ends."""
    locked: J = kind_of_job(job).lock_job(job.pk)
    return locked


@transaction.atomic
def pause(job: J) -> J:
    """Stop giving out chunks; workers save their present batch and return the rest."""
    locked = lock(job)
    if locked.state in Job.WORKED_ON:
        pause_locked(locked, reason="")
    return locked


def pause_locked(job: Any, *, reason: str) -> None:
    """Pause `job`, whose row is locked.

    `reason` says why it pauses itself, and is empty where a person pauses it.
    """
    job.state, job.pause_reason = State.PAUSED, reason
    job.save(update_fields=["state", "pause_reason"])
    transaction.on_commit(partial(kind_of_job(job).job_changed, job))
    logger.warning("job %s was paused: %s", job.pk, reason or "by a person")


def stop_for_room(lease: leases.Lease[Any]) -> None:
    """Pause a job, or fail a task, because the disk is full.

    Trying again and again would take time and money for nothing.
    """
    message = "The disk is full. Make room, then go on."
    if isinstance(lease.work, Chunk):
        give_back_and_pause(lease, reason=message)
    else:
        leases.fail(lease, error=message)


@transaction.atomic
def give_back_and_pause(lease: leases.Lease[Any], *, reason: str) -> None:
    """Return a chunk that cannot be done now, and pause its job, whose other chunks would fare the same."""
    leases.give_back(lease)
    job = lock(lease.work.job)
    if job.state in Job.WORKED_ON:
        pause_locked(job, reason=reason)


def is_server_down(lease: leases.Lease[Any], error: Exception) -> bool:
    """Return whether the model's server failed a chunk at its last attempt, as it would fail the others.

    A timeout may be the chunk's own. A job that somebody waits for has no others to spare.
    """
    if not isinstance(error, NoReply) or error.is_of_prompt or error.error_class is ErrorClass.TIMEOUT:
        return False
    is_spared = isinstance(lease.work, Chunk) and not lease.kind.is_awaited
    return is_spared and lease.attempt >= leases.MAX_ATTEMPTS


@transaction.atomic
def resume(job: J) -> J:
    """Continue with the chunks that are left."""
    locked = lock(job)
    if locked.is_paused:
        locked.state = State.RUNNING if locked.started_at else State.QUEUED
        locked.pause_reason = ""
        locked.save(update_fields=["state", "pause_reason"])
        kind_of_job(job).on_resumed(locked)
        queue.enqueue(_waiting(locked))
        transaction.on_commit(partial(kind_of_job(job).job_changed, locked))
        logger.info("job %s was resumed", job.pk)
    return locked


@transaction.atomic
def cancel(job: J) -> J:
    """Cancel all chunks that wait or run; a worker that so loses its chunk writes nothing more."""
    locked = lock(job)
    kind_of_job(locked).close(locked)
    _chunks(locked).filter(state__in=Chunk.LIVE).update(state=Chunk.State.CANCELLED, lease_until=None)
    finish_if_done(locked)
    return locked


@transaction.atomic
def cancel_waiting(job: J) -> J:
    """Cancel the waiting chunks; running ones are cancelled after their present batch is saved."""
    locked = lock(job)
    kind_of_job(locked).close(locked)
    _chunks(locked).filter(state=Chunk.State.QUEUED).update(state=Chunk.State.CANCELLED)
    if _chunks(locked).filter(state=Chunk.State.LEASED).exists():
        locked.state = State.CANCELLING
        locked.save(update_fields=["state"])
    finish_if_done(locked)
    return locked


@transaction.atomic
def retry(job: J) -> J:
    """Queue the chunks that failed or were cancelled; a job that had ended with them continues."""
    locked = lock(job)
    if locked.state in (State.FAILED, State.CANCELLED):
        locked.state, locked.error, locked.ended_at = State.QUEUED, "", None
        locked.save(update_fields=["state", "error", "ended_at"])
    lost = _chunks(locked).filter(state__in=(Chunk.State.FAILED, Chunk.State.CANCELLED))
    queued = lost.update(state=Chunk.State.QUEUED, attempts=0, queued_at=timezone.now())
    if queued and not locked.is_paused:
        queue.enqueue(_waiting(locked))
    return locked


@transaction.atomic
def set_priority(job: J, priority: Job.Priority) -> J:
    """Change the priority, and move chunks that wait in Redis already."""
    locked = lock(job)
    if not locked.has_ended and locked.priority != priority:
        waiting = _waiting(locked)
        before = queue.queue_of(waiting[0]) if waiting else ""
        locked.priority = priority
        locked.save(update_fields=["priority"])
        if waiting:
            queue.move(waiting, before, queue.queue_of(waiting[0]))
        logger.info("job %s has the priority %s now", job.pk, priority)
    return locked


STEERS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "pause": (pause, "paused"),
    "resume": (resume, "resumed"),
    "cancel": (lambda job: (cancel_waiting if kind_of_job(job).saves_batches else cancel)(job), "cancelled"),
    "cancel-now": (cancel, "cancelled"),
    "first": (partial(set_priority, priority=Job.Priority.HIGH), "put first"),
    "in-turn": (partial(set_priority, priority=Job.Priority.DEFAULT), "put in turn"),
}
"""What people do to a job, by verb: the change, and the word that audit entries have for it."""


@transaction.atomic
def steer(job: J, verb: str, *, by: User | None) -> J:
    """Do one of STEERS to the job, with an audit entry and an event; a job that has ended stays as it is."""
    kind, before = kind_of_job(job), lock(job)
    if before.has_ended:
        return before
    change, done = STEERS[verb]
    after = change(job)
    if (after.state, after.priority) != (before.state, before.priority):
        thing, detail = kind.audited(after)
        audit.record(f"{kind.activity} {done}", thing, by=by, detail=detail)
        events.publish_on_commit(after.collection.channel, "progress")
    return cast("J", after)


def _waiting(job: Job) -> list[Chunk]:
    """Return the waiting chunks in their order; all are in one queue, since they are of one job."""
    waiting = _chunks(job).filter(state=Chunk.State.QUEUED).order_by("number")
    return list(waiting.defer(*kind_of_job(job).payload))


def _chunks(job: Job) -> QuerySet[Chunk]:
    rows: QuerySet[Chunk] = job.chunks.all()  # type: ignore[attr-defined]  # what the subclass's chunks name
    return rows
