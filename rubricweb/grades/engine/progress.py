"""Progress and errors of grading jobs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import Count, F, Max, QuerySet

from grading.graders import registry
from grading.types import Outcome, Purpose
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine.breaker import label, problem_of, remedy
from rubricweb.grades.engine.missing import prompt_of
from rubricweb.grades.models import Grade, GraderConfig, GradingJob, JobChunk, JobPart
from rubricweb.grades.visibility import visible_grades
from rubricweb.jobs.listing import LISTED_JOBS, JobLine
from rubricweb.jobs.models import Job
from rubricweb.jobs.progress import Progress, latest, progress_of, speed_of

if TYPE_CHECKING:
    from rubricweb.jobs.waiting import Wait


GRADING = "grading"
"""Kind of the lines of grading jobs, in addresses."""


@dataclass(frozen=True, slots=True)
class Errors:
    """Failed grades of one class."""

    error_class: str
    count: int
    example: str

    @property
    def text(self) -> str:
        return label(self.error_class)

    @property
    def remedy(self) -> str:
        return remedy(self.error_class)


@dataclass(frozen=True, slots=True)
class JobRow(Progress):
    """A job as a screen shows it; its units of work are cells."""

    job: GradingJob
    errors: tuple[Errors, ...]
    """Failed grades of the job that no retry has replaced, by class, most frequent first."""
    wait: Wait | None = None
    """What it waits for, while no worker works on it."""

    @property
    def total(self) -> int:
        return self.job.total

    @property
    def is_live(self) -> bool:
        return not self.job.has_ended

    @property
    def does(self) -> str:
        """Describe the job: "How well does the passage answer it? 5 items of 2 topics"."""
        prompt = prompt_of(self.job.config)
        question = re.split("[,;:]", prompt.summary)[0] if prompt else ""
        return ": ".join(filter(None, (question, self.job.scope)))

    @property
    def to_retry(self) -> int:
        return sum(each.count for each in self.errors)


def job_rows(collection: Collection, *, limit: int = LISTED_JOBS) -> list[JobRow]:
    """Return the latest jobs of a collection, newest first, in a fixed number of queries."""
    return rows_of(collection.jobs.select_related("config", "by", "collection")[:limit])


def press_lines(rows: Iterable[JobRow]) -> list[JobLine]:
    """Return one line for all jobs that one press started, in the order of the rows."""
    presses: dict[object, list[JobRow]] = defaultdict(list)
    for row in rows:
        presses[row.job.press or row.job.pk].append(row)
    return [_press_line(sorted(each, key=lambda row: row.job.pk)) for each in presses.values()]


def press_of(job: GradingJob) -> list[GradingJob]:
    """Return the jobs that were started with this one, itself included."""
    if job.press is None:
        return [job]
    jobs = job.collection.jobs.select_related("config", "by", "collection").filter(press=job.press)
    return list(jobs.order_by("pk"))


def _moves(row: JobRow) -> bool:
    return row.job.state == Job.State.RUNNING and row.wait is None


def _press_line(rows: list[JobRow]) -> JobLine:
    first, jobs = rows[0].job, [row.job for row in rows]
    rating = [row for row in rows if row.job.config.purpose != Purpose.EXTRACT] or rows
    state = _state_of(jobs)
    all_done, all_cells = _counts(rows)
    live = [row for row in rows if row.is_live]
    # Once everything is rated, what is left to count are the answers to extract.
    is_rated = bool(live) and not any(row.is_live for row in rating)
    done, total = _counts(live if is_rated else rating)
    waits = [] if any(_moves(row) for row in live) else [row.wait for row in live if row.wait]
    times = [row.remaining for row in live]
    ranges = [time for time in times if time]
    job = rating[0].job
    verb = "Extract answers from" if job.config.purpose == Purpose.EXTRACT else "Grade"
    failed = "failed " if job.is_retry and not job.is_again else ""
    again = " again" if job.is_retry else ""
    pairs = counted(_counts(rating)[1], f"{failed}pair")
    return JobLine(
        kind=GRADING,
        pk=first.pk,
        title=f"{verb} {pairs}{again} with {job.config.model_name}",
        detail="; ".join(dict.fromkeys(job.scope for job in jobs)),
        state=state,
        at=first.created_at,
        by=first.by,
        done=done,
        total=total,
        failed=sum(row.to_retry for row in rows),
        unit="answer" if is_rated else "pair",
        share=all_done / all_cells if all_cells else 0,
        remaining=(sum(low for low, _ in ranges), sum(high for _, high in ranges))
        if ranges and len(ranges) == len(times)
        else None,
        ended_at=max((job.ended_at for job in jobs if job.ended_at), default=None) if not live else None,
        wait=next((wait for wait in waits if wait.is_stuck or state != Job.State.RUNNING), None),
        problem=next((text for job in jobs if (text := problem_of(job))), ""),
        address=first.get_absolute_url(),
        opens="Calls",
        acts=_acts(rows, state),
        parts=tuple(rows),
    )


def _counts(rows: Sequence[JobRow]) -> tuple[int, int]:
    """Return how many cells of the jobs are done, and how many there are."""
    return sum(row.done for row in rows), sum(row.total for row in rows)


def _state_of(jobs: list[GradingJob]) -> str:
    """Return the state of the press: paused if a job of it paused itself, since only people mend that.

    Else the most active of its live jobs, else the worst end.
    """
    if any(job.is_paused and job.pause_reason for job in jobs):
        return str(Job.State.PAUSED)
    states = {job.state for job in jobs}
    state = Job.State
    order = (state.RUNNING, state.CANCELLING, state.QUEUED, state.PAUSED, state.WAITING, state.FAILED)
    return str(next((each for each in (*order, state.CANCELLED) if each in states), state.DONE))


def _acts(rows: list[JobRow], state: str) -> tuple[str, ...]:
    """Return what can be done to the press now, by the names of the addresses."""
    if state in Job.ENDED:
        is_cut_short = state != Job.State.DONE and any(row.done < row.total for row in rows)
        possible = {"go-on": is_cut_short, "retry": any(row.to_retry for row in rows)}
    else:
        is_high = any(row.job.priority == Job.Priority.HIGH for row in rows if row.is_live)
        is_paused, is_cancelling = state == Job.State.PAUSED, state == Job.State.CANCELLING
        possible = {
            "resume": is_paused,
            "cancel": not is_cancelling,
            "cancel-now": is_cancelling,
            "pause": not is_paused and not is_cancelling,
            "in-turn": is_high and not is_cancelling,
            "first": not is_high and not is_cancelling,
        }
    return tuple(act for act, can in possible.items() if can)


def live_rows(collection: Collection) -> list[JobRow]:
    """Return the jobs that have not ended."""
    live = collection.jobs.exclude(state__in=GradingJob.ENDED)
    return rows_of(live.select_related("config", "by", "collection"))


def job_progress(job: GradingJob) -> JobRow:
    """Return one job with its present progress."""
    return rows_of(GradingJob.objects.filter(pk=job.pk).select_related("config", "by", "collection"))[0]


@read_once
def measured_rate(config: GraderConfig) -> float | None:
    """Return cells a second of one worker in the config's latest chunks; None if it never graded."""
    return speed_of(_latest_of(config.pk)) if config.pk > 0 else None


