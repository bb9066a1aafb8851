"""Health of the database, Redis and the workers."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.db import DatabaseError, connection

from rubricweb.jobs import queue


@dataclass(frozen=True, slots=True)
class Health:
    database: bool
    redis: bool
    workers: int

    @property
    def is_serving(self) -> bool:
        """Pages need the database and Redis; without a worker only grading waits."""
        return self.database and self.redis


def check() -> Health:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        database = True
    except DatabaseError:
        database = False
    try:
        workers, is_redis_up = len(queue.living_workers()), True
    except redis.RedisError:
        workers, is_redis_up = 0, False
    return Health(database, is_redis_up, workers)
