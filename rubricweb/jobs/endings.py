"""How an attempt ends: the work is done, waits for another worker, or is given up."""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs import dispatch
from rubricweb.jobs.kinds import Demand, W, kind_of
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
        kind.cannot_be_run(work)
        _has_ended(work, State.FAILED, error)


def _end(
    work: LeasedWork, rows: QuerySet[Any], state: LeasedWork.State, *, error: str = "", **fields: Any
) -> bool:
    """Only if `rows` still has the work."""
    if not rows.update(state=state, lease_until=None, **fields):
        return False
    _has_ended(work, state, error)
    return True


def _has_ended(work: LeasedWork, state: LeasedWork.State, error: str) -> None:
    if error:
        logger.error("%s failed: %s", dispatch.rq_id(work), error)
    work.state = state
    kind_of(work).has_ended(work, error=error)