@compiled_once
def _latest_of(config: int) -> QuerySet[Any, Any]:
    return latest(JobChunk.objects.filter(job__config=config))


class ExpectedRate(NamedTuple):
    """The expected speed of one worker with a config."""

    cells: float
    """Cells a second; 0 where no time can be estimated, since others do the work."""
    is_guess: bool


def expected_rate(config: GraderConfig) -> ExpectedRate:
    """Return the rate measured with the config, else with its model, else guessed for its back-end."""
    backend = registry.BACKENDS.get(config.backend)
    guess = backend.guessed_rate if backend else 1.0
    if not guess:
        return ExpectedRate(measured_rate(config) or 0.0, is_guess=False)
    measured = measured_rate(config) or _rate_of_model(config.backend, config.llm)
    return ExpectedRate(measured or guess, is_guess=not measured)


@read_once
def _rate_of_model(backend: str, llm: str) -> float | None:
    return speed_of(_latest_of_model(backend, llm))


@compiled_once
def _latest_of_model(backend: str, llm: str) -> QuerySet[Any, Any]:
    return latest(JobChunk.objects.filter(job__config__backend=backend, job__config__llm=llm))


def rows_of(rows: Iterable[GradingJob]) -> list[JobRow]:
    """Return rows of these jobs in their order, in a fixed number of queries.

    The jobs are read with collection, config and person.
    """
    from rubricweb.jobs.waiting import waits_of  # loads the queue, which readers of boards need not

    jobs = list(rows)
    each = progress_of(jobs, lambda job: measured_rate(job.config))
    errors = _errors([job for job, progress in zip(jobs, each, strict=True) if progress.failed])
    return [
        JobRow(
            **{field.name: getattr(progress, field.name) for field in fields(progress)},
            job=job,
            errors=tuple(errors[job.pk]),
            wait=wait,
        )
        for job, progress, wait in zip(jobs, each, waits_of(jobs), strict=True)
    ]


def _errors(jobs: list[GradingJob]) -> dict[int, list[Errors]]:
    """Return errors by job, with the latest reason as the example."""
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
    """Return the topics of which these jobs have waiting cells."""
    live = JobChunk.objects.filter(job__in=jobs, state__in=JobChunk.LIVE)
    waiting = JobPart.objects.filter(job__in=jobs, job__is_closed=False, opened__lt=F("rows"))
    return {*live.values_list("topic_id", flat=True), *waiting.values_list("topic_id", flat=True)}
