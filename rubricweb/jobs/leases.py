"""Leases: the right to do a piece of work, renewed by its worker and taken from a dead one.

Every step is one conditional UPDATE, so that of two who try only one succeeds. Times are the database's own,
because workers may run on machines whose clocks differ.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs.kinds import Kind, W
from rubricweb.jobs.models import LeasedWork

MAX_ATTEMPTS = 3
"""Attempts, failed or lost with their worker, after which work is given up."""

SET_BACK = timedelta(minutes=10)
"""A clock set back by less lengthens leases by as much; workers' own lease times may differ by it."""

State = LeasedWork.State


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
