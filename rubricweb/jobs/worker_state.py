"""State of this process: written by jobs, read by the worker's heartbeat."""

from __future__ import annotations

import contextlib
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

import redis

from rubricweb.jobs import endings, queue
from rubricweb.jobs.kinds import Stopping
from rubricweb.jobs.leases import Lease, LeaseLost, worker_name
from rubricweb.jobs.queue import WorkerBeat

HAND_BACK_SECONDS = 3.0
LOOK_SECONDS = 1.0
"""Seconds between checks whether anybody still waits for the reply that a model is writing."""
TRIES_AGAIN_SECONDS = 300.0
"""Seconds before a worker retries what it could not load."""


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


def likely_device() -> str:
    """Return "GPU" where a driver is, else "CPU" with its memory, without importing torch."""
    if Path("/dev/nvidiactl").exists() or (sys.platform == "darwin" and platform.machine() == "arm64"):
        return "GPU"
    return f"CPU, {_size(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))}"


class Refusal(NamedTuple):
    since: float
    label: str
    reason: str

    @property
    def stands(self) -> bool:
        return time.monotonic() - self.since < TRIES_AGAIN_SECONDS


@dataclass
class Working:
    lease: Lease[Any] | None = None
    backends: tuple[str, ...] = ()
    """Back-ends that this process declared."""
    device: str = field(default_factory=likely_device)
    """Device on which models would be loaded; once one is, the device it reports."""
    model: str = ""
    """Name of the loaded grader."""
    loading: str = ""
    """Name of the model being loaded."""
    written: tuple[int, int] = (0, 0)
    """Tokens of the reply being written, and the most that it may have."""
    since: float = 0
    """When it took its present work."""
    usual: float | None = None
    """Seconds that such work usually takes."""
    loading_seconds: float = 0
    """Seconds spent loading the model, out of those since `since`."""
    is_stopping: bool = False
    """Set by a signal: stop after the present batch."""
    stopped_at: float = 0
    """Monotonic time of the signal."""
    _looked: float = 0
    """When its lease was last checked."""
    refused: dict[str, Refusal] = field(default_factory=dict)
    """Work that this worker cannot do, by queue."""

    @contextmanager
    def on(self, lease: Lease[Any]) -> Iterator[None]:
        """Record `lease` as the present work inside the block."""
        self.since, self.written, self.loading_seconds = time.time(), (0, 0), 0
        with contextlib.suppress(redis.RedisError):
            self.usual = queue.usual(lease.kind.usual_names(lease.work))[0]
        self.lease = lease
        try:
            yield
        finally:
            self.lease = None

    @contextmanager
    def load(self, llm: str, name: str = "") -> Iterator[None]:
        """Say that the model is being loaded, which may take minutes, under `name` or else `llm`."""
        self.loading = name or llm
        is_here, began = llm in loaded_models(), time.monotonic()
        try:
            yield
            if not is_here and llm in loaded_models():
                self.loading_seconds = time.monotonic() - began
                with contextlib.suppress(redis.RedisError):
                    queue.note_usual([loading_name(llm)], self.loading_seconds)
        finally:
            self.loading = ""

    def on_tokens(self, written: int, most: int) -> None:
        """Record the progress of a local model's reply.

        Raises Stopping or LeaseLost where nobody waits for the reply any more.
        """
        self.written = written, most
        if self.is_stopping:
            raise Stopping
        if self.lease and time.monotonic() - self._looked > LOOK_SECONDS:
            self._looked = time.monotonic()
            if not self.lease.held().exists():
                raise LeaseLost

    def doing(self) -> str:
        lease = self.lease
        if self.loading:
            return f"loading {self.loading}"
        return lease.label if lease else "idle"

    def stop(self) -> None:
        self.is_stopping, self.stopped_at = True, time.monotonic()

    def hand_back(self) -> None:
        """Return the present work if it will not end by itself soon after the signal to stop.

        Whoever sent the signal may kill the process after some seconds.
        """
        lease = self.lease
        is_late = self.is_stopping and time.monotonic() - self.stopped_at > HAND_BACK_SECONDS
        need = lease.kind.need(lease.work) if lease and is_late else None
        if lease and need and need.backend:
            endings.give_back(lease)

    def renew(self) -> None:
        """Keep the lease while a slow batch or a loading model brings no results."""
        lease = self.lease
        if lease:
            lease.renew()

    def refuse(self, queue_name: str, label: str, reason: str) -> None:
        self.refused[queue_name] = Refusal(time.monotonic(), label, reason)

    def why_not(self, queue_name: str) -> str:
        """Return why this worker cannot do the work of that queue, if it tried in the last minutes."""
        refusal = self.refused.get(queue_name)
        return refusal.reason if refusal and refusal.stands else ""

    def cannot(self) -> dict[str, str]:
        """Return the labels of what it cannot do, by queue."""
        return {name: refusal.label for name, refusal in list(self.refused.items()) if refusal.stands}

    def beat(self) -> WorkerBeat:
        lease = self.lease
        return WorkerBeat(
            name=worker_name(),
            at=time.time(),
            doing=self.doing(),
            device=self.device,
            model=self.model,
            memory=memory(),
            backends=self.backends,
            cannot=self.cannot(),
            loaded=tuple(sorted(loaded_models())),
            work=lease.name if lease else "",
            collection=lease.kind.collection_id(lease.work) if lease else None,
            since=self.since,
            usual=self.usual if lease else None,
            done=self.written[0] if lease else 0,
            total=self.written[1] if lease else 0,
        )


def loaded_models() -> set[str]:
    """Return the names of the local models in memory, of a process that may never have loaded one."""
    module = sys.modules.get("grading.graders.hf_model")
    return module.loaded_names() if module else set()


def loading_name(llm: str) -> str:
    """Return the name under which workers keep how long the model takes to load."""
    return f"loading:{llm}"


def memory() -> str:
    """Return the memory of this process, and of the GPU that it uses, as text."""
    try:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    text = _size(resident)
    cuda = getattr(sys.modules.get("torch"), "cuda", None)  # which it lacks while another thread imports it
    if cuda is not None and getattr(cuda, "is_initialized", bool)():
        text += f", GPU {_size(cuda.memory_reserved())}"
    return text


now = Working()
