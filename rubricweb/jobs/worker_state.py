"""What this process works on now: written by jobs, read by the worker's beat."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rubricweb.jobs import leases
from rubricweb.jobs.leases import Leased
from rubricweb.jobs.queue import WorkerBeat

TRIES_AGAIN_SECONDS = 300.0
"""So long a worker believes that it cannot run a model; then somebody may have mended it."""


class Need(NamedTuple):
    """What a piece of work needs of its worker: a grader, or a model that writes."""

    queue: str
    """Where such work waits when a worker has handed it over."""
    words: str
    """For people."""


class Refusal(NamedTuple):
    since: float
    words: str
    reason: str

    @property
    def stands(self) -> bool:
        return time.monotonic() - self.since < TRIES_AGAIN_SECONDS


@dataclass
class Working:
    lease: Leased | None = None
    device: str = ""
    """Where the grader that is loaded computes, in its own words."""
    model: str = ""
    """The grader that is loaded."""
    loading: str = ""
    """What is being loaded now."""
    is_stopping: bool = False
    """Set by a signal: stop after the present batch."""
    refused: dict[str, Refusal] = field(default_factory=dict)
    """By queue: what this worker cannot run."""

    @contextmanager
    def on(self, lease: Leased) -> Iterator[None]:
        self.lease = lease
        try:
            yield
        finally:
            self.lease = None

    def doing(self) -> str:
        lease = self.lease
        if self.loading:
            return f"loading {self.loading}"
        return lease.words if lease else "idle"

    def stop(self) -> None:
        self.is_stopping = True

    def renew(self) -> None:
        """Keep the lease while a slow batch or a loading model sends no results."""
        lease = self.lease
        if lease:
            lease.renew()

    def refuse(self, need: Need, reason: str) -> None:
        self.refused[need.queue] = Refusal(time.monotonic(), need.words, reason)

    def why_not(self, queue_name: str) -> str:
        """Why this worker cannot do what is handed over there, if it tried in the last minutes."""
        refusal = self.refused.get(queue_name)
        return refusal.reason if refusal and refusal.stands else ""

    def cannot(self) -> dict[str, str]:
        """In words, by queue."""
        return {name: refusal.words for name, refusal in list(self.refused.items()) if refusal.stands}

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
