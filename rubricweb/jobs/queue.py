"""The only door to RQ: enqueue, look into the queue, and the heartbeat of workers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import redis
from django.conf import settings
from rq import Queue
from rq.queue import EnqueueData
from rq.utils import as_text

from rubricweb.core.servers import redis_client

Call = tuple[str, tuple[object, ...]]
"""Of an RQ job: its id, and what its entry point is called with."""
BEAT_PREFIX = "rubricweb:worker:"
BEAT_SECONDS = 5
BEAT_EXPIRES_SECONDS = 20
USUAL = "rubricweb:usual"
"""A hash of Redis: seconds that work usually takes, by what it is. Only forecasts are made of them."""
LATEST_SHARE = 0.3
"""What the latest measurement counts among those before it."""


@dataclass(frozen=True, slots=True)
class WorkerBeat:
    """What a living worker says of itself every few seconds."""

    name: str
    at: float
    doing: str
    device: str
    model: str = ""
    """What it has loaded."""
    memory: str = ""
    backends: tuple[str, ...] = ()
    """Which it declared when it started."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """What it could not load, in words, by the queue in which such work waits for another worker."""
    loaded: tuple[str, ...] = ()
    """The names of the models in its memory."""
    work: str = ""
    """What it is at, by kind and key: "drafts-12"; empty while it waits for work."""
    collection: int | None = None
    """Whose work that is."""
    since: float = 0
    """When it took it."""
    usual: float | None = None
    """Seconds that such work usually takes; None where nobody knows."""
    done: int = 0
    total: int = 0
    """Tokens that a model wrote of its reply, and those that it may have at most; 0 while it writes none."""

    def has(self, backend: str) -> bool:
        """Whether it can run what needs this back-end; every worker can run what needs none."""
        return not backend or backend in self.backends

    @property
    def is_idle(self) -> bool:
        return self.doing == "idle"

    @property
    def seconds_so_far(self) -> float:
        return max(0.0, time.time() - self.since)

    @property
    def seconds_left(self) -> float | None:
        """Of the usual ones; None where they are unknown or over."""
        left = self.usual - self.seconds_so_far if self.usual else 0
        return left if left > 0 else None


def connection() -> redis.Redis:
    return redis_client()


def name_for(priority: str, backend: str = "") -> str:
    """The queue of a priority, or of what only workers with that back-end can run."""
    return f"{priority}-{backend}" if backend else priority


def backend_in(name: str) -> str:
    """Return the back-end of a queue; empty for one that every worker listens on."""
    return name.partition("-")[2]


def get_queue(name: str) -> Queue:
    """Any name: a queue is made when something is put into it."""
    return Queue(name, connection=connection(), default_timeout=settings.RQ_TIMEOUT_SECONDS)


def enqueue_many_now(entry_point: str, calls: Iterable[Call], *, queue_name: str) -> None:
    """Many jobs of one entry point in one round trip. Raises redis.RedisError."""
    queue = get_queue(queue_name)
    queue.enqueue_many([_prepared(entry_point, call) for call in calls])


def move_now(entry_point: str, calls: Iterable[Call], before: str, after: str) -> None:
    """Those that wait in one queue go to the end of the other, all at once. Raises redis.RedisError.

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
    """Results are not kept, since the database has them; failures are for a day."""
    rq_id, args = call
    return Queue.prepare_data(
        entry_point, args=args, job_id=rq_id, description=rq_id, result_ttl=0, failure_ttl=86_400
    )


def known_names() -> list[str]:
    """The queues that anything was ever put into. Raises redis.RedisError."""
    with connection() as client:
        return sorted(queue.name for queue in Queue.all(client))


def lengths() -> dict[str, int]:
    """How much waits, by the name of the queue. Raises redis.RedisError."""
    with connection() as client:
        return {queue.name: queue.count for queue in Queue.all(client)}


def waiting_ids() -> set[str]:
    """Ids of the jobs that wait in Redis now. Raises redis.RedisError."""
    with connection() as client:
        return {rq_id for queue in Queue.all(client) for rq_id in queue.job_ids}


def waiting_by_queue(names: Sequence[str]) -> list[list[str]]:
    """Return the ids of the jobs that wait in each of these queues, in order. Raises redis.RedisError."""
    with connection() as client, client.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.lrange(get_queue(name).key, 0, -1)
        return [[str(as_text(rq_id)) for rq_id in ids] for ids in pipeline.execute()]


def note_usual(names: Sequence[str], seconds: float) -> None:
    """Take how long work took as a measurement of each of these. Raises redis.RedisError."""
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
    with connection() as client:
        return [None if value is None else float(value) for value in client.hmget(USUAL, list(names))]


def beat(worker: WorkerBeat) -> None:
    with connection() as client:
        client.set(BEAT_PREFIX + worker.name, json.dumps(asdict(worker)), ex=BEAT_EXPIRES_SECONDS)


def living_workers() -> list[WorkerBeat]:
    """Workers that were heard of in the last seconds, by name. Raises redis.RedisError when Redis is away."""
    with connection() as client:
        keys = sorted(client.scan_iter(BEAT_PREFIX + "*"))
        beats = client.mget(keys) if keys else []
    return [WorkerBeat(**json.loads(text)) for text in beats if text]


def seconds_since(worker: WorkerBeat) -> float:
    return max(0.0, time.time() - worker.at)
