"""What this process works on now: written by jobs, read by the worker's beat."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rubricweb.jobs.leases import Lease, worker_name
from rubricweb.jobs.queue import WorkerBeat

TRIES_AGAIN_SECONDS = 300.0
"""So long a worker believes that it cannot run a model; then somebody may have mended it."""


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


def likely_device() -> str:
    """Without torch, which takes seconds to import: "GPU" where a driver is, else "CPU", with its memory."""
    if Path("/dev/nvidiactl").exists() or (sys.platform == "darwin" and platform.machine() == "arm64"):
        return "GPU"
    return f"CPU, {_size(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))}"


class Refusal(NamedTuple):
    since: float
    words: str
    reason: str

    @property
    def stands(self) -> bool:
        return time.monotonic() - self.since < TRIES_AGAIN_SECONDS


@dataclass
class Working:
    lease: Lease[Any] | None = None
    backends: tuple[str, ...] = ()
    """What this process declared to be able to run."""
    device: str = field(default_factory=likely_device)
    """Where models would compute; then where the one that is loaded does, in its own words."""
    model: str = ""
    """The grader that is loaded."""
    loading: str = ""
    """What is being loaded now."""
    is_stopping: bool = False
    """Set by a signal: stop after the present batch."""
    objection: str = ""
    """Why it takes no work from this database (`schema.py`)."""
    refused: dict[str, Refusal] = field(default_factory=dict)
    """By queue: what this worker cannot run."""

    @contextmanager
    def on(self, lease: Lease[Any]) -> Iterator[None]:
        self.lease = lease
        try:
            yield
        finally:
            self.lease = None

    @contextmanager
    def load(self, model: str) -> Iterator[None]:
        """What the worker says while a model is loaded, which may take minutes."""
        self.loading = model
        try:
            yield
        finally:
            self.loading = ""

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

    def refuse(self, queue_name: str, words: str, reason: str) -> None:
        self.refused[queue_name] = Refusal(time.monotonic(), words, reason)

    def why_not(self, queue_name: str) -> str:
        """Why this worker cannot do what is handed over there, if it tried in the last minutes."""
        refusal = self.refused.get(queue_name)
        return refusal.reason if refusal and refusal.stands else ""

    def cannot(self) -> dict[str, str]:
        """In words, by queue."""
        return {name: refusal.words for name, refusal in list(self.refused.items()) if refusal.stands}

    def beat(self) -> WorkerBeat:
        return WorkerBeat(
            name=worker_name(),
            at=time.time(),
            doing=self.doing(),
            device=self.device,
            model=self.model,
            memory=memory(),
            backends=self.backends,
            cannot=self.cannot(),
        )


def memory() -> str:
    """Memory of this process, and of the GPU that it uses, in words."""
    try:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    words = _size(resident)
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # which it lacks while another thread imports it
    if cuda is not None and getattr(cuda, "is_initialized", bool)():
        words += f", GPU {_size(cuda.memory_reserved())}"
    return words


now = Working()
