"""Every way in which an attempt ends, also that of a worker that is gone."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs import dispatch, kinds, leases, queue
from rubricweb.jobs.kinds import Demand, Kind, W, kind_of
from rubricweb.jobs.leases import MAX_ATTEMPTS, Lease, LeaseLost
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

State = LeasedWork.State
WAITS = {"state": State.QUEUED, "worker": "", "lease_until": None, "queued_at": Now()}


@transaction.atomic
def finish(lease: Lease[W], **fields: Any) -> None:
    """The work is done; `fields` are saved with that. Raises LeaseLost."""
    lease.kind.lock(lease.work)
    if not _end(lease.work, lease.held(), State.DONE, **fields):
        raise LeaseLost


@transaction.atomic
def retry(lease: Lease[W], *, error: str) -> bool:
    """After a failed attempt the work waits for the next, or is given up. False if the lease is lost."""
    demand = lease.kind.lock(lease.work)
    if demand is Demand.NONE:
        return _end(lease.work, lease.held(), State.CANCELLED)
    if lease.attempt >= MAX_ATTEMPTS:
        return _end(lease.work, lease.held(), State.FAILED, error=error)
    is_held = bool(lease.held().update(**WAITS))
    if is_held and demand is Demand.NOW:
        dispatch.enqueue([lease.work])
    return is_held


@transaction.atomic
def postpone(lease: Lease[W], **fields: Any) -> None:
    """It is done as far as it goes now, and waits again; `fields`, which say until when, are saved with that.
    Raises LeaseLost.
    """
    lease.kind.lock(lease.work)
    if not lease.held().update(**WAITS, attempts=0, **fields):
        raise LeaseLost


@transaction.atomic
def give_back(lease: Lease[W], *, queue_name: str = "") -> None:
    """Another worker shall do it, and this counts as no attempt.

    It goes to `queue_name` if given; else its resumed job, or a reaper, enqueues it. What nobody wants any
    more ends.
    """
    if lease.kind.lock(lease.work) is Demand.NONE:
        is_held = _end(lease.work, lease.held(), State.CANCELLED)
    elif is_held := bool(lease.held().update(**WAITS, attempts=F("attempts") - 1)):
        logger.info("gave %s back", dispatch.rq_id(lease.work))
        if queue_name:
            dispatch.enqueue([lease.work], queue_name)
    if not is_held:
        logger.info("lost %s", dispatch.rq_id(lease.work))


@transaction.atomic
def fail(lease: Lease[W], *, error: str, **fields: Any) -> bool:
    """Do not try it again; `error` is for people to read. False if the lease is lost."""
    lease.kind.lock(lease.work)
    return _end(lease.work, lease.held(), State.FAILED, error=error, **fields)


@transaction.atomic
def cancel(work: LeasedWork) -> bool:
    """Nobody waits for it any more. A worker that is at it loses its lease, and so writes nothing.

    False if it has ended.
    """
    kind = kind_of(work)
    kind.lock(work)
    return _end(
        work, kind.model._default_manager.filter(pk=work.pk, state__in=LeasedWork.LIVE), State.CANCELLED
    )


@transaction.atomic
def fail_unrunnable(work: W, *, error: str, lease: Lease[W] | None = None) -> None:
    """No living worker can run it: neither this one, if it has a `lease`, nor any other."""
    kind = kind_of(work)
    kind.lock(work)
    rows = lease.held() if lease else kind.model._default_manager.filter(pk=work.pk, state=State.QUEUED)
    if rows.update(state=State.FAILED, lease_until=None):
        kind.on_unrunnable(work)
        _on_ended(work, State.FAILED, error)


def _end(
    work: LeasedWork, rows: QuerySet[Any], state: LeasedWork.State, *, error: str = "", **fields: Any
) -> bool:
    """Only if `rows` still has the work."""
    if not rows.update(state=state, lease_until=None, **fields):
        return False
    _on_ended(work, state, error)
    return True


def _on_ended(work: LeasedWork, state: LeasedWork.State, error: str) -> None:
    if error:
        logger.error("%s failed: %s", dispatch.rq_id(work), error)
    work.state = state
    kind_of(work).on_ended(work, error=error)


ENQUEUED_WITHIN = timedelta(seconds=5)
"""Seconds after which what is in no queue was lost."""


def reap() -> int:
    """How much was given out again or given up. Raises redis.RedisError when the queue is away."""
    taken = sum(_take(lease) for kind in kinds.registered() for lease in leases.expired(kind))
    waiting = queue.waiting_ids()
    return taken + sum(_enqueue_lost(kind, waiting) for kind in kinds.registered())


def due(waiting: QuerySet[W]) -> QuerySet[W]:
    """Without what may still be on its way to a queue; with what a clock that is ahead dated."""
    is_old = Q(queued_at__lt=Now() - ENQUEUED_WITHIN)
    return waiting.filter(is_old | Q(queued_at__gt=Now() + ENQUEUED_WITHIN))


def _take(lease: Lease[Any]) -> bool:
    """From a worker that is gone."""
    worker, label = lease.work.worker, lease.label
    is_taken = retry(lease, error=f"The worker {worker} died while it worked on {label}.")
    if is_taken:
        logger.warning("worker %s died with %s", worker, dispatch.rq_id(lease.work))
    return is_taken


def _enqueue_lost(kind: Kind[Any], waiting: set[str]) -> int:
    """What waits in the database and not in Redis. What is enqueued twice is still done once."""
    present = set(map(dispatch.name_in, waiting))
    old = due(kind.waiting())
    lost = [pk for pk in old.values_list("pk", flat=True) if kind.name_of(pk) not in present]
    if lost:
        dispatch.enqueue_now(list(old.filter(pk__in=lost)))
        level = logging.INFO if kind.is_timed else logging.WARNING
        logger.log(level, "enqueued %d pieces of work that no queue had: %s", len(lost), kind.name)
    return len(lost)
