"""Chunks whose cells are asked in one batch, which is answered hours later.

The batch's id is kept with the chunk before anything is waited for. While it is not answered the chunk waits
outside of the queue, without a lease: the worker goes on with other chunks, and whoever claims the chunk when
it is due looks at the batch again. A worker that died after it sent a batch, and before it kept the id,
leaves one that the next worker finds by the digest of its requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

from django.db.models.functions import Now

from grading.errors import GradingError, TryLater
from grading.graders.base import BatchGrader
from rubricweb.grades.configs import running_spec
from rubricweb.grades.engine import loaded
from rubricweb.grades.engine.chunks import Result, Work
from rubricweb.grades.models import JobChunk
from rubricweb.jobs import worker_state
from rubricweb.jobs.kinds import Stopping
from rubricweb.jobs.leases import Lease, LeaseLost

logger = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=60)
CANCELLED_AT_ONCE = 20


class BatchFailed(Exception):
    """A batch ended without an answer to any of its cells."""


def results(lease: Lease[JobChunk], work: Work, grader: BatchGrader) -> Iterator[Result]:
    """What the chunk's batch answered. Raises Stopping where that must be waited for, and BatchFailed."""
    chunk, pairs, salt = work.chunk, list(work.pairs()), _salt(work)
    answered = 0
    try:
        if not chunk.batch:
            _wait(lease, batch=grader.find(pairs, salt) or grader.send(pairs, salt))
        state = grader.state(chunk.batch)
        if not state.has_ended:
            _wait(lease)
        if state.is_refused_for_now:
            _wait(lease, batch="")
        work.seconds += state.seconds
        if not state.problem:
            for result in grader.collect(chunk.batch, pairs, salt):
                answered += 1
                yield result
    except TryLater as error:
        logger.info("chunk %s waits: %s", chunk.pk, error)
        _wait(lease)
    if not answered:
        _keep(lease, batch="")
        raise BatchFailed(f"Batch {chunk.batch} has no answers. {state.problem}")


def ask_rest(lease: Lease[JobChunk], work: Work) -> None:
    """If the batch, which has ended, left cells without an answer, ask about these. Raises Stopping."""
    if not work.unanswered:
        return
    logger.info("%d cells of chunk %s are asked again", len(work.unanswered), work.chunk.pk)
    _keep(lease, batch="", not_before=None)
    raise Stopping


def cancel_unwanted() -> None:
    """Have nobody answer, or charge for, batches of cancelled chunks."""
    if "batch_file" not in worker_state.now.backends:
        return
    unwanted = JobChunk.objects.filter(state=JobChunk.State.CANCELLED).exclude(batch="")
    for chunk in unwanted.select_related("job__config", "job__collection")[:CANCELLED_AT_ONCE]:
        try:
            grader = loaded.grader(running_spec(chunk.job))
            if isinstance(grader, BatchGrader):
                grader.cancel(chunk.batch)
        except GradingError as error:
            logger.warning("batch %s was not cancelled: %s", chunk.batch, error)
        else:
            JobChunk.objects.filter(pk=chunk.pk).update(batch="")


def _salt(work: Work) -> str:
    """A retry asks anew, also about cells that an earlier batch answered."""
    return str(work.chunk.job_id) if work.chunk.job.is_retry else ""


def _wait(lease: Lease[JobChunk], **fields: str) -> None:
    _keep(lease, not_before=Now() + LOOK_AGAIN, **fields)
    raise Stopping


def _keep(lease: Lease[JobChunk], **fields: object) -> None:
    if not lease.held().update(**fields):
        raise LeaseLost
