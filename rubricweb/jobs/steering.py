"""Steer whole jobs: pause, resume, cancel, retry, change their priority, and limit their cost."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from grading.errors import GraderUnavailable, UnknownGrader
from grading.generation import TextModel
from grading.generation.models import text_model
from grading.graders import registry
from grading.graders.backend_options import AS_IT_IS, Thinking
from grading.graders.replies import NoReply
from grading.types import ErrorClass
from rubricweb.core import audit, events
from rubricweb.core.formatting import counted
from rubricweb.core.servers import model_server
from rubricweb.jobs import counters, leases, queue, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, Stopping, finish_if_done, kind_of_job
from rubricweb.jobs.models import Chunk, Job, LimitedJob

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

logger = logging.getLogger(__name__)

State = Job.State
J = TypeVar("J", bound=Job)

CHARS_A_TOKEN = 4
"""Estimated characters per token of English text in the usual tokenizers."""
MILLION = 1_000_000
CANNOT_RUN = (GraderUnavailable, UnknownGrader)
L = TypeVar("L", bound=LimitedJob)
M = TypeVar("M")


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


def cost(backend: str, llm: str, tokens_read: float, tokens_written: float) -> float | None:
    """Return dollars: 0 on the workers' own machines, None for a server's model without a price."""
    each = settings.PRICES.get(llm)
    if each is None:
        return None if _is_served(backend) else 0.0
    of_reply = settings.REPLY_PRICES.get(llm, each)
    return (tokens_read * float(each) + tokens_written * float(of_reply)) / MILLION


def tokens_of(texts: Sequence[str]) -> float:
    """Estimate the number of tokens of English text."""
    return sum(map(len, texts)) / CHARS_A_TOKEN


def _is_served(name: str) -> bool:
    backend = registry.BACKENDS.get(name)
    return backend is None or backend.needs_server


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which a job pauses."""

    calls: int
    dollars: float | None = None
    """Most money to spend; None for no limit."""

    @property
    def text(self) -> str:
        """Return the limits for people: "4 calls, $2.50"."""
        money = "" if self.dollars is None else f", ${self.dollars:,.2f}"
        return f"{counted(self.calls, 'call')}{money}"


@transaction.atomic
def begin(job: L, chunks: Sequence[Chunk], limits: Limits) -> L:
    """Save a new job and its chunks, numbered as they stand, for workers to take, and tell open pages."""
    job.most_calls, job.most_dollars = max(1, limits.calls), limits.dollars
    job.total = sum(chunk.size for chunk in chunks)
    job.save()
    for number, chunk in enumerate(chunks):
        chunk.job, chunk.number = job, number  # type: ignore[attr-defined]  # the subclass's
    queue.enqueue(type(chunks[0])._default_manager.bulk_create(chunks))
    events.publish_on_commit(job.collection.channel, "progress")  # type: ignore[attr-defined]
    return job


class LimitedModel:
    """A model that is called no more than its job allows.

    Before each call the job's money is reduced by what it costs at most, and after it by what it cost: the
    limit holds also where several workers ask at once.
    """

    def __init__(
        self, llm: TextModel, job: LimitedJob, *, backend: str, name: str, longest_reply: int
    ) -> None:
        """Wrap the job's model; `longest_reply` is in tokens."""
        self._llm, self._job, self._longest_reply = llm, job, longest_reply
        self._backend, self._name = backend, name

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the model's reply.

        Raises Stopping where the job was paused or cancelled, or has reached a limit, and NoReply.
        """
        read = tokens_of([text for _, text in messages])
        reserved = self._cost(read, self._longest_reply)
        if worker_state.now.is_stopping:
            raise Stopping
        affordable = Q(most_dollars=None) | Q(most_dollars__gte=F("dollars") + reserved)
        may = self._rows().filter(affordable, state__in=Job.WORKED_ON, calls__lt=F("most_calls"))
        if not may.update(calls=F("calls") + 1, dollars=F("dollars") + reserved):
            _pause_if_spent(self._job, reserved)
            raise Stopping
        try:
            reply = self._llm.complete(messages)
        except BaseException as error:
            self._settle(read, error.raw if isinstance(error, NoReply) else "", reserved)
            raise
        self._settle(read, getattr(reply, "raw", reply), reserved)
        return reply

    def _settle(self, read: float, raw: str, reserved: float) -> None:
        """Replace the reserved amount by what the model wrote, its thinking included."""
        written = tokens_of([raw])
        spent = self._cost(read, written) if raw else 0.0
        self._rows().update(
            tokens=F("tokens") + (round(read + written) if raw else 0),
            dollars=F("dollars") + (spent - reserved),
        )
        if raw:
            counters.note_tokens(self._name, read, written, spent)

    def _cost(self, read: float, written: float) -> float:
        return cost(self._backend, self._name, read, written) or 0.0

    def _rows(self) -> Any:
        return type(self._job)._default_manager.filter(pk=self._job.pk)


def limited_model(
    job: LimitedJob, *, backend: str, llm: str, longest_reply: int, thinking: Thinking = AS_IT_IS
) -> LimitedModel:
    """Return the job's model, loaded. Raises CannotRun."""
    load = partial(
        text_model,
        backend,
        llm,
        model_server(),
        longest_reply=longest_reply,
        thinking=thinking,
        on_tokens=worker_state.now.on_tokens,
    )
    return LimitedModel(loaded(llm, load), job, backend=backend, name=llm, longest_reply=longest_reply)


@transaction.atomic
def change_limits(job: L, limits: Limits, *, by: User | None) -> L:
    """Let the job ask its model as often, and spend as much in all; one that paused itself goes on."""
    locked: Any = lock(job)
    thing, detail = kind_of_job(locked).audited(locked)
    audit.record("limits changed", thing, by=by, detail=f"{detail}: {limits.text}")
    events.publish_on_commit(locked.collection.channel, "progress")
    locked.most_calls, locked.most_dollars = max(limits.calls, 1), limits.dollars
    locked.save(update_fields=["most_calls", "most_dollars"])
    return cast("L", resume(locked) if locked.is_paused and locked.pause_reason else locked)


def loaded(llm: str, load: Callable[[], M]) -> M:
    """Return what `load` returns, and report the model as loading meanwhile. Raises CannotRun."""
    with worker_state.now.load(llm):
        try:
            return load()
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error


def need_of(backend: str, llm: str) -> Need:
    """Return what a worker must have to call this model."""
    key = hashlib.sha256(f"{backend}\0{llm}".encode()).hexdigest()[:16]
    return Need(f"writer-{key}", f"{llm} as a writer", *registry.requirement(backend))


@transaction.atomic
def _pause_if_spent(job: Any, dollars: float) -> None:
    locked = lock(job)
    if locked.state not in Job.WORKED_ON:
        return
    if locked.calls >= locked.most_calls:
        times = "once" if locked.calls == 1 else f"{locked.calls:,} times"
        pause_locked(locked, reason=f"It has asked the model {times}, as often as it may.")
    elif locked.most_dollars is not None and locked.dollars + dollars > locked.most_dollars:
        spent = f"It has spent about ${locked.dollars:,.2f} of ${locked.most_dollars:,.2f}"
        pause_locked(locked, reason=f"{spent}, and the next call could cost more than is left.")
