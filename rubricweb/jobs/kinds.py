"""The kinds of work: `settings.KINDS_OF_WORK` names the class of each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Min, Model, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.module_loading import import_string

from rubricweb.jobs.models import Chunk, Job, LeasedWork, Task

if TYPE_CHECKING:
    from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)


W = TypeVar("W", bound=LeasedWork)
T = TypeVar("T", bound=Task)

C = TypeVar("C", bound=Chunk)


class Need(NamedTuple):
    """The requirements of a piece of work on its worker."""

    key: str
    """Key of the model, by which a worker reports that it could not load it."""
    label: str
    """Name for people."""
    backend: str = ""
    """Back-end that a worker must declare; empty where every worker can do the work."""
    remedy: str = ""
    """Advice where no worker declares the back-end."""


class Fate(Enum):
    """The fate of work that a worker hands back."""

    QUEUE = "the next worker shall do it"
    HOLD = "its job is paused"
    DROP = "its job is being cancelled"


class CannotRun(Exception):
    """Raised when this worker cannot do the work, but another may. The text is for people."""


class Stopping(Exception):
    """Raised to hand work back: the worker was asked to stop, or nobody wants the work for now."""


def usual_name(work: str, backend: str) -> str:
    """Return the name under which the usual duration of this work is kept; "drafts:hf" for "drafts-12"."""
    return f"{work.rpartition('-')[0]}:{backend}"


class Kind(Generic[W]):
    """A kind of work, as leases, queues and workers see it."""

    name: ClassVar[str]
    """Prefix of its RQ jobs: "chunk" for "chunk-12-0"."""
    model: type[W]
    related: ClassVar[tuple[str, ...]] = ()
    """Relations that are read with the work."""
    payload: ClassVar[tuple[str, ...]] = ()
    """Large fields that only the worker reads."""
    is_retried: ClassVar[bool] = False
    """Whether errors other than a lost connection are tried again."""
    is_awaited: ClassVar[bool] = False
    """Whether somebody waits for its answer: it fails where the model's server does, and others pause."""
    collection: ClassVar[str] = "collection_id"
    """Attribute path from the work to the key of its collection: "job.collection_id"."""
    is_timed: ClassVar[bool] = False
    """Whether it waits for its time outside of the queue, so that only the reaper enqueues it."""

    def run(self, lease: Lease[W]) -> None:
        """Do the work and end it. Raises CannotRun, Stopping or LeaseLost; another error ends the attempt."""
        raise NotImplementedError

    def need(self, work: W) -> Need | None:
        """Return what the work needs; None where every worker can do it."""
        return None

    def name_of(self, pk: int) -> str:
        """Return the name of a piece of work, whichever attempt it is: "drafts-12"."""
        return f"{self.name}-{pk}"

    def label(self, work: W) -> str:
        """Return the work's name for people: "job 7"."""
        return str(work)

    def collection_id(self, work: W) -> int | None:
        key: int | None = attrgetter(self.collection)(work)
        return key

    def usual_names(self, work: W) -> tuple[str, ...]:
        """Return the names under which its duration is kept: with its model, and by its queue."""
        need = self.need(work)
        in_queue = usual_name(self.name_of(work.pk), need.backend if need else "")
        return f"{in_queue}:{need.key if need else ''}", in_queue

    def priority(self, work: W) -> str:
        """Return the priority; by default a person waits for the work."""
        return Job.Priority.HIGH

    def backends(self) -> Iterable[str]:
        """Return those back-ends of the kind that this process can run."""
        return ()

    def claimable(self) -> QuerySet[W]:
        """Return the rows that a worker may take if nobody has them."""
        return self.model._default_manager.all()

    def waiting(self) -> QuerySet[W]:
        rows = self.claimable().filter(state=self.model.State.QUEUED).order_by("pk")
        return rows.select_related(*self.related).defer(*self.payload)

    def examples(self, waiting: QuerySet[W]) -> QuerySet[W]:
        """Return enough of the waiting work to know every need in it."""
        return waiting

    def lock(self, work: W) -> Fate:
        """Lock the rows that ending an attempt changes, and return what becomes of the work.

        Called first in each such transaction.
        """
        return Fate.QUEUE

    def on_begun(self, work: W) -> None:
        """React to a worker's claim, in the same transaction."""

    def on_ended(self, work: W, *, error: str) -> None:
        """React to the end of the work, in the same transaction; `error` is empty unless it failed."""

    def on_unrunnable(self, work: W) -> None:
        """React to the failure of work that no worker can run."""


class TaskKind(Kind[T]):
    """A kind of work that belongs to no job."""

    def on_begun(self, work: T) -> None:
        self.changed(work)

    def on_ended(self, work: T, *, error: str) -> None:
        self.model._default_manager.filter(pk=work.pk).update(error=error, ended_at=timezone.now())
        self.changed(work)

    def changed(self, work: T) -> None:
        """Tell the browsers once the change is committed."""


def do_duties() -> None:
    """Do what every worker does every few seconds, such as queue the work that the database calls for."""
    for path in settings.WORKER_DUTIES:
        import_string(path)()


def get(name: str) -> Kind[Any]:
    return next(kind for kind in registered() if kind.name == name)


def registered() -> tuple[Kind[Any], ...]:
    return tuple(map(_made, settings.KINDS_OF_WORK))


