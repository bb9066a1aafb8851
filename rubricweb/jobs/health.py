"""Health of the database, Redis and the workers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import redis
from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from rubricweb.core.bundles import FOLDER
from rubricweb.jobs import queue

BASE = f"{FOLDER}base.css"
"""The style sheet of every page."""


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


class _Known:
    """Reading every migration and every name of a file takes a while: each is asked until it is true."""

    migrations_are_applied = False
    files_are_collected = False


def has_migrations() -> bool:
    """Has the database every migration of this version? Those of a newer version do not matter."""
    if not _Known.migrations_are_applied:
        try:
            executor = MigrationExecutor(connection)
            _Known.migrations_are_applied = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        except DatabaseError:
            return False
    return _Known.migrations_are_applied


def has_static_files() -> bool:
    """Return whether pages have their styles and scripts.

    `collectstatic` was run by this version before this process began; on one's own machine it need not be.
    """
    if not isinstance(staticfiles_storage, ManifestFilesMixin):
        return True
    collected = staticfiles_storage.hashed_files
    if not _Known.files_are_collected:
        own = Path(settings.STATICFILES_DIRS[0])
        names = {path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file()}
        _Known.files_are_collected = {BASE, *names} <= collected.keys()
    return _Known.files_are_collected and staticfiles_storage.exists(collected[BASE])
