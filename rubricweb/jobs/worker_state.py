"""Workers: what this one does and has loaded, and which living worker can run which work.

A worker declares its back-ends when it starts, and listens on the queues that are named after them. Work that
needs no back-end is short: import checks, releases, exports, grading without a model. A worker that declares
none does only that, so that short work waits behind no model where one such worker runs. What a worker
declares and cannot run after all, because a model is missing or too large, it refuses for a while and hands
over: such work waits in a queue of its own, into which only those look that have not refused.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import redis
from django.conf import settings

from rubricweb.jobs import kinds, leases, queue
from rubricweb.jobs.kinds import CannotRun, Need, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost, due, worker_name
from rubricweb.jobs.models import Job, LeasedWork

logger = logging.getLogger(__name__)

HAND_BACK_SECONDS = 3.0
LOOK_SECONDS = 1.0
"""Seconds between checks whether anybody still waits for the reply that a model is writing."""
TRIES_AGAIN_SECONDS = 300.0
"""Seconds before a worker retries what it could not load."""

HANDED_OVER = "for-"


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


def likely_device() -> str:
    """Return "GPU" where a driver is, else "CPU" with its memory, without importing torch."""
    if Path("/dev/nvidiactl").exists() or (sys.platform == "darwin" and platform.machine() == "arm64"):
        return "GPU"
    return f"CPU, {_size(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))}"


class QueueRefusal(NamedTuple):
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
    refused: dict[str, QueueRefusal] = field(default_factory=dict)
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
            return f"{queue.LOADING}{self.loading}"
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
            leases.give_back(lease)

    def renew(self) -> None:
        """Keep the lease while a slow batch or a loading model brings no results."""
        lease = self.lease
        if lease:
            lease.renew()

    def refuse(self, queue_name: str, label: str, reason: str) -> None:
        self.refused[queue_name] = QueueRefusal(time.monotonic(), label, reason)

    def why_not(self, queue_name: str) -> str:
        """Return why this worker cannot do the work of that queue, if it tried in the last minutes."""
        refusal = self.refused.get(queue_name)
        return refusal.reason if refusal and refusal.stands else ""

    def cannot(self) -> dict[str, str]:
        """Return the labels of what it cannot do, by queue."""
        return {name: refusal.label for name, refusal in list(self.refused.items()) if refusal.stands}

    def beat(self) -> queue.WorkerBeat:
        lease = self.lease
        return queue.WorkerBeat(
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
_unserved_since: dict[str, float] = {}
"""Times since when this worker knows of no worker with each back-end."""


def declare() -> None:
    """Declare what this process can run, as far as can be told without loading a model."""
    now.backends = tuple(sorted({backend for kind in kinds.registered() for backend in kind.backends()}))


def queue_names() -> list[str]:
    """Return where this worker looks for work, in order. Raises redis.RedisError."""
    backends = now.backends
    refused, prefixes = now.cannot(), tuple(map(_prefix, ("", *backends)))
    handed = [name for name in queue.known_names() if name.startswith(prefixes) and name not in refused]
    names = names_for(backends)
    return [*names[: len(backends) + 1], *handed, *names[len(backends) + 1 :]]


def names_for(backends: Iterable[str]) -> list[str]:
    """Return the queues of a worker with these back-ends, in its order: short work first of each priority."""
    return [queue.name_for(priority, name) for priority in Job.Priority.values for name in ("", *backends)]


def is_preceded(work: LeasedWork) -> bool:
    """Return whether something waits that this worker would take before `work`.

    Raises redis.RedisError.
    """
    names, own = names_for(now.backends), queue.queue_of(work)
    return own in names and any(queue.waiting_by_queue(names[: names.index(own)]))


def handed_over(need: Need) -> str:
    """Return the queue in which such work waits for another worker."""
    return f"{_prefix(need.backend)}{need.key}"


def _prefix(backend: str) -> str:
    return f"{HANDED_OVER}{backend}-"


def can_run(worker: queue.WorkerBeat, need: Need) -> bool:
    return worker.has(need.backend) and handed_over(need) not in worker.cannot


def others_can(need: Need) -> bool:
    """Return whether a living worker besides this one may be able to. Raises redis.RedisError."""
    others = (worker for worker in queue.living_workers() if worker.name != worker_name())
    return any(can_run(worker, need) for worker in others)


def raise_if_refused(lease: Lease[Any]) -> None:
    """Raise CannotRun if this worker failed in the last minutes where another may do better."""
    need = lease.kind.need(lease.work)
    reason = now.why_not(handed_over(need)) if need else ""
    try:
        if need and reason and others_can(need):
            raise CannotRun(reason)
    except redis.RedisError:
        return


def refuse(lease: Lease[Any], reason: str) -> None:
    """Hand over work that this worker cannot do, or fail it where no other worker can."""
    need = lease.kind.need(lease.work)
    if need is None:
        leases.fail(lease, error=reason)
        return
    now.refuse(handed_over(need), need.label, reason)
    try:
        queue.beat(now.beat())
        if others_can(need):
            logger.info("handed %s over: %s", queue.rq_id(lease.work), reason)
            leases.give_back(lease, queue_name=handed_over(need))
            return
    except redis.RedisError:
        leases.give_back(lease)
        return
    leases.fail_unrunnable(lease.work, error=reason, lease=lease)


def fail_what_nobody_can_run() -> None:
    """Fail work that needs a back-end or a model of no living worker. Raises redis.RedisError."""
    living = queue.living_workers()
    if not living:
        return
    for kind in kinds.registered():
        needs = [(work, kind.need(work)) for work in kind.examples(due(kind.waiting()))]
        for work, need in needs:
            if need and (reason := _why_nobody(need, living)):
                message = f"No living worker can run {need.label}. {reason}"
                leases.fail_unrunnable(work, error=message)


def _why_nobody(need: Need, living: list[queue.WorkerBeat]) -> str:
    """Return why no worker can; empty where one can, or where another worker knows the reason better."""
    if any(can_run(worker, need) for worker in living):
        _unserved_since.pop(need.backend, None)
        return ""
    if not need.backend or any(need.backend in worker.backends for worker in living):
        return now.why_not(handed_over(need))
    since = _unserved_since.setdefault(need.backend, time.monotonic())
    is_over = time.monotonic() - since >= settings.WORKER_WAIT_SECONDS
    return need.remedy if is_over else ""
