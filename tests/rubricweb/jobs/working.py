"""What a worker does with a piece of work, here and now."""

from __future__ import annotations

from typing import Any

from rubricweb.jobs import leases
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.models import LeasedWork


def claim(work: LeasedWork) -> Lease[Any] | None:
    """None where another worker has it, or it has ended."""
    return leases.claim(kind_of(work), work.pk)
