"""Jobs that wait for the answers of another: they begin or are cancelled in the transaction that ends it."""

from __future__ import annotations

import logging

from rubricweb.grades.engine import parts
from rubricweb.grades.engine.answers import answered_cells
from rubricweb.grades.engine.gaps import listed
from rubricweb.grades.models import GradingJob

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
    if not (cells := _keep_answered(follower)):
        return _drop(follower, f"Job {job.pk} has ended and left no answer to verify.")
    follower.state, follower.total = State.QUEUED, cells
    follower.save(update_fields=["state", "total"])
    parts.open_more(follower)
    logger.info("job %s begins, since job %s has ended", follower.pk, job.pk)
    return True


def _drop(follower: GradingJob, error: str) -> bool:
    follower.is_closed, follower.error = True, error
    follower.save(update_fields=["is_closed", "error"])
    return False


def _keep_answered(follower: GradingJob) -> int:
    """Leave the cells whose extraction failed out, and return how many are left. None: nothing is changed."""
    parts.take_listed_cells(follower)
    cells, empty = 0, []
    for part in follower.parts.select_related("job"):
        (gap,) = listed(follower.collection, [parts.gap_of(part)])
        kept = gap.minus(gap.without(answered_cells(follower.config, [part.topic_id])[part.topic_id]))
        if kept.cells:
            cells += kept.cells
            parts.change_part(part, kept)
            part.save()
        else:
            empty.append(part.pk)
    if cells:
        follower.parts.filter(pk__in=empty).delete()
    return cells
