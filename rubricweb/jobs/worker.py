"""The worker process: RQ without forking, a heartbeat, and the entry point of each piece of work."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connections
from rq import Queue, SimpleWorker
from rq.exceptions import DequeueTimeout, StopRequested
from rq.job import Job
from rq.worker import WorkerStatus

from grading.errors import GradingError
from rubricweb.core import redaction, telemetry
from rubricweb.core.database import is_locked, short_wait
from rubricweb.core.errors import is_disk_full, sqlstate
from rubricweb.core.reader import everything
from rubricweb.jobs import kinds, leases, probes, queue, steering, worker_state
from rubricweb.jobs.kinds import CannotRun, Stopping
from rubricweb.jobs.leases import Lease, LeaseLost, worker_name

logger = logging.getLogger(__name__)

CONNECTION_LOST = (OperationalError, InterfaceError, ProgrammingError)
"""Errors of a lost connection; the last is SQLite's for a closed one."""

SERVER_DOWN = "No reply from the model: {}. Check that its server runs, then resume."

RETRY_SECONDS = 1.0
LONGEST_RETRY_SECONDS = 5.0
IDLE_SECONDS = 1
"""Longest time in which an idle worker notices that it must stop."""
STEP_SECONDS = 0.1
WORKER_TTL = 30
"""Seconds of RQ's own heartbeat, which an idle worker renews at half of it."""
BEATS_A_LEASE = 3


def close_dead_connections() -> None:
    """Close database connections that broke; the next query opens new ones."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.is_usable():
            connection.close()


def has_lost_connection(error: Exception) -> bool:
    """Return whether PostgreSQL went away, rather than refused a statement.

    Source: PostgreSQL documentation, Appendix A: classes 08 and 57P; what the client itself notices has none.
    """
    if not isinstance(error, CONNECTION_LOST) or not hasattr(error.__cause__, "sqlstate"):
        return False
    code = sqlstate(error)
    return code is None or code.startswith(("08", "57P"))


def work_on(kind_name: str, pk: int) -> None:
    """Do one piece of work, unless another worker has it or it has ended. Nothing is hidden from it."""
    with everything():
        close_dead_connections()
        kind = kinds.get(kind_name)
        lease = leases.claim(kind, pk)
        if lease is None:
            logger.info("%s %s is done, or another worker has it", kind_name, pk)
            return
        with redaction.about(queue.rq_id(lease.work)), telemetry.span(f"work {kind_name}"):
            began = time.perf_counter()
            _attempt(lease)
            probes.count_attempt(lease, time.perf_counter() - began)


def _attempt(lease: Lease[Any]) -> None:
    try:
        with worker_state.now.on(lease):
            if worker_state.now.is_stopping:
                raise Stopping
            worker_state.raise_if_refused(lease)
            lease.kind.run(lease)
    except LeaseLost:
        logger.info("lost %s", queue.rq_id(lease.work))
    except Stopping:
        leases.give_back(lease)
    except CannotRun as error:
        worker_state.refuse(lease, str(error))
    except Exception as error:
        logger.warning("%s failed", queue.rq_id(lease.work), exc_info=True)
        close_dead_connections()
        message = str(error) if isinstance(error, GradingError) else f"{type(error).__name__}: {error}"
        if is_disk_full(error):
            steering.stop_for_room(lease)
        elif has_lost_connection(error) or is_locked(error):
            leases.give_back(lease, queue_name=queue.queue_of(lease.work))
        elif steering.is_server_down(lease, error):
            steering.give_back_and_pause(lease, reason=SERVER_DOWN.format(error))
        elif lease.kind.is_retried:
            leases.retry(lease, error=message)
        else:
            leases.fail(lease, error=message)


def beat() -> None:
    """Report this worker's state to Redis. Raises redis.RedisError."""
    queue.beat(worker_state.now.beat())


DUTIES: tuple[Callable[[], object], ...] = (
    beat,
    worker_state.now.renew,
    worker_state.now.hand_back,
    leases.reap,
    worker_state.fail_what_nobody_can_run,
    kinds.do_duties,
)
"""Functions that a worker calls every few seconds beside its work; failed ones run again at the next beat."""


