"""Jobs that ask a language model, no more often than somebody allowed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F

from grading.errors import GraderUnavailable, UnknownGrader
from grading.graders import registry
from rubricweb.jobs import steering, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, Stopping
from rubricweb.jobs.models import Job, LimitedJob

CANNOT_RUN = (GraderUnavailable, UnknownGrader)

L = TypeVar("L", bound=LimitedJob)
M = TypeVar("M")


def count_call(job: LimitedJob) -> None:
    """Called before each call. Raises Stopping where the job was paused or cancelled, or may ask no more."""
    if worker_state.now.is_stopping:
        raise Stopping
    worked_on = type(job)._default_manager.filter(pk=job.pk, state__in=Job.WORKED_ON)
    if not worked_on.filter(calls__lt=F("most_calls")).update(calls=F("calls") + 1):
        _pause_if_spent(job)
        raise Stopping


@transaction.atomic
def allow_calls(job: L, most_calls: int) -> L:
    """Let the job ask up to `most_calls` times in all; one that is paused goes on."""
    locked = steering.lock(job)
    locked.most_calls = max(most_calls, locked.calls)
    locked.save(update_fields=["most_calls"])
    return steering.resume(locked) if locked.is_paused else locked


def loaded(llm: str, load: Callable[[], M]) -> M:
    """What `load` returns, while the worker says that it loads the model. Raises CannotRun."""
    with worker_state.now.load(llm):
        try:
            return load()
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error


def need_of(backend: str, llm: str) -> Need:
    """What a worker must have to ask this model."""
    key = hashlib.sha256(f"{backend}\0{llm}".encode()).hexdigest()[:16]
    return Need(f"writer-{key}", f"{llm} as a writer", *registry.requirement(backend))


@transaction.atomic
def _pause_if_spent(job: Any) -> None:
    locked = steering.lock(job)
    if locked.state in Job.WORKED_ON and locked.calls >= locked.most_calls:
        reason = f"It has asked the model {locked.calls:,} times, as often as it may."
        steering.pause_locked(locked, reason=reason)
