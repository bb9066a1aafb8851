"""What RQ runs: grade one chunk. Carries ids only, and is safe to run twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache

from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders import Grader, GraderSpec, registry
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine import chunks, dispatch, endings, leases, working
from rubricweb.grades.engine.chunks import Result, Work
from rubricweb.grades.engine.leases import Lease, LeaseLost

logger = logging.getLogger(__name__)

BATCH_RESULTS = 256
BATCH_SECONDS = 1.0
"""A batch is saved when it is this large or this old: slow graders show each grade, fast ones save time."""
LOADED_GRADERS = 4

CANNOT_RUN = (GraderUnavailable, UnknownGrader, UnknownPrompt)


class Stopping(Exception):
    """The worker was asked to stop."""


class Unanswered(Exception):
    """The grader gave no result for some of its pairs."""


def grade_chunk(chunk_id: int) -> None:
    """Grade what the chunk lacks, unless another worker has it."""
    lease = leases.claim(chunk_id)
    if lease is None:
        logger.info("chunk %s was not to be had", chunk_id)
        return
    working.now.lease = lease
    try:
        _grade(lease)
    except LeaseLost:
        logger.info("lost chunk %s of job %s", lease.chunk_id, lease.job_id)
    except Stopping:
        leases.give_back(lease)
    except CANNOT_RUN as error:
        logger.error("job %s cannot be graded here: %s", lease.job_id, error)
        endings.fail_job(lease, error=str(error))
    except Exception as error:
        logger.warning("chunk %s of job %s failed", lease.chunk_id, lease.job_id, exc_info=True)
        endings.retry_chunk(lease, error=f"{type(error).__name__}: {error}")
    finally:
        working.now.lease = None


def _grade(lease: Lease) -> None:
    started = time.monotonic()
    work = chunks.work_of(lease)
    dispatch.announce(work.chunk.job)
    rest = 0.0
    if work.left:
        grader = loaded(spec_of(work.chunk.job.config))
        working.now.device = grader.device
        rest = _save_all(lease, work, grader.grade(work.pairs()))
    if work.unanswered:
        raise Unanswered(f"The grader gave no result for {len(work.unanswered)} of {len(work.left)} pairs.")
    endings.end_chunk(lease, seconds=rest)
    seconds = time.monotonic() - started
    logger.info(
        "graded chunk %s of job %s: %d cells in %.2f s", lease.chunk_id, lease.job_id, len(work.left), seconds
    )


@lru_cache(maxsize=LOADED_GRADERS)
def loaded(spec: GraderSpec) -> Grader:
    """The grader, its model loaded; kept in the process, so that a job does not load it again."""
    return registry.build(spec)


def _save_all(lease: Lease, work: Work, results: Iterable[Result]) -> float:
    """Returns the seconds that no batch counts: those that it took to save the last one."""
    counted = time.monotonic()
    for batch in _batches(results):
        seconds, counted = time.monotonic() - counted, time.monotonic()
        chunks.save(lease, work, batch, seconds)
        dispatch.announce(work.chunk.job)
        if working.now.is_stopping and work.unanswered:
            raise Stopping
    return time.monotonic() - counted


def _batches(results: Iterable[Result]) -> Iterator[list[Result]]:
    batch: list[Result] = []
    began = time.monotonic()
    for result in results:
        batch.append(result)
        if len(batch) >= BATCH_RESULTS or time.monotonic() - began >= BATCH_SECONDS:
            yield batch
            batch, began = [], time.monotonic()
    if batch:
        yield batch
