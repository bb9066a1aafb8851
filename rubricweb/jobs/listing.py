"""The list of jobs in a collection: `settings.JOB_LISTINGS` names a Listing for each kind of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.module_loading import import_string

from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted, number
from rubricweb.jobs.models import Job, LimitedJob, Task
from rubricweb.jobs.progress import Progress, Range, in_words, progress_of

if TYPE_CHECKING:
    from rubricweb.jobs.limits import ExpectedCost
    from rubricweb.jobs.waiting import Wait

LISTED_JOBS = 50


@dataclass(frozen=True, slots=True)
class Listing:
    """The listing of a kind of job, with the actions on it."""

    kind: str
    """Name in addresses."""
    unit: str | Callable[[Any], str]
    """Noun for one unit of its chunks, "topic", or of a job's where they differ."""
    jobs: Callable[[int], QuerySet[Any]]
    """The jobs of the collection with this key, latest first, with what `name` and `address` read."""
    name: Callable[[Any], str]
    """Title of a job: "Run bm25"."""
    does: Callable[[Any], str]
    """One-line description of a job."""
    address: Callable[[Any], str]
    """Address of the job's page; empty where the reader may not open it."""
    rate: Callable[[Any], float | None] = lambda _: None
    """Units a second of one worker, as known from earlier jobs; None where these say nothing."""
    expected: Callable[[Any], ExpectedCost] | None = None
    """What a job is expected to take in all; None for jobs whose limits are not changed by organizers."""
    is_for_its_starter: bool = False
    """Whether the person who started it sees it even without seeing other jobs."""
    shows_calls: Callable[[Any], bool] = lambda _: True
    """False while the number of calls would reveal something hidden from the reader."""
    opens: str = "Open"
    """Text of the link to its page."""
    is_for_organizers: bool = False
    """Whether only organizers see it, and its starter where `is_for_its_starter`."""
    acts: tuple[str, ...] = ("cancel", "resume", "pause")
    """What its line offers of `steering.STEERS`."""


@dataclass(frozen=True, slots=True)
class TaskListing:
    """The listing of a kind of task, which one worker does as a whole."""

    kind: str
    """Name in addresses."""
    jobs: Callable[[int], QuerySet[Any]]
    """The tasks of the collection with this key, latest first, with what `name` and `address` read."""
    name: Callable[[Any], str]
    """Title of a task: "Drafts for topic leaf"."""
    does: Callable[[Any], str]
    """One-line description of a task."""
    address: Callable[[Any], str]
    """Address of the page with its result."""
    acts: Mapping[str, Callable[..., Any]]
    """Action `cancel`, called with the task and `by`."""
    is_for_its_starter: bool = True
    opens: str = "Open"
    """Text of the link to its page."""
    outcome: Callable[[Any], str] = lambda _: ""
    """Short description of the result."""
    is_for_organizers: bool = False
    """Whether only organizers see it, and its starter where `is_for_its_starter`."""


WORDS = {
    "cancel": "Cancel",
    "cancel-now": "Cancel now",
    "resume": "Resume",
    "pause": "Pause",
    "go-on": "Go on",
    "retry": "Grade what failed again",
    "first": "Raise priority",
    "in-turn": "Lower priority",
}
"""Labels of the buttons, in order of importance."""


class Stage(StrEnum):
    """A section of the list."""

    PAUSED = "paused"
    """First, since nothing happens until somebody acts."""
    RUNNING = "running"
    WAITING = "waiting"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job or task as a line of the list."""

    kind: str
    """Name of its kind in addresses, with `pk`."""
    pk: int
    title: str
    """Short name of the request: "Draft questions for leaf"."""
    detail: str
    state: str
    at: datetime
    """When it was requested."""
    by: Any
    """The person who requested it; None for the command line."""
    done: int = 0
    total: int = 0
    """Units of work; 0 where they are not counted."""
    failed: int = 0
    unit: str = ""
    share: float = 0
    """Share done, from 0 to 1, including work that `total` does not count."""
    remaining: Range | None = None
    ended_at: datetime | None = None
    wait: Wait | None = None
    """What it waits for, or its progress."""
    problem: str = ""
    """Reason for its failure or for pausing itself."""
    outcome: str = ""
    """Short description of the result."""
    address: str = ""
    """Address of the page with its result, limits or calls; empty where the reader may not open it."""
    opens: str = ""
    """Text of the link to that page."""
    acts: tuple[str, ...] = ()
    """Actions that are possible now, for readers whom the view allows them."""
    parts: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        """Return the id prefix of its elements on the page."""
        return f"{self.kind}-{self.pk}"

    @property
    def buttons(self) -> list[tuple[str, str]]:
        """Return the actions with their labels, the one on the line itself first."""
        return [(act, WORDS[act]) for act in self.acts]

    @property
    def stage(self) -> Stage:
        if self.state in Job.ENDED:
            return Stage.ENDED
        if self.state == Job.State.PAUSED:
            return Stage.PAUSED
        return Stage.RUNNING if self.state in (Job.State.RUNNING, Job.State.CANCELLING) else Stage.WAITING

    @property
    def remaining_words(self) -> str:
        return in_words(self.remaining) if self.remaining else ""

    @property
    def percent(self) -> int:
        return int(100 * self.share)

    @property
    def seconds_words(self) -> str:
        """Return how long it took, waiting included: "2 min"."""
        seconds = (self.ended_at - self.at).total_seconds() if self.ended_at else 0
        return in_words((seconds, seconds)).removeprefix("about ")


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job of chunks with its progress."""

    listing: Listing
    job: Any
    progress: Progress
    wait: Wait | None = None
    """What it waits for, while no worker works on it."""

    @property
    def name(self) -> str:
        return self.listing.name(self.job)

    @property
    def does(self) -> str:
        return self.listing.does(self.job)


