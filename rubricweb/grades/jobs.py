"""What RQ runs: grade one chunk. Carries ids only, and is safe to run twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator

import redis

from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders import Grader
from rubricweb.grades import convert
from rubricweb.grades.configs import running_spec
from rubricweb.grades.engine import capabilities, chunks, dispatch, endings, leases, loaded
from rubricweb.grades.engine.breaker import Breaker
from rubricweb.grades.engine.chunks import Result, Work
from rubricweb.grades.engine.leases import Lease, LeaseLost
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.jobs import capabilities as workers
from rubricweb.jobs import worker_state
from rubricweb.jobs.worker import CONNECTION_LOST, close_dead_connections, has_lost_connection

logger = logging.getLogger(__name__)

BATCH_RESULTS = 1_000
BATCH_SECONDS = 1.0
"""A batch is saved when it is this large or this old: slow graders show each grade, fast ones save time."""
SAVE_AGAIN_AFTER = (0.1, 1.0, 5.0)
"""Seconds: what a grader has been paid for is not thrown away because the database was away for a moment."""

CANNOT_RUN = (GraderUnavailable, UnknownGrader, UnknownPrompt)


class Stopping(Exception):
    """The worker was asked to stop, or the job was paused or is being cancelled."""


class Unanswered(Exception):
    """The grader gave no result for some of its pairs."""


def grade_chunk(chunk_id: int) -> None:
    """Grade what the chunk lacks, unless another worker has it."""
    lease = leases.claim(chunk_id)
    if lease is None:
        logger.info("chunk %s was not to be had", chunk_id)
        return
    try:
        with worker_state.now.on(lease):
            _grade(lease)
    except LeaseLost:
        logger.info("lost chunk %s of job %s", lease.chunk_id, lease.job_id)
    except Stopping:
        endings.give_back(lease)
    except CANNOT_RUN as error:
        capabilities.refuse(lease, GraderConfig.objects.get(jobs=lease.job_id), str(error))
    except Exception as error:
        logger.warning("chunk %s of job %s failed", lease.chunk_id, lease.job_id, exc_info=True)
        close_dead_connections()
        if has_lost_connection(error):
            endings.give_back(lease, queue_name=GradingJob.objects.get(pk=lease.job_id).priority)
        else:
            endings.retry_chunk(lease, error=f"{type(error).__name__}: {error}")


def _grade(lease: Lease) -> None:
    started = time.monotonic()
    work = chunks.work_of(lease)
    if work.chunk.job.state not in GradingJob.WORKED_ON:
        raise Stopping
    dispatch.announce(work.chunk.job)
    rest = 0.0
    if work.left:
        grader = _grader(work.chunk.job)
        rest = _save_all(lease, work, grader.grade(work.pairs()))
    if work.unanswered:
        raise Unanswered(f"The grader gave no result for {len(work.unanswered)} of {len(work.left)} pairs.")
    endings.end_chunk(lease, seconds=rest)
    seconds = time.monotonic() - started
    logger.info(
        "graded chunk %s of job %s: %d cells in %.2f s", lease.chunk_id, lease.job_id, len(work.left), seconds
    )


def _grader(job: GradingJob) -> Grader:
    """Raises GraderUnavailable at once where this worker failed lately and another may do better."""
    config = job.config
    why_not = worker_state.now.why_not(capabilities.need_of(config).queue)
    if why_not and _others_can(config):
        raise GraderUnavailable(why_not)
    worker_state.now.loading = str(config)
    try:
        grader = loaded.grader(running_spec(job))
    finally:
        worker_state.now.loading = ""
    worker_state.now.device, worker_state.now.model = grader.device, str(config)
    return grader


def _others_can(config: GraderConfig) -> bool:
    try:
        return workers.others_can(capabilities.need_of(config).queue)
    except redis.RedisError:
        return False


def _save_all(lease: Lease, work: Work, results: Iterable[Result]) -> float:
    """Returns the seconds that no batch counts: those that it took to save the last one."""
    counted = time.monotonic()
    for batch in _batches(results, work.breaker()):
        seconds, counted = time.monotonic() - counted, time.monotonic()
        _save(lease, work, batch, seconds)
        dispatch.announce(work.chunk.job)
        if work.unanswered and _shall_stop(lease):
            raise Stopping
    return time.monotonic() - counted


def _save(lease: Lease, work: Work, batch: list[Result], seconds: float) -> None:
    """Again after a connection was lost."""
    for wait in SAVE_AGAIN_AFTER:
        try:
            chunks.save(lease, work, batch, seconds)
        except CONNECTION_LOST as error:
            logger.warning("a batch of job %s was not saved yet: %s", lease.job_id, error)
            time.sleep(wait)
            close_dead_connections()
        else:
            return
    chunks.save(lease, work, batch, seconds)


def _shall_stop(lease: Lease) -> bool:
    wanted = GradingJob.objects.filter(pk=lease.job_id, state__in=GradingJob.WORKED_ON)
    return worker_state.now.is_stopping or not wanted.exists()


def _batches(results: Iterable[Result], breaker: Breaker) -> Iterator[list[Result]]:
    """A result that breaks the circuit is saved at once, so that no more is asked for in vain."""
    batch: list[Result] = []
    began = time.monotonic()
    for result in results:
        batch.append(result)
        breaker.add(convert.error_class(result))
        is_full = len(batch) >= BATCH_RESULTS or time.monotonic() - began >= BATCH_SECONDS
        if is_full or breaker.tripped:
            yield batch
            batch, began = [], time.monotonic()
    if batch:
        yield batch
