"""What a web process measures of itself for Prometheus: its requests and its open streams.

Several processes of one uvicorn share their figures through the folder PROMETHEUS_MULTIPROC_DIR.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

REQUEST_SECONDS = Histogram(
    "rubricweb_request_seconds",
    "Time until an answer began, by the pattern of its address.",
    ["method", "route", "status"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10),
)
OPEN_STREAMS = Gauge(
    "rubricweb_open_streams", "Pages that listen to live events.", multiprocess_mode="livesum"
)


class RequestMetrics:
    """Measure each request. Addresses that do not exist share one label, so that nobody can make many."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        route = match.route if match else ""
        labels = (request.method or "", route, str(response.status_code))
        REQUEST_SECONDS.labels(*labels).observe(time.perf_counter() - began)
        return response


def registry() -> CollectorRegistry:
    """Of this process, or of all that share a folder with it."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared
