"""Addresses for machines: `/livez`, `/readyz`, `/healthz` and `/metrics`.

They are answered before anything that asks for a host name, a session or HTTPS: probes and Prometheus call a
process by its bare address.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import asdict

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from rubricweb.core import metrics
from rubricweb.core.middleware import Answer
from rubricweb.jobs import health
from rubricweb.jobs.metrics import WorkCollector

WORK = CollectorRegistry()
WORK.register(WorkCollector())


@require_safe
def livez(request: HttpRequest) -> HttpResponse:
    """Answer without a database connection: a process that is busy is alive."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while this process can serve pages, else 503: send it no requests. It can without Redis."""
    checks = {
        "database": health.has_database(),
        "migrations": health.has_migrations(),
        "static_files": health.has_static_files(),
    }
    return JsonResponse(checks, status=200 if all(checks.values()) else 503)


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """For people who watch the whole: 200 while pages are served and live, 503 otherwise; `workers` counts
    those heard of in the last seconds.
    """
    state = health.check()
    status = "ok" if state.is_serving and state.workers else "degraded" if state.is_serving else "down"
    return JsonResponse({"status": status, **asdict(state)}, status=200 if state.is_serving else 503)


@require_safe
def prometheus(request: HttpRequest) -> HttpResponse:
    """Figures for whoever has RUBRIC_METRICS_TOKEN as a bearer token. Without that setting there are none."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    if not settings.METRICS_TOKEN:
        raise Http404
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode()):
        return HttpResponse(status=401, headers={"WWW-Authenticate": "Bearer"})
    text = generate_latest(metrics.registry()) + generate_latest(WORK)
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
