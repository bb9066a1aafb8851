"""Who may grade a chunk: a lease, kept alive by its worker, and given to another when the worker died."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.jobs.leases import MAX_ATTEMPTS, expiry, worker_name

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one worker to grade one chunk, for as long as the chunk's row says so."""

    chunk_id: int
    job_id: int
    attempt: int
    worker: str

    def held(self) -> QuerySet[JobChunk]:
        """The chunk's row if the lease still stands, else nothing."""
        held = {"state": JobChunk.State.LEASED, "attempts": self.attempt, "worker": self.worker}
        return JobChunk.objects.filter(pk=self.chunk_id, **held)

    @property
    def words(self) -> str:
        return f"job {self.job_id}"

    def renew(self) -> bool:
        """Stay the owner for another while; False if the lease is lost."""
        return bool(self.held().update(lease_until=expiry()))


class LeaseLost(Exception):
    """The chunk was cancelled or given to another worker: write nothing more."""


@transaction.atomic
def claim(chunk_id: int) -> Lease | None:
    """Take a chunk that waits, or whose worker is gone; None if it is not to be had."""
    worker = worker_name()
    is_free = Q(state=JobChunk.State.QUEUED) | Q(state=JobChunk.State.LEASED, lease_until__lt=Now())
    is_wanted = Exists(GradingJob.objects.filter(pk=OuterRef("job_id"), state__in=GradingJob.WORKED_ON))
    free = JobChunk.objects.filter(is_free, is_wanted, pk=chunk_id, attempts__lt=MAX_ATTEMPTS)
    attempts = F("attempts") + 1
    if not free.update(state=JobChunk.State.LEASED, worker=worker, attempts=attempts, lease_until=expiry()):
        return None
    job_id, attempt = JobChunk.objects.values_list("job_id", "attempts").get(pk=chunk_id)
    has_begun = GradingJob.objects.filter(pk=job_id, state=GradingJob.State.QUEUED)
    if has_begun.update(state=GradingJob.State.RUNNING, started_at=Now()):
        logger.info("job %s started", job_id)
    return Lease(chunk_id, job_id, attempt, worker)
