"""What this process is grading now: written by `jobs`, read by the worker's beat."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from rubricweb.core.queue import WorkerBeat
from rubricweb.grades.engine import leases
from rubricweb.grades.engine.leases import Lease
from rubricweb.grades.models import GraderConfig

TRIES_AGAIN_SECONDS = 300.0
"""So long a worker believes that it cannot run a grader; then somebody may have mended it."""


@dataclass
class Working:
    lease: Lease | None = None
    device: str = ""
    """Where the grader that is loaded computes, in its own words."""
    model: str = ""
    """The grader that is loaded."""
    loading: str = ""
    """The grader that is being loaded now."""
    is_stopping: bool = False
    """Set by a signal: stop after the present batch."""
    refused: dict[int, tuple[float, str]] = field(default_factory=dict)
    """By config: since when this worker cannot run it, and why."""

    def doing(self) -> str:
        lease = self.lease
        if self.loading:
            return f"loading {self.loading}"
        return f"job {lease.job_id}" if lease else "idle"

    def stop(self) -> None:
        self.is_stopping = True

    def renew(self) -> None:
        """Keep the lease while a slow batch or a loading model sends no results."""
        lease = self.lease
        if lease:
            leases.renew(lease)

    def refuse(self, config: GraderConfig, reason: str) -> None:
        self.refused[config.pk] = (time.monotonic(), reason)

    def why_not(self, config: GraderConfig) -> str:
        """Why this worker cannot run the config, if it tried in the last minutes."""
        since, reason = self.refused.get(config.pk, (0.0, ""))
        return reason if reason and time.monotonic() - since < TRIES_AGAIN_SECONDS else ""

    def cannot(self) -> tuple[int, ...]:
        now = time.monotonic()
        return tuple(pk for pk, (since, _) in list(self.refused.items()) if now - since < TRIES_AGAIN_SECONDS)

    def beat(self) -> WorkerBeat:
        return WorkerBeat(
            name=leases.worker_name(),
            at=time.time(),
            doing=self.doing(),
            device=self.device,
            model=self.model,
            memory=memory(),
            cannot=self.cannot(),
        )


def memory() -> str:
    """Memory of this process, and of the GPU that it uses, in words."""
    try:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    words = _size(resident)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        words += f", GPU {_size(torch.cuda.memory_reserved())}"
    return words


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


now = Working()
