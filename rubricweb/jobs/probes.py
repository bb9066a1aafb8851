"""Endpoints for probes and for Prometheus: `/livez`, `/readyz`, `/healthz` and `/metrics`.

They are answered before anything that asks for a host name, a session or HTTPS: probes and Prometheus call a
process by its bare address.
"""

from __future__ import annotations

import hmac
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.contrib.staticfiles.storage import ManifestFilesMixin, staticfiles_storage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Count, Min, Q
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from rubricweb.core import telemetry
from rubricweb.core.middleware import Answer
from rubricweb.core.static_files import FOLDER
from rubricweb.jobs import kinds, queue, worker_state
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

ATTEMPTS = "rubricweb:attempts"
"""Redis hash of what all workers did since it started, by kind, outcome and what is counted."""
State = LeasedWork.State

BASE = f"{FOLDER}base.css"
"""Style sheet of every page."""
WORK = CollectorRegistry()
CALLS = "rubricweb:calls"
"""Redis hash of what graders and models did since it began, by a JSON list of the counter and its labels."""
COUNTERS = {
    "cells": ("Pairs that a grader was given, failed ones included.", ("grader",)),
    "failed_cells": ("Pairs that a grader failed on, by the class of the error.", ("grader", "error")),
    "tokens": ("Tokens that a model read or wrote, estimated.", ("model", "direction")),
    "dollars": ("Money that calls of a model cost, estimated.", ("model",)),
}
"""Tokens are estimated from characters, money from RUBRIC_PRICES: a model without a price costs 0."""


def count_attempt(lease: Lease[Any], seconds: float) -> None:
    """Add a finished attempt to the counters, which exist only with Redis."""
    row = lease.kind.model._default_manager.filter(pk=lease.work.pk).first()
    outcome = row.state if row else "deleted"
    before, after = getattr(lease.work, "done", 0), getattr(row, "done", int(outcome == State.DONE))
    key = f"{lease.kind.name}:{outcome}"
    try:
        if outcome == State.DONE:
            names = lease.kind.usual_names(lease.work)
            queue.note_usual(names, max(0.0, seconds - worker_state.now.loading_seconds))
        with queue.connection() as client, client.pipeline() as pipeline:
            pipeline.hincrby(ATTEMPTS, f"{key}:attempts", 1)
            pipeline.hincrbyfloat(ATTEMPTS, f"{key}:seconds", seconds)
            pipeline.hincrby(ATTEMPTS, f"{key}:units", max(0, after - before))
            pipeline.execute()
    except redis.RedisError as error:
        logger.debug("an attempt was not counted: %s", error)


def note_graded(grader: str, errors: Mapping[str, int]) -> None:
    """Count pairs of a grader by the class of their error, which is empty for a grade."""
    counts: dict[tuple[str, ...], float] = {("cells", grader): sum(errors.values())}
    counts |= {("failed_cells", grader, error): count for error, count in errors.items() if error}
    _note(counts)


def note_tokens(model: str, read: float, written: float, dollars: float | None) -> None:
    """Count what calls of a model took; `dollars` is None where no price is known."""
    counts: dict[tuple[str, ...], float] = {("dollars", model): dollars or 0.0}
    counts |= {("tokens", model, "read"): round(read), ("tokens", model, "written"): round(written)}
    _note(counts)


def _note(counts: Mapping[tuple[str, ...], float]) -> None:
    try:
        with queue.connection() as client, client.pipeline() as pipeline:
            for key, count in counts.items():
                pipeline.hincrbyfloat(CALLS, json.dumps(key), count)
            pipeline.execute()
    except redis.RedisError as error:
        logger.debug("calls were not counted: %s", error)


