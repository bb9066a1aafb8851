"""How far the grading jobs are, with what failed in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from django.db.models import Count, F, Max, QuerySet

from grading.graders import registry
from grading.types import Outcome
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine import breaker
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk, JobPart
from rubricweb.grades.visibility import visible_grades
from rubricweb.jobs.listing import LISTED_JOBS
from rubricweb.jobs.progress import Progress, progress_of, rate_of

if TYPE_CHECKING:
    from rubricweb.jobs.waiting import Wait


@dataclass(frozen=True, slots=True)
class Errors:
    """Failed grades of one class."""

    error_class: str
    count: int
    example: str

    @property
    def words(self) -> str:
        return breaker.words(self.error_class)

    @property
    def remedy(self) -> str:
        return breaker.remedy(self.error_class)


@dataclass(frozen=True, slots=True)
class JobRow(Progress):
    """A job as a screen shows it; its units of work are cells."""

    template: ClassVar[str] = "grades/_job.html"

    job: GradingJob
    errors: tuple[Errors, ...]
    """Failed grades that the job made and that no retry has replaced, by class, most first."""
    wait: Wait | None = None
    """What it waits for, while no worker is at it."""

    @property
    def total(self) -> int:
        return self.job.total

    @property
    def is_live(self) -> bool:
        return not self.job.has_ended

    @property
    def created_at(self) -> datetime:
        return self.job.created_at

    @property
    def to_retry(self) -> int:
        return sum(each.count for each in self.errors)


def job_rows(collection: Collection, *, limit: int = LISTED_JOBS) -> list[JobRow]:
    """The latest jobs of a collection, newest first, in a fixed number of queries."""
    return _rows(collection.jobs.select_related("config", "by", "collection")[:limit])


def live_rows(collection: Collection) -> list[JobRow]:
    """The jobs that have not ended."""
    live = collection.jobs.exclude(state__in=GradingJob.ENDED)
    return _rows(live.select_related("config", "by", "collection"))


def job_progress(job: GradingJob) -> JobRow:
    """One job as it is in the database now."""
    return _rows(GradingJob.objects.filter(pk=job.pk).select_related("config", "by", "collection"))[0]


def measured_rate(config: GraderConfig) -> float | None:
    """Cells a second that one worker reached in the config's latest chunks; None if it never graded."""
    return rate_of(JobChunk.objects.filter(job__config=config))


class ExpectedRate(NamedTuple):
    """How fast one worker is expected to grade with a config."""

    cells: float
    """A second; 0 where no time can be told, since others do the work."""
    is_guess: bool


def expected_rate(config: GraderConfig) -> ExpectedRate:
    """As measured with the config, else with its model and other prompts, else as its back-end is guessed."""
    backend = registry.BACKENDS.get(config.backend)
    guess = backend.guessed_rate if backend else 1.0
    if not guess:
        return ExpectedRate(measured_rate(config) or 0.0, is_guess=False)
    same_model = JobChunk.objects.filter(job__config__backend=config.backend, job__config__llm=config.llm)
    measured = measured_rate(config) or rate_of(same_model)
    return ExpectedRate(measured or guess, is_guess=not measured)


def _rows(rows: Iterable[GradingJob]) -> list[JobRow]:
    from rubricweb.jobs.waiting import waits_of  # loads the queue, which readers of boards need not

    jobs = list(rows)
    each = progress_of(jobs, lambda job: measured_rate(job.config))
    errors = _errors([job for job, progress in zip(jobs, each, strict=True) if progress.failed])
    return [
        JobRow(**_values(progress), job=job, errors=tuple(errors[job.pk]), wait=wait)
        for job, progress, wait in zip(jobs, each, waits_of(jobs), strict=True)
    ]


def _values(progress: Progress) -> dict[str, Any]:
    return {field.name: getattr(progress, field.name) for field in fields(progress)}


def _errors(jobs: list[GradingJob]) -> dict[int, list[Errors]]:
    """By job, with the latest reason as the example."""
    errors: dict[int, list[Errors]] = defaultdict(list)
    if not jobs:
        return errors
    failed = Grade.objects.filter(job__in=jobs, outcome=Outcome.FAILED).order_by()
    for collection_id in {job.collection_id for job in jobs}:
        failed = visible_grades(failed, collection_id)
    rows = list(failed.values("job", "error_class").annotate(n=Count("pk"), last=Max("pk")).order_by("-n"))
    reasons = dict(Grade.objects.filter(pk__in=[row["last"] for row in rows]).values_list("pk", "reply"))
    for row in rows:
        errors[row["job"]].append(Errors(row["error_class"], row["n"], reasons.get(row["last"], "")))
    return errors


def topics_of(jobs: QuerySet[GradingJob]) -> set[int]:
    """The topics of which these jobs have cells that wait."""
    live = JobChunk.objects.filter(job__in=jobs, state__in=JobChunk.LIVE)
    waiting = JobPart.objects.filter(job__in=jobs, job__is_closed=False, opened__lt=F("rows"))
    return {*live.values_list("topic_id", flat=True), *waiting.values_list("topic_id", flat=True)}
