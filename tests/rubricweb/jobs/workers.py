"""Real worker processes for the tests, on the test's database and Redis."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

from rubricweb.jobs import queue
from tests.servers import end_other_sessions, somebody_writes

ROOT = Path(__file__).resolve().parents[3]
SOON = 120.0
"""Seconds until a test gives up: long, because the machine may be busy."""


def wait_until(holds: Callable[[], object], *, seconds: float = SOON, what: str = "") -> None:
    """Poll; the tests never sleep and hope."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"gave up waiting: {what or holds}"
        time.sleep(0.02)


class WorkerProcess:
    """`manage.py worker` in a process of its own."""

    def __init__(
        self, database_url: str, redis_url: str, *, lease_seconds: int, log: Path, calls: Path | None = None
    ) -> None:
        """With `calls` it knows the grader of `counting`, which writes its calls to that file."""
        environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "RUBRIC_LEASE_SECONDS": str(lease_seconds),
            "PYTHONWARNINGS": "default",
        }
        self.log = log.open("wb")
        command = [sys.executable, str(ROOT / "manage.py"), "worker"]
        if calls is not None:
            environment["COUNTED_CALLS"] = str(calls)
            command = [sys.executable, "-m", "tests.rubricweb.grades.counting"]
        self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=self.log, stderr=self.log)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        return Path(self.log.name).read_text(encoding="utf-8")

    def is_heard(self) -> bool:
        with contextlib.suppress(redis.RedisError):
            return any(beat.name.endswith(f"-{self.process.pid}") for beat in queue.living_workers())
        return False

    def wait_until_heard(self) -> WorkerProcess:
        wait_until(self.is_heard, what=f"a beat of worker {self.process.pid}")
        return self

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait(timeout=SOON)

    def stop(self) -> int:
        """As a process manager would; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=SOON)

    def freeze(self) -> None:
        """Stop it between two transactions: a process that is stopped in one keeps its locks.

        On SQLite everybody else would then wait for it, the server of a browser test too.
        """
        self._stop()
        deadline = time.monotonic() + SOON
        while somebody_writes():
            assert time.monotonic() < deadline, "every time it was stopped it held a lock"
            self.thaw()
            time.sleep(0.01)
            self._stop()

    def _stop(self) -> None:
        """Return when it has stopped, not when it has been told to."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def workers(database_url: str, redis_url: str, folder: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Starts workers, and kills all of them at the end, before the database goes."""
    started: list[WorkerProcess] = []

    def start(*, lease_seconds: int = 3, calls: Path | None = None) -> WorkerProcess:
        log = folder / f"worker-{len(started)}.log"
        started.append(
            WorkerProcess(database_url, redis_url, lease_seconds=lease_seconds, log=log, calls=calls)
        )
        return started[-1]

    try:
        yield start
    finally:
        for worker in started:
            worker.kill()
            worker.log.close()
        end_other_sessions()
