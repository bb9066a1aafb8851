"""Progress, duration, cost and waiting times of jobs, from the counts that chunks keep.

Waiting times: a sentence on who does the work, what comes before it, and how long it takes.

Times go by what workers measured (`queue.usual`), and are left out where nobody has measured anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, TypeVar

import numpy as np
import redis
from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from rubricweb.core.formatting import number
from rubricweb.jobs import queue, worker_state
from rubricweb.jobs.kinds import Kind, kind_of, kind_of_job, usual_name
from rubricweb.jobs.models import Chunk, Job, LeasedWork
from rubricweb.jobs.queue import WorkerBeat

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

    @property
    def measured_seconds(self) -> Range | None:
        return None if self.is_guess else self.seconds

    @property
    def seconds_words(self) -> str:
        return in_words(self.seconds) if self.seconds else ""

    @property
    def words(self) -> str:
        """Return the price for people: "less than $0.01, about 2 min (guess), about 4,000 input tokens"."""
        guess = " (guess)" if self.is_guess else ""
        return ", ".join(
            (
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


def rate_of(chunks: QuerySet[Any]) -> float | None:
    """Return units a second that one worker reached in the latest chunks; None where none is done."""
    rated = chunks.filter(seconds__gt=0, state=Chunk.State.DONE).order_by("-pk")
    return _speed(list(rated.values_list("done", "seconds")[:RATED_CHUNKS]))


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
    speed = _speed(speeds) or measured_rate(job)
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


def _speed(speeds: list[Range]) -> float | None:
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


SOON = 1.0
"""Seconds below which times are not told apart."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The state of a piece of work, as a page shows it."""

    has_redis: bool = True
    """False while Redis is away, so that nothing starts."""
    needs_worker: bool = False
    """Whether no running worker can do the work."""
    ahead: str = ""
    """Work that a worker does first: "drafts for topic leaf"; empty if nothing."""
    collection: int | None = None
    """Primary key of that work's collection; other collections' readers are not told what it is."""
    more: int = 0
    """Number of pieces of work that wait before this one."""
    seconds: float | None = None
    """Seconds until its turn, or until its end while it is being done; None if unknown."""
    so_far: float = 0
    """Seconds that the work ahead, or this one while it is being done, has taken."""
    is_under_way: bool = False
    done: int = 0
    total: int = 0
    """Most tokens that the model may write, `done` of them so far; 0 while it writes none."""

    def name(self, collection_id: int | None) -> str:
        """Return the work ahead for a reader who may see the work of `collection_id`, or of none."""
        is_known = collection_id is not None and self.collection == collection_id
        return self.ahead if is_known else "other work"

    @property
    def rest(self) -> str:
        """Return the end of the sentence: " and 3 more pieces of work, about 2 min"."""
        pieces = "piece" if self.more == 1 else "pieces"
        more = f" and {number(self.more)} more {pieces} of work" if self.more else ""
        return f"{more}, {self.time}"

    @property
    def time(self) -> str:
        if self.seconds is not None:
            return in_words((self.seconds, self.seconds))
        so_far = max(SOON, self.so_far)
        return f"{in_words((so_far, so_far)).removeprefix('about ')} so far"

    @property
    def progress(self) -> str:
        """Return the progress of running work: "120 of at most 512 tokens, about 6 s left"."""
        if self.seconds is None and not self.so_far:
            return "just started"
        time = f"{self.time} left" if self.seconds is not None else self.time
        if not self.total:
            return time
        return f"{number(self.done)} of at most {number(self.total)} tokens, {time}"


@dataclass(frozen=True, slots=True)
class Line:
    """The living workers at one moment."""

    workers: Sequence[WorkerBeat]
    has_redis: bool = True

    @classmethod
    def now(cls) -> Line:
        try:
            return cls(queue.living_workers())
        except redis.RedisError:
            return cls((), has_redis=False)

    def wait_of(self, work: LeasedWork | Job) -> Wait | None:
        """Return what the work waits for; None if it has ended, runs as a job, or is wanted by nobody now."""
        if isinstance(work, Job):
            return self.waits_of([work])[0]
        if not work.is_live:
            return None
        kind = kind_of(work)
        if work.state == LeasedWork.State.LEASED:
            return self._under_way(kind, work)
        if not self.has_redis:
            return Wait(has_redis=False)
        need = kind.need(work)
        able = [each for each in self.workers if need is None or worker_state.can_run(each, need)]
        if not able:
            return Wait(needs_worker=True)
        try:
            return _turn(able, kind, work)
        except redis.RedisError:
            return Wait(has_redis=False)

    def waits_of(self, jobs: Sequence[Job]) -> list[Wait | None]:
        """Return by job what the chunk that it waits with waits for, in two queries."""
        active = [job for job in jobs if job.state in Job.WORKED_ON]
        if not active:
            return [None] * len(jobs)
        kind = kind_of_job(active[0])
        live = kind.model.objects.filter(job__in=[job.pk for job in active], state__in=Chunk.LIVE).order_by()
        leased, queued = (Q(state=state) for state in (Chunk.State.LEASED, Chunk.State.QUEUED))
        firsts = live.values("job").annotate(
            working=Count("pk", filter=leased), first=Min("pk", filter=queued)
        )
        pks = [row["first"] for row in firsts if not row["working"]]
        chunks = kind.waiting().filter(pk__in=pks) if pks else ()
        waits = {kind.job_id(chunk): self.wait_of(chunk) for chunk in chunks}
        return [waits.get(job.pk) for job in jobs]

    def _under_way(self, kind: Kind[Any], piece: LeasedWork) -> Wait:
        name = kind.name_of(piece.pk)
        beat = next((each for each in self.workers if each.work == name), None)
        if beat is None:
            return Wait(is_under_way=True)
        return Wait(
            is_under_way=True,
            seconds=beat.seconds_left,
            so_far=beat.seconds_so_far,
            done=beat.done,
            total=beat.total,
        )


def _turn(able: Sequence[WorkerBeat], kind: Kind[Any], piece: LeasedWork) -> Wait:
    """Return when a capable worker gets to the work. Raises redis.RedisError."""
    if any(each.is_idle for each in able):
        return Wait(seconds=0)
    own, name = queue.queue_of(piece), kind.name_of(piece.pk)
    counts: Counter[str] = Counter()
    names = worker_state.names_for(able[0].backends)
    for queue_name, ids in zip(names, queue.waiting_by_queue(names), strict=True):
        pieces = list(map(queue.name_in, ids))
        before = pieces[: pieces.index(name)] if name in pieces else pieces
        backend = queue.backend_in(queue_name)
        counts.update(usual_name(each, backend) for each in before)
        if queue_name == own:
            break
    usual = dict(zip(counts, queue.usual(list(counts)), strict=True))
    first = min(able, key=lambda each: (each.seconds_left is None, each.seconds_left or 0))
    is_known = first.seconds_left is not None and None not in usual.values()
    queued = sum(count * (usual[each] or 0) for each, count in counts.items()) / len(able)
    return Wait(
        ahead=first.doing,
        collection=first.collection,
        more=counts.total(),
        seconds=(first.seconds_left or 0) + queued if is_known else None,
        so_far=first.seconds_so_far,
    )


def waits_of(jobs: Sequence[Job]) -> list[Wait | None]:
    """Return what each of these jobs of one kind waits for; Redis is read only if any waits."""
    if not any(job.state in Job.WORKED_ON for job in jobs):
        return [None] * len(jobs)
    return Line.now().waits_of(jobs)
