"""RQ's queues: how work gets from the database into them, and the heartbeat of workers."""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial

import redis
from django.conf import settings
from django.db import transaction
from rq import Queue
from rq.queue import EnqueueData
from rq.utils import as_text

from rubricweb.core.servers import kept_client, redis_client
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

Call = tuple[str, tuple[object, ...]]
"""An RQ job's id, and the arguments of its entry point."""
BEAT_PREFIX = "rubricweb:worker:"
BEAT_SECONDS = 5
BEAT_EXPIRES_SECONDS = 20
USUAL = "rubricweb:usual"
"""Redis hash of the usual seconds of work by its kind, used for forecasts only."""
LATEST_SHARE = 0.3
"""Weight of the latest measurement in the running average."""

ENTRY_POINT = "rubricweb.jobs.worker.work_on"


LOADING = "loading "
"""How `WorkerBeat.doing` begins while a model is loaded."""


@dataclass(frozen=True, slots=True)
class WorkerBeat:
    """The state that a living worker reports every few seconds."""

    name: str
    at: float
    doing: str
    device: str
    model: str = ""
    """Name of the loaded model."""
    memory: str = ""
    backends: tuple[str, ...] = ()
    """Back-ends that it declared when it started."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Labels of what it could not load, by the queue in which such work waits for another worker."""
    loaded: tuple[str, ...] = ()
    """Names of the models in its memory."""
    work: str = ""
    """Kind and key of its present work, "drafts-12"; empty while it waits for work."""
    collection: int | None = None
    """Primary key of the work's collection."""
    since: float = 0
    """When it took the work."""
    usual: float | None = None
    """Seconds that such work usually takes; None where unknown."""
    done: int = 0
    total: int = 0
    """Most tokens of the reply that a model is writing, `done` of them so far; 0 while it writes none."""

    def has(self, backend: str) -> bool:
        """Return whether the worker can run what needs this back-end; all can run what needs none."""
        return not backend or backend in self.backends

    @property
    def is_idle(self) -> bool:
        return self.doing == "idle"

    @property
    def is_loading(self) -> bool:
        return self.doing.startswith(LOADING)

    @property
    def seconds_so_far(self) -> float:
        return max(0.0, time.time() - self.since)

    @property
    def seconds_left(self) -> float | None:
        """Return what is left of the usual seconds; None where they are unknown or over."""
        left = self.usual - self.seconds_so_far if self.usual else 0
        return left if left > 0 else None


def connection() -> redis.Redis:
    """Return a client to close, for what writes."""
    return redis_client()


def _kept() -> redis.Redis:
    """Return the process's client, with which pages read without connecting again."""
    return kept_client(settings.REDIS_URL)


def name_for(priority: str, backend: str = "") -> str:
    """Return the queue of a priority, or of work that only workers with that back-end can run."""
    return f"{priority}-{backend}" if backend else priority


def backend_in(name: str) -> str:
    """Return the back-end of a queue; empty for one that every worker listens on."""
    return name.partition("-")[2]


def get_queue(name: str) -> Queue:
    """Return the queue of any name; it comes into being when something is put into it."""
    return Queue(name, connection=connection(), default_timeout=settings.RQ_TIMEOUT_SECONDS)


def enqueue_many_now(entry_point: str, calls: Iterable[Call], *, queue_name: str) -> None:
    """Enqueue many jobs of one entry point in one round trip. Raises redis.RedisError."""
    queue = get_queue(queue_name)
    queue.enqueue_many([_prepared(entry_point, call) for call in calls])


def move_now(entry_point: str, calls: Iterable[Call], before: str, after: str) -> None:
    """Move jobs that wait in one queue to the end of the other. Raises redis.RedisError.

    What a worker takes in the same moment is put into the other queue too, where it finds nothing to do.
    """
    source, target = get_queue(before), get_queue(after)
    waiting = set(source.job_ids)
    moved = [call for call in calls if call[0] in waiting]
    if not moved:
        return
    with source.connection.pipeline() as pipeline:
        for rq_id, _ in moved:
            source.remove(rq_id, pipeline=pipeline)
        target.enqueue_many([_prepared(entry_point, call) for call in moved], pipeline=pipeline)
        pipeline.execute()


def _prepared(entry_point: str, call: Call) -> EnqueueData:
    """Return the RQ job without a kept result, which the database has; failures are kept for a day."""
    rq_id, args = call
    return Queue.prepare_data(
        entry_point, args=args, job_id=rq_id, description=rq_id, result_ttl=0, failure_ttl=86_400
    )


