"""Whether one cell can be graded again, and whether that is under way."""

from __future__ import annotations

from dataclasses import dataclass

from grading.errors import GradingError
from grading.graders import registry
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine.gaps import listed
from rubricweb.grades.engine.parts import held
from rubricweb.grades.models import Grade, GraderConfig, GradingJob
from rubricweb.jobs.progress import Price


@dataclass(frozen=True, slots=True)
class Again:
    """What the button beside a grade shows."""

    grade: Grade
    collection: Collection
    address: str
    """The page of the cell, which is fetched again when the new grade is there."""
    may_grade: bool
    can_ask: bool
    price: Price | None
    """Of asking once more, for those who may."""
    job: GradingJob | None
    """That which is at it now."""


def can_ask(config: GraderConfig) -> bool:
    """Would the grader be asked exactly the same today? Not where its grades came in a file."""
    try:
        return config.backend in registry.BACKENDS and spec_of(config).fingerprint == config.fingerprint
    except GradingError:
        return False


def job_at(grade: Grade) -> GradingJob | None:
    """The live job that grades this cell anew."""
    retries = GradingJob.objects.filter(config=grade.config_id, is_retry=True)
    live = retries.exclude(state__in=GradingJob.ENDED).order_by("pk")
    return next((job for job in live if _has(job, grade)), None)


def _has(job: GradingJob, grade: Grade) -> bool:
    gaps = held(GradingJob.objects.filter(pk=job.pk), topics=[grade.topic_id])
    cell = {(grade.revision_id, grade.passage_id)}
    return any(gap.without(cell).cells < gap.cells for gap in listed(job.collection, gaps))
