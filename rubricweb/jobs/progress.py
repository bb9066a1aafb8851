"""Progress, duration and cost of jobs, from the counts that chunks keep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, TypeVar

import numpy as np
from django.db.models import Count, Max, Q, QuerySet, Sum

from rubricweb.core.formatting import counted, number
from rubricweb.jobs.kinds import kind_of_job
from rubricweb.jobs.models import Chunk, Job

RATED_CHUNKS = 20
"""Number of latest chunks from which the rate is measured."""
LATEST_CHUNKS = 1_000
"""Number of highest-numbered chunks among which the latest are looked for; no more wait at a time."""
UNSURE = (0.7, 1.5)
"""Factors of the remaining time while too few chunks show its spread."""
GUESSED = (0.3, 3.0)
"""Factors of a time that follows from an unmeasured rate."""
ENOUGH_CHUNKS = 4

Range = tuple[float, float]
J = TypeVar("J", bound=Job)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one job."""

    done: int
    failed: int
    """Failed units among the done ones."""
    working: int
    """Chunks that workers work on."""
    rate: float | None
    """Units a second of all workers together; None while unknown."""
    remaining: Range | None
    """Remaining seconds, at least and at most."""

    @property
    def remaining_words(self) -> str:
        return in_words(self.remaining) if self.remaining else ""


@dataclass(frozen=True, slots=True)
class Price:
    """The estimated cost of work before it starts; None where unknown."""

    cells: int
    """Units of work."""
    tokens: int | None
    """Estimated input tokens; None where no model reads any."""
    seconds: Range | None
    dollars: float | None
    is_guess: bool = False
    """Whether the time follows from an unmeasured rate."""
    calls: int | None = None
    """Calls of models, some of which ask about several units; None where unknown."""

    @property
    def measured_seconds(self) -> Range | None:
        return None if self.is_guess else self.seconds

    @property
    def seconds_words(self) -> str:
        return in_words(self.seconds) if self.seconds else ""

    @property
    def text(self) -> str:
        """Return the price for people: "less than $0.01, about 2 min (guess), about 4,000 input tokens".

        The number of calls comes first where it is not that of the units.
        """
        guess = " (guess)" if self.is_guess else ""
        many = self.calls is not None and self.calls != self.cells
        return ", ".join(
            (
                *([counted(self.calls or 0, "call")] if many else []),
                *([self.dollars_words] if self.dollars is not None else []),
                f"{self.seconds_words}{guess}" if self.seconds else "time unknown",
                *([f"about {number(self.tokens)} input tokens"] if self.tokens is not None else []),
            )
        )

    @property
    def dollars_words(self) -> str:
        """Return the amount for people: "$1,204.50", or "less than $0.01" above nothing."""
        dollars = self.dollars or 0
        return "less than $0.01" if 0 < dollars < 0.01 else f"${dollars:,.2f}"


def progress_of(jobs: Sequence[J], measured_rate: Callable[[J], float | None]) -> list[Progress]:
    """Return the progress of each job, in two queries.

    `measured_rate` is called for jobs without a rate of their own yet.
    """
    if not jobs:
        return []
    chunks: QuerySet[Any] = kind_of_job(jobs[0]).model.objects.order_by()
    counts = _counts(chunks.filter(job__in=[job.pk for job in jobs]))
    latest = {job.pk: counts[job.pk].last - LATEST_CHUNKS for job in jobs if not job.has_ended}
    speeds = _speeds(chunks, latest) if latest else {}
    return [_progress(job, counts[job.pk], speeds.get(job.pk, []), measured_rate) for job in jobs]


def seconds_for(units: float, rate: float | None, *, workers: int = 1) -> Range | None:
    """Return the seconds of so many units for workers who share them; None if unknown."""
    seconds = units / rate / max(1, workers) if rate else None
    return (seconds * UNSURE[0], seconds * UNSURE[1]) if seconds else None


def rate_of(chunks: QuerySet[Any]) -> float | None:
    """Return units a second that one worker reached in the latest chunks; None where none is done."""
    return speed_of(list(latest(chunks)))


def latest(chunks: QuerySet[Any]) -> QuerySet[Any, Any]:
    """Return the units and seconds of the chunks done last."""
    rated = chunks.filter(seconds__gt=0, state=Chunk.State.DONE).order_by("-pk")
    return rated.values_list("done", "seconds")[:RATED_CHUNKS]


def in_words(seconds: Range) -> str:
    """Format a range of seconds for people: "about 40 s", "2 to 4 min"."""
    low, high = seconds
    for size, unit in ((3600.0, "h"), (60.0, "min"), (1.0, "s")):
        if high >= 2 * size or size == 1:
            first, last = max(1, round(low / size)), max(1, round(high / size))
            return f"about {last} {unit}" if first == last else f"{first} to {last} {unit}"
    raise AssertionError("seconds fit every range")


def _progress(
    job: J, counts: _Counts, speeds: list[Range], measured_rate: Callable[[J], float | None]
) -> Progress:
    done, failed, working, _ = counts
    if job.has_ended or job.is_paused or job.is_waiting:
        return Progress(done, failed, working, _whole_rate(job, done), None)
    speed = speed_of(speeds) or measured_rate(job)
    rate = speed * max(1, working) if speed else None
    remaining = _remaining(job.total - done, rate, speeds) if rate else None
    return Progress(done, failed, working, rate, remaining)


class _Counts(NamedTuple):
    done: int
    failed: int
    working: int
    """Chunks that workers work on."""
    last: int
    """Highest number of a chunk."""


def _counts(chunks: QuerySet[Any]) -> dict[int, _Counts]:
    """Return the counts of chunks by job."""
    working = Count("pk", filter=Q(state=Chunk.State.LEASED))
    sums = {"sum_done": Sum("done"), "sum_failed": Sum("failed"), "working": working, "last": Max("number")}
    rows = chunks.values("job").annotate(**sums).values_list("job", *sums)
    return defaultdict(lambda: _Counts(0, 0, 0, 0), {job: _Counts(*counted) for job, *counted in rows})


def _speeds(chunks: QuerySet[Any], first: dict[int, int]) -> dict[int, list[Range]]:
    """Return by job the (units, seconds) of its latest chunks, numbered from `first` on."""
    among = reduce(or_, (Q(job=job, number__gte=number) for job, number in first.items()))
    rated = chunks.filter(among, seconds__gt=0, done__gt=0).order_by("-number")
    speeds: dict[int, list[Range]] = defaultdict(list)
    for job_id, done, seconds in rated.values_list("job_id", "done", "seconds"):
        if len(speeds[job_id]) < RATED_CHUNKS:
            speeds[job_id].append((done, seconds))
    return speeds


def speed_of(speeds: list[Range]) -> float | None:
    """Return the units a second of one worker."""
    return sum(done for done, _ in speeds) / sum(seconds for _, seconds in speeds) if speeds else None


def _remaining(units: int, rate: float, speeds: list[Range]) -> Range:
    """Return the range of remaining seconds, from the spread of the latest chunks."""
    if len(speeds) < ENOUGH_CHUNKS:
        return units / rate * UNSURE[0], units / rate * UNSURE[1]
    each = np.array([done / seconds for done, seconds in speeds])
    slow, fast = np.percentile(each, [25, 75]) / each.mean()
    return units / (rate * float(fast)), units / (rate * float(slow))


def _whole_rate(job: Job, done: int) -> float | None:
    if not job.started_at or not job.ended_at or not done:
        return None
    seconds = (job.ended_at - job.started_at).total_seconds()
    return done / seconds if seconds > 0 else None
