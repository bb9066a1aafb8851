"""The only door to RQ: enqueue, look into the queue, and the heartbeat of workers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

import django_rq
import redis
from django.conf import settings
from rq import Queue

NAMES = ("high", "default")
"""In the order in which workers look into them."""
MOVE = """
local moved = 0
for place = 2, #ARGV do
  if redis.call('LREM', KEYS[1], 1, ARGV[place]) > 0 then
    redis.call('RPUSH', KEYS[2], ARGV[place])
    redis.call('HSET', 'rq:job:' .. ARGV[place], 'origin', ARGV[1])
    moved = moved + 1
  end
end
if moved > 0 then redis.call('SADD', KEYS[3], KEYS[2]) end
return moved
"""
"""One script, so that no job is ever in neither queue."""
BEAT_PREFIX = "rubricweb:worker:"
BEAT_SECONDS = 5
BEAT_EXPIRES_SECONDS = 20


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
    cannot: Mapping[str, str] = field(default_factory=dict)
    """What it cannot run, in words, by the queue in which such work waits for another worker."""


def connection() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL)


def enqueue_many_now(
    entry_point: str, jobs: Iterable[tuple[str, tuple[int, ...]]], *, queue_name: str = "default"
) -> None:
    """Many jobs (id, arguments) of one entry point in one round trip. Raises redis.RedisError.

    Results are not kept (the database has them), failures for a day.
    """
    queue = get_queue(queue_name)
    queue.enqueue_many(
        [
            queue.prepare_data(
                entry_point, args=args, job_id=name, description=name, result_ttl=0, failure_ttl=86_400
            )
            for name, args in jobs
        ]
    )


def move_now(ids: list[str], before: str, after: str) -> int:
    """Those of these jobs that wait in one queue go to the end of the other. Raises redis.RedisError."""
    if not ids:
        return 0
    with connection() as client:
        keys = [f"rq:queue:{before}", f"rq:queue:{after}", "rq:queues"]
        return int(client.eval(MOVE, len(keys), *keys, after, *ids))


def get_queue(name: str) -> Queue:
    """Any name: a queue is made when something is put into it."""
    default = django_rq.get_queue(NAMES[-1])
    return Queue(name, connection=default.connection, default_timeout=default._default_timeout)


def known_names() -> list[str]:
    """The queues that anything was ever put into. Raises redis.RedisError."""
    with connection() as client:
        return sorted(name.decode().removeprefix("rq:queue:") for name in client.smembers("rq:queues"))


def waiting_ids() -> set[str]:
    """Ids of the jobs that wait in Redis now. Raises redis.RedisError."""
    names = {*NAMES, *known_names()}
    with connection() as client:
        return {job_id.decode() for name in names for job_id in client.lrange(f"rq:queue:{name}", 0, -1)}


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
