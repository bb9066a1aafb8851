"""Waiting times: a sentence on who does the work, what comes before it, and how long it takes.

Times go by what workers measured (`queue.usual`), and are left out where nobody has measured anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import redis
from django.conf import settings
from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from rubricweb.core.formatting import counted, number
from rubricweb.jobs import queue, worker_state
from rubricweb.jobs.kinds import Kind, kind_of, kind_of_job, usual_name
from rubricweb.jobs.models import Chunk, Job, LeasedWork
from rubricweb.jobs.progress import in_words

SOON = 1.0
"""Seconds below which times are not told apart."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The state of a piece of work, as a page shows it."""

    has_redis: bool = True
    """False while Redis is away, so that nothing starts."""
    needs_worker: bool = False
    """Whether no running worker can do the work."""
    is_orphaned: bool = False
    """Whether the worker that has the work is not heard of any more; `seconds` until its lease ends."""
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
    is_loading: bool = False
    """Its worker loads the model, or fetches it, before anything is done."""
    done: int = 0
    total: int = 0
    """Most tokens that the model may write, `done` of them so far; 0 while it writes none."""

    @property
    def is_stuck(self) -> bool:
        """Return whether nothing moves until a worker or Redis is there again."""
        return self.is_orphaned or self.needs_worker or not self.has_redis

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
        if self.is_loading:
            return f"Loading the model, {self.time}"
        if self.seconds is None and not self.so_far:
            return "just started"
        time = f"{self.time} left" if self.seconds is not None else self.time
        if not self.total:
            return time
        return f"{number(self.done)} of at most {counted(self.total, 'token')}, {time}"


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """The living workers at one moment."""

    workers: Sequence[queue.WorkerBeat]
    has_redis: bool = True

    @classmethod
    def now(cls) -> WaitingLine:
        try:
            return cls(queue.living_workers())
        except redis.RedisError:
            return cls((), has_redis=False)

    @property
    def names(self) -> set[str]:
        return {each.name for each in self.workers}

    def wait_of(self, work: LeasedWork | Job) -> Wait | None:
        """Return what the work waits for; None if it has ended, runs as a job, or is wanted by nobody now."""
        if isinstance(work, Job):
            return self.waits_of([work])[0]
        if not work.is_live:
            return None
        kind = kind_of(work)
        if work.state == LeasedWork.State.LEASED:
            name = kind.name_of(work.pk)
            beat = next((each for each in self.workers if each.work == name), None)
            if beat is None:
                return self._held_by_nobody_heard_of(work)
            return Wait(
                is_under_way=True,
                seconds=beat.seconds_left,
                so_far=beat.seconds_so_far,
                done=beat.done,
                total=beat.total,
            )
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

    def _held_by_nobody_heard_of(self, work: LeasedWork) -> Wait:
        """Return that it has just begun, or that its worker neither reports nor renews its lease."""
        until = work.lease_until
        if until is None or until >= _latest_of_orphans() or not self.has_redis or work.worker in self.names:
            return Wait(is_under_way=True)
        rest = (until - timezone.now()).total_seconds()
        return Wait(is_orphaned=True, seconds=max(SOON, rest))

    def waits_of(self, jobs: Sequence[Job]) -> list[Wait | None]:
        """Return by job what the chunk that it waits with waits for, in two queries."""
        active = [job for job in jobs if job.state in Job.WORKED_ON]
        if not active:
            return [None] * len(jobs)
        kind = kind_of_job(active[0])
        live = kind.model.objects.filter(job__in=[job.pk for job in active], state__in=Chunk.LIVE).order_by()
        leased, queued = (Q(state=state) for state in (Chunk.State.LEASED, Chunk.State.QUEUED))
        orphaned = leased & ~Q(worker__in=self.names) & Q(lease_until__lt=_latest_of_orphans())
        firsts = live.values("job").annotate(
            working=Count("pk", filter=leased & ~orphaned if self.has_redis else leased),
            orphan=Min("pk", filter=orphaned),
            first=Min("pk", filter=queued),
        )
        pks = [row["orphan"] or row["first"] for row in firsts if not row["working"]]
        rows = kind.claimable().select_related(*kind.related).defer(*kind.payload)
        chunks = rows.filter(pk__in=pks) if pks else ()
        waits = self._loading(kind, live.filter(leased))
        waits |= {kind.job_id(chunk): self.wait_of(chunk) for chunk in chunks}
        return [waits.get(job.pk) for job in jobs]

    def _loading(self, kind: Kind[Any], leased: QuerySet[Any]) -> dict[int, Wait | None]:
        """Return by job that a worker loads the model for one of its leased chunks."""
        loading = {each.work: each for each in self.workers if each.is_loading}
        rows = leased.values_list("job", "pk") if loading else ()
        return {
            job: Wait(is_under_way=True, is_loading=True, so_far=beat.seconds_so_far)
            for job, pk in rows
            if (beat := loading.get(kind.name_of(pk)))
        }


def _turn(able: Sequence[queue.WorkerBeat], kind: Kind[Any], piece: LeasedWork) -> Wait:
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


def _latest_of_orphans() -> datetime:
    """Return the end of a lease that was last renewed half a lease ago: workers renew it earlier."""
    return timezone.now() + timedelta(seconds=settings.LEASE_SECONDS / 2)


def waits_of(jobs: Sequence[Job]) -> list[Wait | None]:
    """Return what each of these jobs of one kind waits for; Redis is read only if any waits."""
    if not any(job.state in Job.WORKED_ON for job in jobs):
        return [None] * len(jobs)
    return WaitingLine.now().waits_of(jobs)
