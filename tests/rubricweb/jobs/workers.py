"""Real worker processes for the tests, on the test's database and Redis."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import redis

from rubricweb.jobs import queue
from tests.faults.service import Service
from tests.servers import end_other_sessions, somebody_writes

SOON = 120.0
"""Seconds until a test gives up: long, because the machine may be busy."""


def wait_until(holds: Callable[[], object], *, seconds: float = SOON, what: str = "") -> None:
    """Poll; the tests never sleep and hope."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"gave up waiting: {what or holds}"
        time.sleep(0.02)


class WorkerProcess(Service):
    """`rubricweb worker` in a process of its own."""

    def __init__(
        self,
        database_url: str,
        redis_url: str,
        *,
        lease_seconds: int,
        log: Path,
        calls: Path | None = None,
        clock_off: float = 0,
        options: Sequence[str] = (),
    ) -> None:
        """With `options` of the command. With `calls` it knows the grader of `counting`, which writes them to
        that file; only then its clock may be off by some seconds.
        """
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "RUBRIC_LEASE_SECONDS": str(lease_seconds),
            "PYTHONWARNINGS": "default",
        }
        command = ["manage.py", "worker", *options]
        if calls is not None:
            environment |= {"COUNTED_CALLS": str(calls), "CLOCK_OFF": str(clock_off)}
            command = ["-m", "tests.rubricweb.grades.counting"]
        # What is imported already has seen the true clock.
        super().__init__(command, environment, log, is_anew=bool(clock_off))
        self.start()

    def is_heard(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return any(beat.name.endswith(f"-{self.pid}") for beat in queue.living_workers())
        return False

    def wait_until_heard(self) -> WorkerProcess:
        wait_until(self.is_heard, what=f"a beat of worker {self.pid}")
        return self

    def freeze(self) -> None:
        """Stop it between two transactions: a process that is stopped in one keeps its locks.

        On SQLite everybody else would then wait for it, the server of a browser test too.
        """
        super().freeze()
        deadline = time.monotonic() + SOON
        while somebody_writes():
            assert time.monotonic() < deadline, "every time it was stopped it held a lock"
            self.thaw()
            time.sleep(0.01)
            super().freeze()


@contextlib.contextmanager
def workers(database_url: str, redis_url: str, folder: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Starts workers, and kills all of them at the end, before the database goes."""
    started: list[WorkerProcess] = []

    def start(*, lease_seconds: int = 3, **own: Any) -> WorkerProcess:
        """`own`: what else WorkerProcess takes, or the `database_url` that this one uses."""
        log = folder / f"worker-{len(started)}.log"
        url = own.pop("database_url", database_url)
        started.append(WorkerProcess(url, redis_url, lease_seconds=lease_seconds, log=log, **own))
        return started[-1]

    try:
        yield start
    finally:
        for worker in started:
            worker.kill()
        end_other_sessions()
