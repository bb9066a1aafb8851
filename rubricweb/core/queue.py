"""The only door to RQ: enqueue on commit, look into the queue, and the heartbeat of workers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import django_rq
import redis
from django.conf import settings
from django.db import transaction

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


def connection() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL)


def enqueue(entry_point: Callable[..., Any], *args: object, job_id: str) -> None:
    """Hand a job of ids to a worker once the surrounding transaction has committed."""
    transaction.on_commit(lambda: enqueue_now(entry_point, *args, job_id=job_id))


def enqueue_now(entry_point: Callable[..., Any], *args: object, job_id: str) -> None:
    """Results are not kept (the database has them), failures for a day."""
    django_rq.get_queue("default").enqueue(
        entry_point, *args, job_id=job_id, result_ttl=0, failure_ttl=86_400, description=job_id
    )


def enqueue_many_now(entry_point: str, jobs: Iterable[tuple[str, tuple[int, ...]]]) -> None:
    """Many jobs (id, arguments) of one entry point in one round trip. Raises redis.RedisError."""
    queue = django_rq.get_queue("default")
    kept = {"result_ttl": 0, "failure_ttl": 86_400}
    queue.enqueue_many(
        [
            queue.prepare_data(entry_point, args=args, job_id=name, description=name, **kept)
            for name, args in jobs
        ]
    )


def waiting_ids() -> set[str]:
    """Ids of the jobs that wait in Redis now."""
    return set(django_rq.get_queue("default").get_job_ids())


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
