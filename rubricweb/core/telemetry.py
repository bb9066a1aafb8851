"""Measurements of a process: metrics for Prometheus, spans for OpenTelemetry.

The figures are of requests and open streams; several processes of one uvicorn share them through the folder
PROMETHEUS_MULTIPROC_DIR. Where OTEL_EXPORTER_OTLP_ENDPOINT names a collector, it gets a span for each request
and each work. Spans have the patterns of addresses and the kinds of work, counts and seconds: no address as
it was called, which may open a public link, no statement and no text.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.exceptions import ImproperlyConfigured, MiddlewareNotUsed
from django.db import connection
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
    """Return the metrics of this process, or of all that share a folder with it."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    shared = CollectorRegistry()
    MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
    return shared


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
NAME = "rubricweb"
Answer = Callable[[HttpRequest], HttpResponse]


def start() -> None:
    """Start sending spans; call it once a process. Raises ImproperlyConfigured without the library."""
    if not os.environ.get(ENDPOINT):
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ImproperlyConfigured(
            f"{ENDPOINT} is set, but {error}; install pip install 'rubricweb[tracing]'"
        ) from error
    os.environ.setdefault("OTEL_SERVICE_NAME", NAME)
    provider = TracerProvider(resource=Resource.create())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def span(name: str) -> AbstractContextManager[Any]:
    """Record a span around a piece of work, if a collector is configured."""
    if not os.environ.get(ENDPOINT):
        return nullcontext()
    from opentelemetry import trace

    return trace.get_tracer(NAME).start_as_current_span(name)


class Statements:
    """A counter of a request's database statements, and of the time spent waiting for them."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(*arguments)
        finally:
            self.count += 1
            self.seconds += time.perf_counter() - began


class RequestSpans:
    """Record a span for each request, within the trace of its `traceparent`, if any."""

    def __init__(self, get_response: Answer) -> None:
        if not os.environ.get(ENDPOINT):
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        from opentelemetry import propagate, trace

        statements = Statements()
        outer = propagate.extract({name.lower(): value for name, value in request.headers.items()})
        tracer = trace.get_tracer(NAME)
        with (
            tracer.start_as_current_span(
                str(request.method), context=outer, kind=trace.SpanKind.SERVER
            ) as current,
            connection.execute_wrapper(statements),
        ):
            response = self.get_response(request)
            route = request.resolver_match.route if request.resolver_match else ""
            current.update_name(f"{request.method} {route}".rstrip())
            current.set_attributes(
                {
                    "http.request.method": str(request.method),
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                    "rubricweb.reference": getattr(request, "reference", ""),
                    "rubricweb.statements": statements.count,
                    "rubricweb.statement_seconds": statements.seconds,
                }
            )
            return response
