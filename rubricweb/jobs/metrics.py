"""Prometheus metrics of queues, workers and work done, read from the database and Redis on each scrape."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import redis
from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rubricweb.jobs import kinds, queue, worker_state
from rubricweb.jobs.kinds import Kind
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

ATTEMPTS = "rubricweb:attempts"
"""Redis hash of what all workers did since it started, by kind, outcome and what is counted."""
State = LeasedWork.State


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


class WorkCollector(Collector):
    """Collector that reads the metrics on each scrape."""

    def collect(self) -> Iterator[Metric]:
        yield from _work()
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
    yield from _attempts()


def _work() -> Iterator[Metric]:
    waiting = GaugeMetricFamily("rubricweb_work_waiting", "Pieces of work that wait.", labels=["kind"])
    leased = GaugeMetricFamily("rubricweb_work_leased", "Pieces that a worker has.", labels=["kind"])
    oldest = GaugeMetricFamily(
        "rubricweb_work_oldest_seconds", "Age of the piece that waits longest.", labels=["kind"]
    )
    for kind in kinds.registered():
        counts = _counts(kind)
        waiting.add_metric([kind.name], counts["waiting"])
        leased.add_metric([kind.name], counts["leased"])
        age = (timezone.now() - counts["oldest"]).total_seconds() if counts["oldest"] else 0
        oldest.add_metric([kind.name], max(0.0, age))
    yield from (waiting, leased, oldest)


def _counts(kind: Kind[Any]) -> dict[str, Any]:
    is_waiting = Q(state=State.QUEUED)
    live = kind.claimable().filter(state__in=LeasedWork.LIVE).order_by()
    counts: dict[str, Any] = live.aggregate(
        waiting=Count("pk", filter=is_waiting),
        leased=Count("pk", filter=~is_waiting),
        oldest=Min("queued_at", filter=is_waiting),
    )
    return counts


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


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"rubricweb_{name}", documentation, value=value)
