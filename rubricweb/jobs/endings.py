"""The ends of attempts, including those whose worker died."""

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
    """End the work as done, and save `fields` with it. Raises LeaseLost."""
    lease.kind.lock(lease.work)
    if not _end(lease.work, lease.held(), State.DONE, **fields):
        raise LeaseLost


@transaction.atomic
def retry(lease: Lease[W], *, error: str) -> bool:
    """Requeue the work after a failed attempt, or give it up. Return False if the lease is lost."""
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
    """Put work that can go no further now back to waiting.

    `fields`, which say until when, are saved with it. Raises LeaseLost.
    """
    lease.kind.lock(lease.work)
    if not lease.held().update(**WAITS, attempts=0, **fields):
        raise LeaseLost


@transaction.atomic
def give_back(lease: Lease[W], *, queue_name: str = "") -> None:
    """Return the work for another worker, without counting an attempt.

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
    """Fail the work for good; `error` is for people to read. Return False if the lease is lost."""
    lease.kind.lock(lease.work)
    return _end(lease.work, lease.held(), State.FAILED, error=error, **fields)


@transaction.atomic
def cancel(work: LeasedWork) -> bool:
    """Cancel the work, and return whether it had not ended yet.

    A worker that is at it loses its lease, and so writes nothing.
    """
    kind = kind_of(work)
    kind.lock(work)
    return _end(
        work, kind.model._default_manager.filter(pk=work.pk, state__in=LeasedWork.LIVE), State.CANCELLED
    )


@transaction.atomic
def fail_unrunnable(work: W, *, error: str, lease: Lease[W] | None = None) -> None:
    """Fail work that no living worker can run: neither the holder of `lease`, if any, nor another."""
    kind = kind_of(work)
    kind.lock(work)
    rows = lease.held() if lease else kind.model._default_manager.filter(pk=work.pk, state=State.QUEUED)
    if rows.update(state=State.FAILED, lease_until=None):
        kind.on_unrunnable(work)
        _on_ended(work, State.FAILED, error)


def _end(
    work: LeasedWork, rows: QuerySet[Any], state: LeasedWork.State, *, error: str = "", **fields: Any
) -> bool:
    """End the work if it is still among `rows`, and return whether it was."""
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
"""Time after which work that is in no queue counts as lost."""


def reap() -> int:
    """Requeue or give up lost work, and return how much. Raises redis.RedisError without Redis."""
    taken = sum(_take(lease) for kind in kinds.registered() for lease in leases.expired(kind))
    waiting = queue.waiting_ids()
    return taken + sum(_enqueue_lost(kind, waiting) for kind in kinds.registered())


def due(waiting: QuerySet[W]) -> QuerySet[W]:
    """Return waiting work that must be in a queue by now, including work dated by a clock that is ahead."""
    is_old = Q(queued_at__lt=Now() - ENQUEUED_WITHIN)
    return waiting.filter(is_old | Q(queued_at__gt=Now() + ENQUEUED_WITHIN))


def _take(lease: Lease[Any]) -> bool:
    """Requeue work whose worker died."""
    worker, label = lease.work.worker, lease.label
    is_taken = retry(lease, error=f"The worker {worker} died while it worked on {label}.")
    if is_taken:
        logger.warning("worker %s died with %s", worker, dispatch.rq_id(lease.work))
    return is_taken


def _enqueue_lost(kind: Kind[Any], waiting: set[str]) -> int:
    """Enqueue what waits in the database but not in Redis. Work enqueued twice is still done once."""
    present = set(map(dispatch.name_in, waiting))
    old = due(kind.waiting())
    lost = [pk for pk in old.values_list("pk", flat=True) if kind.name_of(pk) not in present]
    if lost:
        dispatch.enqueue_now(list(old.filter(pk__in=lost)))
        level = logging.INFO if kind.is_timed else logging.WARNING
        logger.log(level, "enqueued %d pieces of work that no queue had: %s", len(lost), kind.name)
    return len(lost)