class WorkCollector(Collector):
    """Collector that reads the metrics on each scrape."""

    def collect(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily("rubricweb_work_waiting", "Pieces of work that wait.", labels=["kind"])
        leased = GaugeMetricFamily("rubricweb_work_leased", "Pieces that a worker has.", labels=["kind"])
        oldest = GaugeMetricFamily(
            "rubricweb_work_oldest_seconds", "Age of the piece that waits longest.", labels=["kind"]
        )
        for kind in kinds.registered():
            is_waiting = Q(state=State.QUEUED)
            live = kind.claimable().filter(state__in=LeasedWork.LIVE).order_by()
            counts: dict[str, Any] = live.aggregate(
                waiting=Count("pk", filter=is_waiting),
                leased=Count("pk", filter=~is_waiting),
                oldest=Min("queued_at", filter=is_waiting),
            )
            waiting.add_metric([kind.name], counts["waiting"])
            leased.add_metric([kind.name], counts["leased"])
            age = (timezone.now() - counts["oldest"]).total_seconds() if counts["oldest"] else 0
            oldest.add_metric([kind.name], max(0.0, age))
        yield from (waiting, leased, oldest)
        try:
            queues = list(_queues())
        except redis.RedisError:
            queues = []
        yield _gauge("redis_up", "Does Redis answer?", int(bool(queues)))
        yield from queues


def _queues() -> Iterator[Metric]:
    """Return the metrics of queues and workers from Redis. Raises redis.RedisError."""
    workers = queue.living_workers()
    yield _gauge("workers", "Workers that were heard of in the last seconds.", len(workers))
    lengths = GaugeMetricFamily(
        "rubricweb_queue_length",
        "Work in a queue of Redis: of a priority, or of what only workers with a back-end can run.",
        labels=["queue"],
    )
    for name, length in queue.lengths().items():
        lengths.add_metric([name], length)
    yield lengths
    yield _ages()
    yield from _attempts()
    yield from _calls()


def _ages() -> Metric:
    """Return how long the first piece of each queue has waited. Raises redis.RedisError."""
    ages = GaugeMetricFamily(
        "rubricweb_queue_oldest_seconds", "Time that the first piece of a queue has waited.", labels=["queue"]
    )
    names = list(queue.lengths())
    for name, ids in zip(names, queue.waiting_by_queue(names, most=1), strict=True):
        kind, _, pk = queue.name_in(ids[0]).rpartition("-") if ids else ("", "", "")
        row = kinds.get(kind).model._default_manager.filter(pk=pk).first() if kind else None
        age = (timezone.now() - row.queued_at).total_seconds() if row else 0.0
        ages.add_metric([name], max(0.0, age))
    return ages


def _attempts() -> Iterator[Metric]:
    """Yield the counters of attempts from Redis. Raises redis.RedisError."""
    described = {
        "attempts": "Pieces of work that a worker took.",
        "seconds": "Time that workers spent on them.",
        "units": "What was done in them: pairs of a grading job, 1 for a piece that stands for itself.",
    }
    families = {
        counted: CounterMetricFamily(f"rubricweb_work_{counted}", description, labels=["kind", "outcome"])
        for counted, description in described.items()
    }
    with queue.connection() as client:
        counts = client.hgetall(ATTEMPTS)
    for key, value in sorted(counts.items()):
        kind, outcome, counted = key.decode().split(":")
        families[counted].add_metric([kind, outcome], float(value))
    return iter(families.values())


def _calls() -> Iterator[Metric]:
    """Yield what graders and models did since Redis started. Raises redis.RedisError."""
    families = {
        name: CounterMetricFamily(f"rubricweb_{name}", description, labels=labels)
        for name, (description, labels) in COUNTERS.items()
    }
    with queue.connection() as client:
        counts = client.hgetall(CALLS)
    for key, value in sorted(counts.items()):
        name, *labels = json.loads(key)
        families[name].add_metric(labels, float(value))
    yield from families.values()


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"rubricweb_{name}", documentation, value=value)


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


WORK.register(WorkCollector())


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer without a database connection: a busy process is alive."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while this process can serve pages, else 503. It can without Redis."""
    checks = {"database": has_database(), "migrations": has_migrations(), "static_files": has_static_files()}
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