@cache
def _registered() -> tuple[Listing | TaskListing, ...]:
    return tuple(map(import_string, settings.JOB_LISTINGS))


def get(kind: str) -> Listing | TaskListing | None:
    """Return the listing of a kind; None for an unknown kind."""
    return next((listing for listing in _registered() if listing.kind == kind), None)


def listed(collection_id: int, *, for_organizers: bool) -> list[JobLine]:
    """Return the latest jobs of each kind that the reader may see."""
    kinds = [listing for listing in _registered() if for_organizers or not listing.is_for_organizers]
    return [line for each in kinds for line in lines_of(each, _latest(each.kind)(collection_id))]


def listed_for_starter(collection_id: int, person_id: int | None) -> list[JobLine]:
    """Return the person's latest jobs of the kinds that are listed for their starters."""
    kinds = [each for each in _registered() if each.is_for_its_starter]
    return [line for each in kinds for line in lines_of(each, each.jobs(collection_id).filter(by=person_id))]


@cache
def _latest(kind: str) -> Callable[[int], list[Any]]:
    """Return the function that reads a collection's latest jobs or tasks of the kind."""
    (listing,) = (each for each in _registered() if each.kind == kind)
    return compiled_once(lambda collection: listing.jobs(collection)[:LISTED_JOBS])


def lines_of(listing: Listing | TaskListing, rows: QuerySet[Any] | list[Any]) -> list[JobLine]:
    """Return lines for the latest of these jobs or tasks of one kind."""
    from rubricweb.jobs.waiting import WaitingLine  # loads the queue

    if isinstance(listing, Listing):
        return [_line_of_job(row) for row in _rows(listing, rows)]
    tasks = list(rows[:LISTED_JOBS])
    line = WaitingLine.now() if any(task.is_live for task in tasks) else WaitingLine(())
    return [_line_of_task(listing, task, line.wait_of(task)) for task in tasks]


def _rows(listing: Listing, rows: QuerySet[Any] | list[Any]) -> list[ListedJob]:
    from rubricweb.jobs.waiting import waits_of

    jobs = list(rows[:LISTED_JOBS])
    each = zip(jobs, progress_of(jobs, listing.rate), waits_of(jobs), strict=True)
    return [ListedJob(listing, job, progress, wait) for job, progress, wait in each]


def _line_of_task(listing: TaskListing, task: Any, wait: Wait | None) -> JobLine:
    is_running = task.state == Task.State.LEASED
    return JobLine(
        kind=listing.kind,
        pk=task.pk,
        title=listing.name(task),
        detail=listing.does(task),
        state=Job.State.RUNNING.value if is_running else task.state,
        at=task.queued_at,
        by=task.by,
        ended_at=task.ended_at,
        wait=wait,
        problem=task.error,
        outcome=listing.outcome(task),
        address=listing.address(task),
        opens=listing.opens,
        acts=tuple(listing.acts) if task.is_live else (),
    )


def _line_of_job(row: ListedJob) -> JobLine:
    listing, job, progress = row.listing, row.job, row.progress
    counts = isinstance(job, LimitedJob) and job.calls and listing.shows_calls(job)
    calls = f"{number(job.calls)} of at most {counted(job.most_calls, 'call')}" if counts else ""
    idle = "pause" if job.is_paused else "resume"
    acts = [] if job.has_ended else [act for act in WORDS if act in listing.acts and act != idle]
    return JobLine(
        kind=listing.kind,
        pk=job.pk,
        title=row.name,
        detail=" · ".join(filter(None, (row.does, calls))),
        state=job.state,
        at=job.created_at,
        by=job.by,
        done=progress.done,
        total=job.total,
        failed=progress.failed,
        unit=listing.unit if isinstance(listing.unit, str) else listing.unit(job),
        share=progress.done / job.total if job.total else 0,
        remaining=progress.remaining,
        ended_at=job.ended_at,
        wait=row.wait,
        problem=job.pause_reason or job.error,
        address=listing.address(job),
        opens=listing.opens,
        acts=tuple(acts),
    )
