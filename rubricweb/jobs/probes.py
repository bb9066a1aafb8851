"""Endpoints for probes: `/livez`, `/readyz`, `/healthz` and `/metrics`.

They are answered before anything that asks for a host name, a session or HTTPS: probes and Prometheus call a
process by its bare address.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import redis
from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from rubricweb.core import telemetry
from rubricweb.core.bundles import FOLDER
from rubricweb.core.middleware import Answer
from rubricweb.jobs import queue
from rubricweb.jobs.metrics import WorkCollector

BASE = f"{FOLDER}base.css"
"""Style sheet of every page."""


@dataclass(frozen=True, slots=True)
class Health:
    database: bool
    redis: bool
    workers: int

    @property
    def is_serving(self) -> bool:
        """Return whether pages are served and live, which takes the database and Redis but no worker."""
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
    """Checks that are slow, and repeated only until they succeed.

    They read every migration and every name of a file.
    """

    migrations_are_applied = False
    files_are_collected = False


def has_migrations() -> bool:
    """Return whether the database has every migration of this version; newer ones do not matter."""
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


WORK = CollectorRegistry()
WORK.register(WorkCollector())


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer without a database connection: a busy process is alive."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while this process can serve pages, else 503. It can without Redis."""
    checks = {
        "database": has_database(),
        "migrations": has_migrations(),
        "static_files": has_static_files(),
    }
    return JsonResponse(checks, status=200 if all(checks.values()) else 503)


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while pages are served and live, else 503, with the state of every part.

    `workers` counts those heard of in the last seconds.
    """
    state = check()
    status = "ok" if state.is_serving and state.workers else "degraded" if state.is_serving else "down"
    return JsonResponse({"status": status, **asdict(state)}, status=200 if state.is_serving else 503)


@require_safe
def prometheus(request: HttpRequest) -> HttpResponse:
    """Return the metrics to holders of RUBRIC_METRICS_TOKEN; without that setting there are none."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    if not settings.METRICS_TOKEN:
        raise Http404
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode()):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    text = generate_latest(telemetry.registry()) + generate_latest(WORK)
    return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


VIEWS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/livez": livez,
    "/readyz": readyz,
    "/healthz": healthz,
    "/metrics": prometheus,
}


class Probes:
    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return VIEWS.get(request.path_info, self.get_response)(request)
