"""The worker process: RQ without forking, a beat beside it, and patience with a Redis that comes and goes."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

import redis
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connections
from rq import Queue, SimpleWorker
from rq.exceptions import DequeueTimeout, StopRequested
from rq.job import Job
from rq.worker import WorkerStatus

from rubricweb.jobs import queue

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 5.0
IDLE_SECONDS = 1
"""So long an idle worker takes to notice that it shall stop."""
STEP_SECONDS = 0.1
CONNECTION_LOST = (OperationalError, InterfaceError, ProgrammingError)
"""The last is what SQLite says of a closed connection."""
WORKER_TTL = 30
"""Seconds; RQ's own beat, which an idle worker renews at half of it."""


@dataclass(frozen=True, slots=True)
class Duties:
    """What a worker does besides its jobs; the grades app says it, since core knows nothing of grading."""

    name: str
    beat: Callable[[], queue.WorkerBeat]
    more_queues: Callable[[], list[str]]
    """Queues to look into besides those that every worker serves."""
    every_beat: tuple[Callable[[], object], ...]
    """Called one after the other with each beat; one that fails is tried again with the next."""
    stop: Callable[[], None]
    """Called in a signal handler: let the present job end soon."""
    beat_seconds: float = queue.BEAT_SECONDS


class Beat(threading.Thread):
    """Says that the worker is alive, also in the middle of a long batch, and does its regular duties."""

    def __init__(self, duties: Duties) -> None:
        super().__init__(name="beat", daemon=True)
        self.duties = duties
        self.is_over = threading.Event()

    def run(self) -> None:
        self.once()
        while not self.is_over.wait(self.duties.beat_seconds):
            self.once()
        connections.close_all()

    def once(self) -> None:
        duties = self.duties
        close_dead_connections()
        for duty in (self._say, *duties.every_beat):
            try:
                duty()
            except (redis.RedisError, DatabaseError) as error:
                logger.warning("a beat of worker %s failed: %s", duties.name, error)

    def _say(self) -> None:
        queue.beat(self.duties.beat())


class PatientWorker(SimpleWorker):
    """Runs jobs in its own process, so that a loaded model stays loaded, and looks up every second."""

    more_queues: Callable[[], list[str]]

    def subscribe(self) -> None:
        """Without RQ's remote commands, whose thread does not survive a Redis that restarts."""

    def unsubscribe(self) -> None:
        """See `subscribe`."""

    def _install_signal_handlers(self) -> None:
        """`Runner` has them: they must also work between two connections, and never raise."""

    def stop(self) -> None:
        self._stop_requested = True

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """The next job, or None once the worker shall stop. Without Redis the loop ends: `Runner` waits."""
        try:
            self.set_state(WorkerStatus.IDLE)
            while not self._stop_requested:
                self.heartbeat()
                if self.should_run_maintenance_tasks:
                    self.run_maintenance_tasks()  # type: ignore[no-untyped-call]
                if found := self._next_job():
                    return found
        except redis.ConnectionError as error:
            raise StopRequested from error
        return None

    def _next_job(self) -> tuple[Job, Queue] | None:
        first, *rest = queue.NAMES
        names = (first, *self.more_queues(), *rest)
        with contextlib.suppress(DequeueTimeout):
            found = self.queue_class.dequeue_any(
                [queue.get_queue(name) for name in names],
                IDLE_SECONDS,
                connection=self.connection,
                job_class=self.job_class,
                serializer=self.serializer,
                death_penalty_class=self.death_penalty_class,
            )
            if found:
                found[0].redis_server_version = self.get_redis_server_version()  # type: ignore[no-untyped-call]
            return found
        return None

    def perform_job(self, job: Job, queue: Queue) -> bool:
        close_dead_connections()
        return bool(super().perform_job(job, queue))


class Runner:
    """Works until a signal. A Redis that is away does not end it: it waits, and begins anew."""

    def __init__(self, duties: Duties) -> None:
        self.duties = duties
        self.worker: PatientWorker | None = None
        self.is_stopping = False

    def run(self) -> None:
        beat = Beat(self.duties)
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._on_signal)
        logger.info("worker %s started", self.duties.name)
        beat.start()
        self._work()
        beat.is_over.set()
        beat.join(timeout=LONGEST_RETRY_SECONDS)
        logger.info("worker %s stopped", self.duties.name)

    def _work(self) -> None:
        wait = RETRY_SECONDS
        while not self.is_stopping:
            began = time.monotonic()
            try:
                self._work_while_redis_answers()
            except redis.RedisError as error:
                logger.warning("worker %s lost Redis: %s", self.duties.name, error)
            has_worked = time.monotonic() - began > LONGEST_RETRY_SECONDS
            wait = RETRY_SECONDS if has_worked else min(wait * 2, LONGEST_RETRY_SECONDS)
            self._rest(wait)

    def _work_while_redis_answers(self) -> None:
        queues = [queue.get_queue(name) for name in queue.NAMES]
        self.worker = PatientWorker(queues, connection=queues[0].connection, worker_ttl=WORKER_TTL)
        self.worker.more_queues = self.duties.more_queues
        if not self.is_stopping:
            self.worker.work(logging_level="ERROR")

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.is_stopping and time.monotonic() < end:
            time.sleep(STEP_SECONDS)

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        """The first signal lets the present job end by itself; a second ends the process at once."""
        signal.signal(signum, signal.SIG_DFL)
        self.is_stopping = True
        self.duties.stop()
        if self.worker is not None:
            self.worker.stop()


def close_dead_connections() -> None:
    """Database connections that broke are closed, and the next query opens new ones."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.is_usable():
            connection.close()


def has_lost_connection(error: Exception) -> bool:
    """Whether PostgreSQL went away, rather than refused what was asked.

    Source: PostgreSQL documentation, Appendix A: classes 08 and 57P; what the client itself notices has none.
    """
    cause = error.__cause__
    if not isinstance(error, CONNECTION_LOST) or not hasattr(cause, "sqlstate"):
        return False
    code: str | None = cause.sqlstate  # type: ignore[union-attr]
    return code is None or code.startswith(("08", "57P"))
