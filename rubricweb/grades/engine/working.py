"""What this process is grading now: written by `jobs`, read by the worker's beat."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.grades.engine import leases
from rubricweb.grades.engine.leases import Lease


@dataclass
class Working:
    lease: Lease | None = None
    device: str = ""
    """Where the grader that is loaded computes, in its own words."""
    is_stopping: bool = False
    """Set by a signal: stop after the present batch."""

    def doing(self) -> str:
        lease = self.lease
        return f"job {lease.job_id}" if lease else "idle"

    def stop(self) -> None:
        self.is_stopping = True

    def renew(self) -> None:
        """Keep the lease while a slow batch or a loading model sends no results."""
        lease = self.lease
        if lease:
            leases.renew(lease)


now = Working()