def near(row: Model) -> Iterator[Kind[Any]]:
    """Yield the kinds of the app of `row` first, so that looking up its kind imports no other app's code."""
    room = f"{row._meta.app_config.name}."
    return map(_made, sorted(settings.KINDS_OF_WORK, key=lambda path: not path.startswith(room)))


def kind_of(work: LeasedWork) -> Kind[Any]:
    return next(kind for kind in near(work) if isinstance(work, kind.model))


@cache
def _made(path: str) -> Kind[Any]:
    kind: Kind[Any] = import_string(path)()
    return kind


class ChunkKind(Kind[C]):
    """A kind whose work is chunks of a job.

    Whoever ends a chunk locks its job first, so that of two last chunks one ends the job.
    """

    is_retried = True
    collection = "job.collection_id"
    job_related: ClassVar[tuple[str, ...]] = ()
    """Relations that are read with a job."""
    activity = "job"
    """What audit entries call the work of its jobs: "grading" in "grading paused"."""
    saves_batches = False
    """Whether a cancelled job first saves what workers are at, since it may have been paid for."""

    def audited(self, job: Any) -> tuple[Model, str]:
        """Return what an entry about the job is of, and its detail."""
        return job, ""

    def label(self, work: C) -> str:
        return f"job {self.job_id(work)}"

    def priority(self, work: C) -> str:
        return str(self.job(work).priority)

    @property
    def job_model(self) -> type[Any]:  # Any: the subclass's job
        model: type[Any] = self.model._meta.get_field("job").related_model  # type: ignore[assignment]
        return model

    def job(self, work: C) -> Any:
        return work.job  # type: ignore[attr-defined]

    def job_id(self, work: C) -> int:
        return int(work.job_id)  # type: ignore[attr-defined]

    def claimable(self) -> QuerySet[C]:
        worked_on = self.job_model._default_manager.filter(pk=OuterRef("job_id"), state__in=Job.WORKED_ON)
        return self.model._default_manager.filter(Exists(worked_on))

    def examples(self, waiting: QuerySet[C]) -> QuerySet[C]:
        """Return one chunk of each job."""
        first = waiting.order_by().values("job").annotate(first=Min("pk")).values("first")
        return waiting.filter(pk__in=first)

    def lock(self, work: C) -> Fate:
        job = self.lock_job(self.job_id(work))
        work.job = job  # type: ignore[attr-defined]
        if job.is_cancelling:
            return Fate.DROP
        return Fate.HOLD if job.is_paused else Fate.QUEUE

    def lock_job(self, job_id: int) -> Any:
        """Return the job's row, locked until the transaction ends.

        Rows that refer to the job can still be written.
        """
        rows = self.job_model._default_manager.select_for_update(no_key=True, of=("self",))
        return rows.select_related(*self.job_related).get(pk=job_id)

    def on_begun(self, work: C) -> None:
        queued = self.job_model._default_manager.filter(pk=self.job_id(work), state=Job.State.QUEUED)
        queued.update(state=Job.State.RUNNING, started_at=Now())

    def on_ended(self, work: C, *, error: str) -> None:
        job = self.job(work)
        if error and not job.error:  # later ones are in the log
            job.error = error[:2_000]
            job.save(update_fields=["error"])
        finish_if_done(job)

    def on_unrunnable(self, work: C) -> None:
        """Cancel the chunks that wait: no worker can run them either."""
        self.close(self.job(work))
        waiting = self.job(work).chunks.filter(state=Chunk.State.QUEUED)
        waiting.update(state=Chunk.State.CANCELLED)

    def job_changed(self, job: Any) -> None:
        """Tell pages that the job was paused or resumed, or ended; called once that is committed."""

    def on_finished(self, job: Any) -> None:
        """React to the end of the job, in the same transaction."""

    def on_resumed(self, job: Any) -> None:
        """React to the job being resumed, in the same transaction, with its row locked."""

    def open_more(self, job: Any) -> None:
        """Make more chunks, if `job`, whose row is locked, has few left and was not closed."""

    def close(self, job: Any) -> None:
        """Open no more chunks."""

    def is_cut_short(self, job: Any) -> bool:
        """Return whether `job`, which has no chunk left to do, has units that are in none."""
        return False

    def release(self, job: Any) -> list[Any]:
        """Return the locked jobs that waited in vain for `job`, which is locked and has ended."""
        return []


def kind_of_job(job: Job) -> ChunkKind[Any]:
    chunked = (kind for kind in near(job) if isinstance(kind, ChunkKind))
    return next(kind for kind in chunked if isinstance(job, kind.job_model))


def finish_if_done(job: Any) -> None:
    """End the job, whose row is locked, if none of its chunks is left. No job ends elsewhere."""
    if job.has_ended:
        return
    kind = kind_of_job(job)
    kind.open_more(job)
    if job.chunks.filter(state__in=Chunk.LIVE).exists():
        return
    states = set(job.chunks.order_by().values_list("state", flat=True).distinct())
    job.pause_reason = ""
    job.state = Job.State.DONE
    if Chunk.State.FAILED in states:
        job.state = Job.State.FAILED
    elif Chunk.State.CANCELLED in states or kind.is_cut_short(job):
        job.state = Job.State.CANCELLED
    job.ended_at = timezone.now()
    job.save(update_fields=["state", "ended_at", "pause_reason"])
    logger.info("job %s ended: %s", job.pk, job.state)
    kind.on_finished(job)
    transaction.on_commit(partial(kind.job_changed, job))
    for waiting in kind.release(job):
        finish_if_done(waiting)
