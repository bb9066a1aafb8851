"""A collection's jobs of several kinds in one list: a room registers a Listing for its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.db.models import QuerySet
from django.utils.module_loading import import_string

from rubricweb.jobs.models import LimitedJob, Task
from rubricweb.jobs.progress import Progress, progress_of

if TYPE_CHECKING:
    from rubricweb.jobs.waiting import Wait

LISTED_JOBS = 50


@dataclass(frozen=True, slots=True)
class Listing:
    """How the jobs of one kind are listed, and what people do to them."""

    kind: str
    """In addresses."""
    units: str
    """What their chunks count: "topics"."""
    jobs: Callable[[int], QuerySet[Any]]
    """Of the collection with this key, latest first, with what `name` and `address` read."""
    name: Callable[[Any], str]
    """"Run bm25"."""
    does: Callable[[Any], str]
    """What it does, in a line."""
    address: Callable[[Any], str]
    """Of its own page; empty where the reader may not open it."""
    rate: Callable[[Any], float | None]
    """Units a second of one worker, as known from earlier jobs."""
    acts: Mapping[str, Callable[..., Any]]
    """`pause`, `resume` and `cancel`, called with the job and `by`."""
    is_for_its_starter: bool = False
    """Listed for the person who started it, too, where they do not see the other jobs."""
    shows_calls: Callable[[Any], bool] = lambda _: True
    """False while the number of calls would tell what the reader must not know yet."""


@dataclass(frozen=True, slots=True)
class TaskListing:
    """How requests that one worker answers as a whole are listed with the jobs."""

    kind: str
    """In addresses."""
    jobs: Callable[[int], QuerySet[Any]]
    """Of the collection with this key, latest first, with what `name` and `address` read."""
    name: Callable[[Any], str]
    """"Drafts for topic leaf"."""
    does: Callable[[Any], str]
    """What it does, in a line."""
    address: Callable[[Any], str]
    """Of the page that shows its result."""
    acts: Mapping[str, Callable[..., Any]]
    """`cancel`, called with the task and `by`."""
    is_for_its_starter: bool = True


class _Listed:
    """A line of the list: a job or task with the listing of its kind."""

    __slots__ = ()
    listing: Listing | TaskListing
    job: LimitedJob | Task

    @property
    def key(self) -> str:
        """Of elements of the page."""
        return f"{self.listing.kind}-{self.job.pk}"

    @property
    def name(self) -> str:
        return self.listing.name(self.job)

    @property
    def does(self) -> str:
        return self.listing.does(self.job)

    @property
    def address(self) -> str:
        return self.listing.address(self.job)


@dataclass(frozen=True, slots=True)
class ListedTask(_Listed):
    """A request that one worker answers as a whole, in the list."""

    template: ClassVar[str] = "jobs/_task.html"

    listing: TaskListing
    job: Task
    wait: Wait | None
    """What it waits for, or how far it is."""

    @property
    def created_at(self) -> datetime:
        return self.job.queued_at


@dataclass(frozen=True, slots=True)
class ListedJob(_Listed):
    """A job of chunks in the list."""

    template: ClassVar[str] = "jobs/_job.html"

    listing: Listing
    job: LimitedJob
    progress: Progress
    wait: Wait | None = None
    """What it waits for, while no worker is at it."""

    @property
    def shows_calls(self) -> bool:
        return self.listing.shows_calls(self.job)

    @property
    def created_at(self) -> datetime:
        return self.job.created_at


_paths: list[str] = []


def register(path: str) -> None:
    """Of a Listing or TaskListing, with its module: it is imported by who asks for it."""
    _paths.append(path)


@cache
def _known() -> tuple[Listing | TaskListing, ...]:
    return tuple(map(import_string, _paths))


def get(kind: str) -> Listing | TaskListing | None:
    """None for a kind that nobody registered."""
    return next((listing for listing in _known() if listing.kind == kind), None)


def listed(collection_id: int) -> list[ListedJob | ListedTask]:
    """The latest of each kind."""
    return [row for listing in _known() for row in _listed(listing, listing.jobs(collection_id))]


def listed_for_starter(collection_id: int, person_id: int | None) -> list[ListedJob | ListedTask]:
    """The latest that the person started, of the kinds that are listed for their starters."""
    kinds = [listing for listing in _known() if listing.is_for_its_starter]
    return [row for one in kinds for row in _listed(one, one.jobs(collection_id).filter(by=person_id))]


def listed_of(listing: Listing, collection_id: int) -> list[ListedJob]:
    """The latest of one kind."""
    return _rows(listing, listing.jobs(collection_id))


def _listed(listing: Listing | TaskListing, rows: QuerySet[Any]) -> Sequence[ListedJob | ListedTask]:
    from rubricweb.jobs.waiting import Line  # loads the queue, and rooms register their listings at the start

    if isinstance(listing, TaskListing):
        tasks = list(rows[:LISTED_JOBS])
        line = Line.now() if any(task.is_live for task in tasks) else Line(())
        return [ListedTask(listing, task, line.wait_of(task)) for task in tasks]
    return _rows(listing, rows)


def _rows(listing: Listing, rows: QuerySet[Any]) -> list[ListedJob]:
    from rubricweb.jobs.waiting import waits_of

    jobs = list(rows[:LISTED_JOBS])
    each = progress_of(jobs, listing.rate)
    rows_of = zip(jobs, each, waits_of(jobs), strict=True)
    return [ListedJob(listing, job, progress, wait) for job, progress, wait in rows_of]
