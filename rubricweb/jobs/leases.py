"""Leases: the right to do a piece of work, and how each attempt ends.

A worker renews its lease; of a dead one it is taken. Every step is one conditional UPDATE, so that of two who
try only one succeeds. Times are the database's own, because workers may run on machines whose clocks differ.
"""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs import kinds, queue
from rubricweb.jobs.kinds import Fate, Kind, W, kind_of
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""Attempts, failed or lost with their worker, after which work is given up."""

SET_BACK = timedelta(minutes=10)
"""A clock set back by less lengthens leases by as much; workers' own lease times may differ by it."""

State = LeasedWork.State

WAITS = {"state": State.QUEUED, "worker": "", "lease_until": None, "queued_at": Now()}
ENQUEUED_WITHIN = timedelta(seconds=5)
"""Time after which work that is in no queue counts as lost."""


class LeaseLost(Exception):
    """Raised when the work was cancelled or given to another worker: write nothing more."""


@dataclass(frozen=True, slots=True)
class Lease(Generic[W]):
    """The right of one worker to do one piece of work, for as long as its row says so."""

    kind: Kind[W]
    work: W
    """The work as it was when it was claimed."""

    @property
    def attempt(self) -> int:
        return self.work.attempts

    @property
    def name(self) -> str:
        return self.kind.name_of(self.work.pk)

    @property
    def label(self) -> str:
        """Return the work's name for people: "job 7"."""
        return self.kind.label(self.work)

    def held(self) -> QuerySet[W]:
        """Return the row as a queryset, empty once the lease is lost."""
        mine = {"state": State.LEASED, "attempts": self.work.attempts, "worker": self.work.worker}
        return self.kind.model._default_manager.filter(pk=self.work.pk, **mine)

    def renew(self) -> bool:
        """Extend the lease; False if it is lost."""
        return bool(self.held().update(lease_until=expiry()))


@transaction.atomic
def claim(kind: Kind[W], pk: int) -> Lease[W] | None:
    """Claim work that waits, or whose worker is gone; None where another has it or it has ended."""
    is_free = Q(state=State.QUEUED) | Q(state=State.LEASED) & _over_condition()
    free = kind.claimable().filter(is_free, pk=pk, attempts__lt=MAX_ATTEMPTS)
    attempts = F("attempts") + 1
    if not free.update(state=State.LEASED, worker=worker_name(), attempts=attempts, lease_until=expiry()):
        return None
    work = kind.model._default_manager.select_related(*kind.related).get(pk=pk)
    kind.on_begun(work)
    return Lease(kind, work)


def expired(kind: Kind[W]) -> list[Lease[W]]:
    """Return leases of workers that were not heard of for a whole lease."""
    is_over = _over_condition() | Q(lease_until=None)
    rows = kind.model._default_manager.filter(is_over, state=State.LEASED).order_by("pk")
    return [Lease(kind, work) for work in rows.select_related(*kind.related)]


def _over_condition() -> Q:
    """Return the condition that a lease ended, or ends later than any given out now.

    The latter happens when the clock was set back meanwhile.
    """
    return Q(lease_until__lt=Now()) | Q(lease_until__gt=expiry() + SET_BACK)


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def expiry() -> Any:  # Any: a database expression
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


@transaction.atomic
def finish(lease: Lease[W], **fields: Any) -> None:
    """End the work as done, and save `fields` with it. Raises LeaseLost."""
    lease.kind.lock(lease.work)
    if not _end(lease.work, lease.held(), State.DONE, **fields):
        raise LeaseLost


@transaction.atomic
def retry(lease: Lease[W], *, error: str) -> bool:
    """Requeue the work after a failed attempt, or give it up. Return False if the lease is lost."""
    fate = lease.kind.lock(lease.work)
    if fate is Fate.DROP:
        return _end(lease.work, lease.held(), State.CANCELLED)
    if lease.attempt >= MAX_ATTEMPTS:
        return _end(lease.work, lease.held(), State.FAILED, error=error)
    is_held = bool(lease.held().update(**WAITS))
    if is_held and fate is Fate.QUEUE:
        queue.enqueue([lease.work])
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
    if lease.kind.lock(lease.work) is Fate.DROP:
        is_held = _end(lease.work, lease.held(), State.CANCELLED)
    elif is_held := bool(lease.held().update(**WAITS, attempts=F("attempts") - 1)):
        logger.info("gave %s back", queue.rq_id(lease.work))
        if queue_name:
            queue.enqueue([lease.work], queue_name)
    if not is_held:
        logger.info("lost %s", queue.rq_id(lease.work))


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
        logger.error("%s failed: %s", queue.rq_id(work), error)
    work.state = state
    kind_of(work).on_ended(work, error=error)


def reap() -> int:
    """Requeue or give up lost work, and return how much. Raises redis.RedisError without Redis."""
    taken = sum(_take(lease) for kind in kinds.registered() for lease in expired(kind))
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
        logger.warning("worker %s died with %s", worker, queue.rq_id(lease.work))
    return is_taken


def _enqueue_lost(kind: Kind[Any], waiting: set[str]) -> int:
    """Enqueue what waits in the database but not in Redis. Work enqueued twice is still done once."""
    present = set(map(queue.name_in, waiting))
    old = due(kind.waiting())
    lost = [pk for pk in old.values_list("pk", flat=True) if kind.name_of(pk) not in present]
    if lost:
        queue.enqueue_now(list(old.filter(pk__in=lost)))
        level = logging.INFO if kind.is_timed else logging.WARNING
        logger.log(level, "enqueued %d pieces of work that no queue had: %s", len(lost), kind.name)
    return len(lost)
