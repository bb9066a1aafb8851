"""The kinds of work: each room names one class for each of its kinds when its app is ready."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from django.db.models import Model, QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from rubricweb.jobs.models import Job, LeasedWork, Task

if TYPE_CHECKING:
    from rubricweb.jobs.leases import Lease

W = TypeVar("W", bound=LeasedWork)
T = TypeVar("T", bound=Task)


class Need(NamedTuple):
    """What a piece of work needs of its worker."""

    key: str
    """Of the model: a worker that could not load it says so by this key."""
    label: str
    """For people."""
    backend: str = ""
    """Which only workers that declare it can run; empty where every worker can."""
    remedy: str = ""
    """What to do where no worker declares the back-end."""


class Demand(Enum):
    """What shall become of work that a worker hands back."""

    NOW = "the next worker shall do it"
    LATER = "its job is paused"
    NONE = "its job is being cancelled"


class CannotRun(Exception):
    """This worker cannot do the work; another may. The text is for people."""


class Stopping(Exception):
    """The worker was asked to stop, or nobody wants the work for now: it is handed back."""


def usual_name(work: str, backend: str) -> str:
    """Return under which name workers keep how long work of this kind takes; "drafts:hf" for "drafts-12"."""
    return f"{work.rpartition('-')[0]}:{backend}"


class Kind(Generic[W]):
    """What leases, queues and workers must know of one kind of work."""

    name: ClassVar[str]
    """Of its RQ jobs: "chunk" for "chunk-12-0"."""
    model: type[W]
    related: ClassVar[tuple[str, ...]] = ()
    """What is read with the work."""
    payload: ClassVar[tuple[str, ...]] = ()
    """Large fields that only the worker reads."""
    is_retried: ClassVar[bool] = False
    """Is an error that is not a lost connection tried again?"""
    collection: ClassVar[str] = "collection_id"
    """The key of the collection that it is for, from the work: "job.collection_id"."""
    is_timed: ClassVar[bool] = False
    """Does it wait for its time, outside of the queue, so that only the reaper enqueues it?"""

    def run(self, lease: Lease[W]) -> None:
        """Do the work and end it. Raises CannotRun, Stopping or LeaseLost; another error ends the attempt."""
        raise NotImplementedError

    def need(self, work: W) -> Need | None:
        """None where every worker can do it."""
        return None

    def name_of(self, pk: int) -> str:
        """Return the name of a piece of work, whichever attempt it is: "drafts-12"."""
        return f"{self.name}-{pk}"

    def label(self, work: W) -> str:
        """For people: "job 7"."""
        return str(work)

    def collection_id(self, work: W) -> int | None:
        key: int | None = attrgetter(self.collection)(work)
        return key

    def usual_names(self, work: W) -> tuple[str, ...]:
        """Under which names workers keep how long it takes: with its model, and as what is in its queue."""
        need = self.need(work)
        in_queue = usual_name(self.name_of(work.pk), need.backend if need else "")
        return f"{in_queue}:{need.key if need else ''}", in_queue

    def priority(self, work: W) -> str:
        """A person waits for it."""
        return Job.Priority.HIGH

    def backends(self) -> Iterable[str]:
        """Which of its back-ends this process can run."""
        return ()

    def claimable(self) -> QuerySet[W]:
        """What a worker may take if nobody has it."""
        return self.model._default_manager.all()

    def waiting(self) -> QuerySet[W]:
        rows = self.claimable().filter(state=self.model.State.QUEUED).order_by("pk")
        return rows.select_related(*self.related).defer(*self.payload)

    def examples(self, waiting: QuerySet[W]) -> QuerySet[W]:
        """Enough of them to know every need among them."""
        return waiting

    def lock(self, work: W) -> Demand:
        """Called first in each transaction that ends an attempt: lock what the end changes."""
        return Demand.NOW

    def on_begun(self, work: W) -> None:
        """A worker has claimed it, in the same transaction."""

    def on_ended(self, work: W, *, error: str) -> None:
        """It is done, failed or cancelled, in the same transaction; `error` is empty unless it failed."""

    def on_unrunnable(self, work: W) -> None:
        """No worker can run it, and it has failed for that."""


class TaskKind(Kind[T]):
    """Work that stands for itself."""

    def on_begun(self, work: T) -> None:
        self.changed(work)

    def on_ended(self, work: T, *, error: str) -> None:
        self.model._default_manager.filter(pk=work.pk).update(error=error, ended_at=timezone.now())
        self.changed(work)

    def changed(self, work: T) -> None:
        """Tell the browsers once it is committed."""


_classes: list[str] = []
_duties: list[str] = []


def register(path: str) -> None:
    """Of a class of kind, with its module: who asks for it imports it, since most processes run none."""
    _classes.append(path)


def register_duty(path: str) -> None:
    """Have every worker call that function every few seconds beside its work: queue what follows from how
    things stand. Any number of workers may call it at once.
    """
    _duties.append(path)


def do_duties() -> None:
    for path in _duties:
        import_string(path)()


def get(name: str) -> Kind[Any]:
    return next(kind for kind in registered() if kind.name == name)


def registered() -> tuple[Kind[Any], ...]:
    return tuple(map(_made, _classes))


def near(row: Model) -> Iterator[Kind[Any]]:
    """Those of the app of `row` first, so that to find the kind of it imports no other app's code."""
    room = f"{row._meta.app_config.name}."
    return map(_made, sorted(_classes, key=lambda path: not path.startswith(room)))


def kind_of(work: LeasedWork) -> Kind[Any]:
    return next(kind for kind in near(work) if isinstance(work, kind.model))


@cache
def _made(path: str) -> Kind[Any]:
    kind: Kind[Any] = import_string(path)()
    return kind