class Beat(threading.Thread):
    """A thread that reports the worker as alive, even during a long batch, and does its regular duties."""

    def __init__(self, duties: Iterable[Callable[[], object]] = DUTIES) -> None:
        super().__init__(name="beat", daemon=True)
        self.duties = tuple(duties)
        self.seconds = min(queue.BEAT_SECONDS, settings.LEASE_SECONDS / BEATS_A_LEASE)
        self.is_over = threading.Event()

    def run(self) -> None:
        with everything(), short_wait():  # else an import that holds SQLite would keep it from beating
            self.once()
            while not self.is_over.wait(self.seconds):
                self.once()
        connections.close_all()

    def once(self) -> None:
        close_dead_connections()
        for duty in self.duties:
            try:
                duty()
            except (redis.RedisError, DatabaseError) as error:
                level = logging.INFO if is_locked(error) else logging.WARNING
                logger.log(level, "a beat of worker %s failed: %s", worker_name(), error)


class PatientWorker(SimpleWorker):
    """An RQ worker that runs jobs in its own process, so that a loaded model stays loaded."""

    def subscribe(self) -> None:
        """Skip RQ's remote commands, whose thread does not survive a restart of Redis."""

    def unsubscribe(self) -> None:
        """Skip what `subscribe` skipped."""

    def _install_signal_handlers(self) -> None:
        """Install none: those of `Runner` also work between two connections, and never raise."""

    def stop(self) -> None:
        self._stop_requested = True

    def dequeue_job_and_maintain_ttl(
        self, timeout: int | None, max_idle_time: int | None = None
    ) -> tuple[Job, Queue] | None:
        """Return the next job, or None once the worker must stop.

        Without Redis the loop ends, and `Runner` waits.
        """
        try:
            self.set_state(WorkerStatus.IDLE)
            while not self._stop_requested:
                self.heartbeat()
                if self.should_run_maintenance_tasks:
                    self.run_maintenance_tasks()  # type: ignore[no-untyped-call]
                if received := self._next_job():
                    return received
        except redis.ConnectionError as error:
            raise StopRequested from error
        return None

    def _next_job(self) -> tuple[Job, Queue] | None:
        with contextlib.suppress(DequeueTimeout):
            received = self.queue_class.dequeue_any(
                [self.queue_class(name, connection=self.connection) for name in worker_state.queue_names()],
                IDLE_SECONDS,
                connection=self.connection,
                job_class=self.job_class,
                serializer=self.serializer,
                death_penalty_class=self.death_penalty_class,
            )
            if received:
                received[0].redis_server_version = self.get_redis_server_version()  # type: ignore[no-untyped-call]
            return received
        return None


class Runner:
    """A loop of workers until a signal. Without Redis it waits, and starts anew."""

    def __init__(self) -> None:
        self.worker: PatientWorker | None = None
        self.is_stopping = False

    def run(self) -> None:
        beat = Beat()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, self._on_signal)
        logger.info("worker %s started", worker_name())
        beat.start()
        self._work()
        beat.is_over.set()
        beat.join(timeout=LONGEST_RETRY_SECONDS)
        logger.info("worker %s stopped", worker_name())

    def _work(self) -> None:
        wait = RETRY_SECONDS
        while not self.is_stopping:
            began = time.monotonic()
            try:
                self._work_while_redis_answers()
            except redis.RedisError as error:
                logger.warning("worker %s lost Redis: %s", worker_name(), error)
            has_worked = time.monotonic() - began > LONGEST_RETRY_SECONDS
            wait = RETRY_SECONDS if has_worked else min(wait * 2, LONGEST_RETRY_SECONDS)
            self._rest(wait)

    def _work_while_redis_answers(self) -> None:
        queues = [queue.get_queue(name) for name in worker_state.queue_names()]
        self.worker = PatientWorker(queues, connection=queues[0].connection, worker_ttl=WORKER_TTL)
        if not self.is_stopping:
            self.worker.work(logging_level="ERROR")

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self.is_stopping and time.monotonic() < end:
            time.sleep(STEP_SECONDS)

    def _on_signal(self, signum: int, frame: FrameType | None) -> None:
        """Let the present job end by itself at the first signal, and end the process at the second."""
        signal.signal(signum, signal.SIG_DFL)
        self.is_stopping = True
        worker_state.now.stop()
        if self.worker is not None:
            self.worker.stop()
