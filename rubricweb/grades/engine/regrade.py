"""Whether one cell can be graded again, and whether that is under way."""

from __future__ import annotations

from dataclasses import dataclass

from grading.errors import GradingError
from grading.graders import registry
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import spec_of
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk
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
    live = JobChunk.objects.filter(job__config=grade.config_id, job__is_retry=True, topic=grade.topic_id)
    live = live.filter(state__in=JobChunk.LIVE).select_related("job")
    cell = [grade.revision_id, grade.passage_id]
    return next((chunk.job for chunk in live if cell in chunk.cells), None)
