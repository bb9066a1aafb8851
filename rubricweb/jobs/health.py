"""Health of the database, Redis and the workers."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from rubricweb.jobs import queue


@dataclass(frozen=True, slots=True)
class Health:
    database: bool
    redis: bool
    workers: int

    @property
    def is_serving(self) -> bool:
        """Live pages need the database and Redis; without a worker only grading waits."""
        return self.database and self.redis


def check() -> Health:
    try:
        workers, is_redis_up = len(queue.living_workers()), True
    except redis.RedisError:
        workers, is_redis_up = 0, False
    return Health(has_database(), is_redis_up, workers)


def has_database() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


class _Migrations:
    """Reading every migration takes a while, and what was applied stays so: it is asked until it is true."""

    are_applied = False


def has_migrations() -> bool:
    """Has the database every migration of this version? Those of a newer version do not matter."""
    if not _Migrations.are_applied:
        try:
            executor = MigrationExecutor(connection)
            _Migrations.are_applied = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError:
            return False
    return _Migrations.are_applied
