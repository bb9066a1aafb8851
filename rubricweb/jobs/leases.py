"""What leases of every kind share: who holds one, and until when.

Every step of a lease is one conditional UPDATE, so that of two who try only one succeeds. Times are the
database's own, because workers may run on machines whose clocks differ.
"""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db.models.functions import Now

MAX_ATTEMPTS = 3
"""What fails, or loses its worker, this many times is given up."""
ENQUEUED_WITHIN = timedelta(seconds=5)
"""Younger work may still be on its way to the queue."""


class Leased(Protocol):
    """What a worker has a lease on."""

    @property
    def words(self) -> str:
        """For people: "job 7"."""
        ...

    def renew(self) -> bool:
        """Stay the owner for another while; False if the lease is lost."""
        ...


def worker_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def expiry() -> Any:  # Any: a database expression
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)
