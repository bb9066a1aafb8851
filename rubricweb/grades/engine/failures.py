"""The circuit breaker of a job: kept with it, fed with each batch, and reset when the job is resumed."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Sum

from rubricweb.grades.engine.breaker import Breaker
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import steering


def note_results(job: GradingJob, error_classes: Iterable[str]) -> None:
    """Count a batch's errors ("" for a grade) in the transaction that saves it; enough of them pause the job.

    Called before the batch's chunk is counted, because whoever changes chunks locks their job first.
    """
    locked = steering.lock(job)
    breaker = Breaker.of(locked.failures)
    breaker.seen = _done(locked) - breaker.base
    for error_class in error_classes:
        breaker.add(error_class)
    locked.failures = job.failures = breaker.kept
    locked.save(update_fields=["failures"])
    if breaker.tripped and locked.state in GradingJob.WORKED_ON:
        steering.pause_locked(locked, reason=breaker.sentence)


def reset(job: GradingJob) -> None:
    """Begin anew; the job's row is locked."""
    job.failures = Breaker(base=_done(job)).kept
    job.save(update_fields=["failures"])


def _done(job: GradingJob) -> int:
    return job.chunks.aggregate(done=Sum("done"))["done"] or 0
