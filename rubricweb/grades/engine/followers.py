"""Jobs that wait for the answers of another: they begin or are cancelled in the transaction that ends it."""

from __future__ import annotations

import logging

from rubricweb.grades.engine.answers import Cell, answered_cells
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs import dispatch

logger = logging.getLogger(__name__)

State = GradingJob.State


def release(job: GradingJob) -> list[GradingJob]:
    """`job`, whose row is locked, has just ended. Returns the locked jobs that have nothing to verify."""
    locked = GradingJob.objects.select_for_update(no_key=True, of=("self",))
    waiting = locked.filter(after=job, state=State.WAITING)
    followers = list(waiting.select_related("collection", "config").order_by("pk"))
    return [follower for follower in followers if not _begins(follower, job)]


def _begins(follower: GradingJob, job: GradingJob) -> bool:
    if job.state == State.CANCELLED:
        return _drop(follower, f"Job {job.pk}, for whose answers this one waited, was cancelled.")
    chunks = _with_answers(follower)
    if not chunks:
        return _drop(follower, f"Job {job.pk} has ended and left no answer to verify.")
    follower.chunks.exclude(pk__in=[chunk.pk for chunk in chunks]).delete()
    JobChunk.objects.bulk_update(chunks, ["cells", "size"], batch_size=200)
    follower.state, follower.total = State.QUEUED, sum(chunk.size for chunk in chunks)
    follower.save(update_fields=["state", "total"])
    dispatch.enqueue(chunks)
    logger.info("job %s begins, since job %s has ended", follower.pk, job.pk)
    return True


def _drop(follower: GradingJob, error: str) -> bool:
    follower.chunks.update(state=JobChunk.State.CANCELLED)
    follower.error = error
    follower.save(update_fields=["error"])
    return False


def _with_answers(follower: GradingJob) -> list[JobChunk]:
    """Its chunks without the cells whose extraction failed, as far as anything is left of them."""
    topics = follower.chunks.order_by("topic").values_list("topic", flat=True).distinct()
    left = []
    for topic_id in topics:
        answered = answered_cells(follower.config, [topic_id])[topic_id]
        chunks = follower.chunks.filter(topic=topic_id)
        left += [chunk for chunk in chunks if _keep(chunk, answered)]
    return left


def _keep(chunk: JobChunk, answered: set[Cell]) -> bool:
    chunk.cells = [cell for cell in chunk.cells if tuple(cell) in answered]
    chunk.size = len(chunk.cells)
    return bool(chunk.cells)
