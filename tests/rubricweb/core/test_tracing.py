"""Spans say what was asked by its pattern, and nothing of what was read."""

from __future__ import annotations

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpResponse
from django.test import Client

from rubricweb.core import telemetry

TRACE = "0af7651916cd43dd8448eb211c80319c"
SECRET = "t" * 32


@pytest.fixture
def spans(monkeypatch):
    """What a process whose collector is named sends to it, instead kept in memory."""
    exporters = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    exporter, provider = exporters.InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setenv(telemetry.ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter.get_finished_spans


@pytest.mark.django_db
def test_a_request_has_a_span_in_the_trace_that_it_names(spans):
    client = Client(headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"})
    answer = client.get(f"/leaderboards/public/{SECRET}/?q=private")
    span = spans()[0]
    assert span.name.startswith("GET leaderboards/public/(?P<token>")
    assert format(span.context.trace_id, "032x") == TRACE
    assert span.attributes["http.response.status_code"] == answer.status_code == 404
    assert span.attributes["rubricweb.statements"] >= 1
    assert span.attributes["rubricweb.reference"] == answer["X-Request-Reference"]
    assert SECRET not in span.to_json()
    assert "private" not in span.to_json()


def test_without_a_collector_nothing_is_traced(monkeypatch):
    monkeypatch.delenv(telemetry.ENDPOINT, raising=False)
    with pytest.raises(MiddlewareNotUsed):
        telemetry.RequestSpans(lambda request: HttpResponse())
    with telemetry.span("work") as span:
        assert span is None


def test_work_has_a_span(spans):
    with telemetry.span("work chunk"):
        assert spans() == ()
    assert [span.name for span in spans()] == ["work chunk"]
