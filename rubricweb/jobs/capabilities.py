"""Capabilities: which living worker can run which work.

A worker declares its back-ends when it starts, and listens on the queues that are named after them. Work that
needs no back-end is short: import checks, releases, exports, grading without a model. A worker that declares
none does only that, so that short work waits behind no model where one such worker runs. What a worker
declares and cannot run after all, because a model is missing or too large, it refuses for a while and hands
over: such work waits in a queue of its own, into which only those look that have not refused.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import Any

import redis
from django.conf import settings

from rubricweb.jobs import dispatch, endings, kinds, queue, worker_state
from rubricweb.jobs.endings import due
from rubricweb.jobs.kinds import CannotRun, Kind, Need
from rubricweb.jobs.leases import Lease, worker_name
from rubricweb.jobs.models import Job, LeasedWork
from rubricweb.jobs.queue import WorkerBeat

logger = logging.getLogger(__name__)

HANDED_OVER = "for-"
_unserved_since: dict[str, float] = {}
"""Times since when this worker knows of no worker with each back-end."""


def declare() -> None:
    """Declare what this process can run, as far as can be told without loading a model."""
    worker_state.now.backends = tuple(
        sorted({backend for kind in kinds.registered() for backend in kind.backends()})
    )


def queue_names() -> list[str]:
    """Return where this worker looks for work, in order. Raises redis.RedisError."""
    backends = worker_state.now.backends
    refused, prefixes = worker_state.now.cannot(), tuple(map(_prefix, ("", *backends)))
    handed = [name for name in queue.known_names() if name.startswith(prefixes) and name not in refused]
    names = names_for(backends)
    return [*names[: len(backends) + 1], *handed, *names[len(backends) + 1 :]]


def names_for(backends: Iterable[str]) -> list[str]:
    """Return the queues of a worker with these back-ends, in its order: short work first of each priority."""
    return [queue.name_for(priority, name) for priority in Job.Priority.values for name in ("", *backends)]


def is_preceded(work: LeasedWork) -> bool:
    """Return whether something waits that this worker would take before `work`.

    Raises redis.RedisError.
    """
    names, own = names_for(worker_state.now.backends), dispatch.queue_of(work)
    return own in names and any(queue.waiting_by_queue(names[: names.index(own)]))


def handed_over(need: Need) -> str:
    """Return the queue in which such work waits for another worker."""
    return f"{_prefix(need.backend)}{need.key}"


def _prefix(backend: str) -> str:
    return f"{HANDED_OVER}{backend}-"


def can_run(worker: WorkerBeat, need: Need) -> bool:
    return worker.has(need.backend) and handed_over(need) not in worker.cannot


def others_can(need: Need) -> bool:
    """Return whether a living worker besides this one may be able to. Raises redis.RedisError."""
    others = (worker for worker in queue.living_workers() if worker.name != worker_name())
    return any(can_run(worker, need) for worker in others)


def raise_if_refused(lease: Lease[Any]) -> None:
    """Raise CannotRun if this worker failed in the last minutes where another may do better."""
    need = lease.kind.need(lease.work)
    reason = worker_state.now.why_not(handed_over(need)) if need else ""
    try:
        if need and reason and others_can(need):
            raise CannotRun(reason)
    except redis.RedisError:
        return


def refuse(lease: Lease[Any], reason: str) -> None:
    """Hand over work that this worker cannot do, or fail it where no other worker can."""
    need = lease.kind.need(lease.work)
    if need is None:
        endings.fail(lease, error=reason)
        return
    worker_state.now.refuse(handed_over(need), need.label, reason)
    try:
        queue.beat(worker_state.now.beat())
        if others_can(need):
            logger.info("handed %s over: %s", dispatch.rq_id(lease.work), reason)
            endings.give_back(lease, queue_name=handed_over(need))
            return
    except redis.RedisError:
        endings.give_back(lease)
        return
    endings.fail_unrunnable(lease.work, error=reason, lease=lease)


def fail_what_nobody_can_run() -> None:
    """Fail work that needs a back-end or a model of no living worker. Raises redis.RedisError."""
    living = queue.living_workers()
    if not living:
        return
    for kind in kinds.registered():
        for work, need in _needs(kind):
            reason = _why_nobody(need, living)
            if reason:
                message = f"No living worker can run {need.label}. {reason}"
                endings.fail_unrunnable(work, error=message)


def _needs(kind: Kind[Any]) -> list[tuple[Any, Need]]:
    needs = [(work, kind.need(work)) for work in kind.examples(due(kind.waiting()))]
    return [(work, need) for work, need in needs if need]


def _why_nobody(need: Need, living: list[WorkerBeat]) -> str:
    """Return why no worker can; empty where one can, or where another worker knows the reason better."""
    if any(can_run(worker, need) for worker in living):
        _unserved_since.pop(need.backend, None)
        return ""
    if not need.backend or any(need.backend in worker.backends for worker in living):
        return worker_state.now.why_not(handed_over(need))
    since = _unserved_since.setdefault(need.backend, time.monotonic())
    is_over = time.monotonic() - since >= settings.WORKER_WAIT_SECONDS
    return need.remedy if is_over else ""
