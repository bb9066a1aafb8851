"""Jobs that are cut into chunks, and how they end."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, ClassVar, TypeVar

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from rubricweb.jobs import kinds
from rubricweb.jobs.kinds import Demand, Kind
from rubricweb.jobs.models import Chunk, Job

logger = logging.getLogger(__name__)

C = TypeVar("C", bound=Chunk)


class ChunkKind(Kind[C]):
    """A kind whose work is chunks of a job.

    Whoever ends a chunk locks its job first, so that of two last chunks one ends the job.
    """

    is_retried = True
    collection = "job.collection_id"
    job_related: ClassVar[tuple[str, ...]] = ()
    """Relations that are read with a job."""

    def label(self, work: C) -> str:
        return f"job {self.job_id(work)}"

    def priority(self, work: C) -> str:
        return str(self.job(work).priority)

    @property
    def job_model(self) -> type[Any]:  # Any: the subclass's job
        model: type[Any] = self.model._meta.get_field("job").related_model  # type: ignore[assignment]
        return model

    def job(self, work: C) -> Any:
        return work.job  # type: ignore[attr-defined]

    def job_id(self, work: C) -> int:
        return int(work.job_id)  # type: ignore[attr-defined]

    def claimable(self) -> QuerySet[C]:
        worked_on = self.job_model._default_manager.filter(pk=OuterRef("job_id"), state__in=Job.WORKED_ON)
        return self.model._default_manager.filter(Exists(worked_on))

    def examples(self, waiting: QuerySet[C]) -> QuerySet[C]:
        """Return one chunk of each job."""
        first = waiting.order_by().values("job").annotate(first=Min("pk")).values("first")
        return waiting.filter(pk__in=first)

    def lock(self, work: C) -> Demand:
        job = self.lock_job(self.job_id(work))
        work.job = job  # type: ignore[attr-defined]
        if job.is_cancelling:
            return Demand.NONE
        return Demand.LATER if job.is_paused else Demand.NOW

    def lock_job(self, job_id: int) -> Any:
        """Return the job's row, locked until the transaction ends.

        Rows that refer to the job can still be written.
        """
        rows = self.job_model._default_manager.select_for_update(no_key=True, of=("self",))
        return rows.select_related(*self.job_related).get(pk=job_id)

    def on_begun(self, work: C) -> None:
        queued = self.job_model._default_manager.filter(pk=self.job_id(work), state=Job.State.QUEUED)
        queued.update(state=Job.State.RUNNING, started_at=Now())

    def on_ended(self, work: C, *, error: str) -> None:
        job = self.job(work)
        if error and not job.error:  # later ones are in the log
            job.error = error[:2_000]
            job.save(update_fields=["error"])
        finish_if_done(job)

    def on_unrunnable(self, work: C) -> None:
        """Cancel the chunks that wait: no worker can run them either."""
        self.close(self.job(work))
        waiting = self.job(work).chunks.filter(state=Chunk.State.QUEUED)
        waiting.update(state=Chunk.State.CANCELLED)

    def job_changed(self, job: Any) -> None:
        """Tell pages that the job was paused or resumed, or ended; called once that is committed."""

    def on_finished(self, job: Any) -> None:
        """React to the end of the job, in the same transaction."""

    def on_resumed(self, job: Any) -> None:
        """React to the job being resumed, in the same transaction, with its row locked."""

    def open_more(self, job: Any) -> None:
        """Make more chunks, if `job`, whose row is locked, has few left and was not closed."""

    def close(self, job: Any) -> None:
        """Open no more chunks."""

    def is_cut_short(self, job: Any) -> bool:
        """Return whether `job`, which has no chunk left to do, has units that are in none."""
        return False

    def release(self, job: Any) -> list[Any]:
        """Return the locked jobs that waited in vain for `job`, which is locked and has ended."""
        return []


def kind_of_job(job: Job) -> ChunkKind[Any]:
    chunked = (kind for kind in kinds.near(job) if isinstance(kind, ChunkKind))
    return next(kind for kind in chunked if isinstance(job, kind.job_model))


def finish_if_done(job: Any) -> None:
    """End the job, whose row is locked, if none of its chunks is left. No job ends elsewhere."""
    if job.has_ended:
        return
    kind = kind_of_job(job)
    kind.open_more(job)
    if job.chunks.filter(state__in=Chunk.LIVE).exists():
        return
    states = set(job.chunks.order_by().values_list("state", flat=True).distinct())
    job.pause_reason = ""
    job.state = Job.State.DONE
    if Chunk.State.FAILED in states:
        job.state = Job.State.FAILED
    elif Chunk.State.CANCELLED in states or kind.is_cut_short(job):
        job.state = Job.State.CANCELLED
    job.ended_at = timezone.now()
    job.save(update_fields=["state", "ended_at", "pause_reason"])
    logger.info("job %s ended: %s", job.pk, job.state)
    kind.on_finished(job)
    transaction.on_commit(partial(kind.job_changed, job))
    for waiting in kind.release(job):
        finish_if_done(waiting)
