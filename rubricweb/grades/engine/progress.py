"""How far the jobs are. Counts come from the chunks, which the saving of each batch maintains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from django.db.models import Count, Max, Q, Sum

from grading.types import Outcome
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine import breaker
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk
from rubricweb.grades.visibility import visible_grades

LISTED_JOBS = 50
RATED_CHUNKS = 20
"""The rate is that of this many latest chunks."""
UNSURE = (0.7, 1.5)
"""Factors of the remaining time while too few chunks tell of its spread."""
ENOUGH_CHUNKS = 4

Range = tuple[float, float]


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
class JobRow:
    """A job as a screen shows it."""

    job: GradingJob
    done: int
    failed: int
    """Of the done cells: those whose grading failed."""
    working: int
    """Chunks that are being graded now."""
    rate: float | None
    """Cells a second, all workers together; None while nothing is known."""
    remaining: Range | None
    """Seconds, at least and at most."""
    errors: tuple[Errors, ...] = ()
    """Failed grades that the job made and that no retry has replaced, by class, most first."""

    @property
    def total(self) -> int:
        return self.job.total

    @property
    def is_live(self) -> bool:
        return not self.job.has_ended

    @property
    def to_retry(self) -> int:
        return sum(each.count for each in self.errors)

    @property
    def remaining_words(self) -> str:
        return in_words(self.remaining) if self.remaining else ""


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
    rated = JobChunk.objects.filter(job__config=config, seconds__gt=0, state=JobChunk.State.DONE)
    latest = list(rated.order_by("-pk").values_list("done", "seconds")[:RATED_CHUNKS])
    return sum(done for done, _ in latest) / sum(seconds for _, seconds in latest) if latest else None


def in_words(seconds: Range) -> str:
    """A range for people: "about 40 s", "2 to 4 min"."""
    low, high = seconds
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if high >= 2 * size or size == 1:
            first, last = max(1, round(low / size)), max(1, round(high / size))
            return f"about {last} {unit}" if first == last else f"{first} to {last} {unit}"
    raise AssertionError("seconds fit every range")


def _rows(jobs: Iterable[GradingJob]) -> list[JobRow]:
    found = list(jobs)
    counts = _counts([job.pk for job in found])
    speeds = _speeds([job.pk for job in found if not job.has_ended])
    errors = _errors([job for job in found if counts[job.pk][1]])
    return [replace(_row(job, counts[job.pk], speeds[job.pk]), errors=tuple(errors[job.pk])) for job in found]


def _row(job: GradingJob, counts: tuple[int, int, int], speeds: list[Range]) -> JobRow:
    done, failed, working = counts
    if job.has_ended or job.is_paused or job.is_waiting:
        return JobRow(job, done, failed, working, _whole_rate(job, done), None)
    speed = _speed(speeds) or measured_rate(job.config)
    rate = speed * max(1, working) if speed else None
    remaining = _remaining(job.total - done, rate, speeds) if rate else None
    return JobRow(job, done, failed, working, rate, remaining)


def _counts(job_ids: list[int]) -> dict[int, tuple[int, int, int]]:
    leased = Count("pk", filter=Q(state=JobChunk.State.LEASED))
    rows = JobChunk.objects.filter(job__in=job_ids).order_by().values("job")
    summed = rows.annotate(graded=Sum("done"), failures=Sum("failed"), working=leased)
    counts = {row["job"]: (row["graded"], row["failures"], row["working"]) for row in summed}
    return defaultdict(lambda: (0, 0, 0), counts)


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


def _speeds(job_ids: list[int]) -> dict[int, list[Range]]:
    """By live job: (cells, seconds) of its latest chunks."""
    rated = JobChunk.objects.filter(job__in=job_ids, seconds__gt=0, done__gt=0).order_by("-number")
    speeds: dict[int, list[Range]] = defaultdict(list)
    for job_id, done, seconds in rated.values_list("job_id", "done", "seconds"):
        if len(speeds[job_id]) < RATED_CHUNKS:
            speeds[job_id].append((done, seconds))
    return speeds


def _speed(speeds: list[Range]) -> float | None:
    """Cells a second of one worker."""
    return sum(done for done, _ in speeds) / sum(seconds for _, seconds in speeds) if speeds else None


def _remaining(cells: int, rate: float, speeds: list[Range]) -> Range:
    """From the spread of the latest chunks."""
    if len(speeds) < ENOUGH_CHUNKS:
        return cells / rate * UNSURE[0], cells / rate * UNSURE[1]
    each = np.array([done / seconds for done, seconds in speeds])
    slow, fast = np.percentile(each, [25, 75]) / each.mean()
    return cells / (rate * float(fast)), cells / (rate * float(slow))


def _whole_rate(job: GradingJob, done: int) -> float | None:
    if not job.started_at or not job.ended_at or not done:
        return None
    seconds = (job.ended_at - job.started_at).total_seconds()
    return done / seconds if seconds > 0 else None