def known_names() -> list[str]:
    """Return the names of all queues that were ever used. Raises redis.RedisError."""
    with connection() as client:
        return sorted(queue.name for queue in Queue.all(client))


def lengths() -> dict[str, int]:
    """Return how much waits, by the name of the queue. Raises redis.RedisError."""
    with connection() as client:
        return {queue.name: queue.count for queue in Queue.all(client)}


def waiting_ids() -> set[str]:
    """Return the ids of the jobs that wait in Redis now. Raises redis.RedisError."""
    return {rq_id for queue in Queue.all(_kept()) for rq_id in queue.job_ids}


def waiting_by_queue(names: Sequence[str], *, most: int = 0) -> list[list[str]]:
    """Return the ids of the jobs that wait in each of these queues, in order: all, or the first `most`.

    Raises redis.RedisError.
    """
    with _kept().pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.lrange(Queue(name, connection=_kept()).key, 0, most - 1)
        return [[str(as_text(rq_id)) for rq_id in ids] for ids in pipeline.execute()]


def note_usual(names: Sequence[str], seconds: float) -> None:
    """Add a measured duration to the running average under each of these names.

    Raises redis.RedisError.
    """
    present = usual(names)
    measured = {
        name: seconds if before is None else before + LATEST_SHARE * (seconds - before)
        for name, before in zip(names, present, strict=True)
    }
    with connection() as client:
        client.hset(USUAL, mapping=measured)


def usual(names: Sequence[str]) -> list[float | None]:
    """Return the seconds that each of these usually takes, None if unknown. Raises redis.RedisError."""
    if not names:
        return []
    values = _kept().hmget(USUAL, list(names))
    return [None if value is None else float(value) for value in values]


def beat(worker: WorkerBeat) -> None:
    with connection() as client:
        client.set(BEAT_PREFIX + worker.name, json.dumps(asdict(worker)), ex=BEAT_EXPIRES_SECONDS)


def living_workers() -> list[WorkerBeat]:
    """Return by name the workers heard of in the last seconds. Raises redis.RedisError."""
    client = _kept()
    keys = sorted(client.scan_iter(BEAT_PREFIX + "*"))
    beats = client.mget(keys) if keys else []
    return [WorkerBeat(**json.loads(text)) for text in beats if text]


def rq_id(work: LeasedWork) -> str:
    """Return the id of the RQ job that makes the work's next attempt."""
    return f"{kind_of(work).name_of(work.pk)}-{work.attempts}"


def name_in(rq_id: str) -> str:
    """Return the name of the work that an RQ job attempts, whichever attempt it is: "drafts-12"."""
    return rq_id.rpartition("-")[0]


def queue_of(work: LeasedWork) -> str:
    """Return the queue of the work's priority, or of its back-end where not every worker has that."""
    kind = kind_of(work)
    need = kind.need(work)
    return name_for(kind.priority(work), need.backend if need else "")


def enqueue(works: Iterable[LeasedWork], queue_name: str = "") -> None:
    """Enqueue work once the surrounding transaction has committed."""
    transaction.on_commit(partial(enqueue_now, list(works), queue_name))


def enqueue_now(works: list[LeasedWork], queue_name: str = "") -> None:
    """Enqueue work at once, in `queue_name` or each in its own queue."""
    by_queue: dict[str, list[LeasedWork]] = defaultdict(list)
    for work in works:
        by_queue[queue_name or queue_of(work)].append(work)
    try:
        for name, waiting in by_queue.items():
            enqueue_many_now(ENTRY_POINT, map(_call, waiting), queue_name=name)
    except redis.RedisError as error:
        logger.warning("%d pieces of work were not enqueued yet: %s", len(works), error)


def move(works: Iterable[LeasedWork], before: str, after: str) -> None:
    """Move work from queue to queue, once the surrounding transaction has committed."""
    transaction.on_commit(partial(_move_now, list(works), before, after))


def _move_now(works: list[LeasedWork], before: str, after: str) -> None:
    """Move work at once; work handed over to a more capable worker stays where it is."""
    try:
        move_now(ENTRY_POINT, map(_call, works), before, after)
    except redis.RedisError as error:
        logger.warning("%d pieces of work stay in the queue %s: %s", len(works), before, error)


def _call(work: LeasedWork) -> Call:
    return rq_id(work), (kind_of(work).name, work.pk)
