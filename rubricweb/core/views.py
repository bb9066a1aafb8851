"""Health for machines, and the pattern page for people who build screens."""

from dataclasses import asdict

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rubricweb.core import health


@require_safe
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while pages can be served, 503 otherwise; `workers` counts the live ones."""
    state = health.check()
    status = "ok" if state.is_serving and state.workers else "degraded" if state.is_serving else "down"
    return JsonResponse({"status": status, **asdict(state)}, status=200 if state.is_serving else 503)


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    """Every component once."""
    return render(request, "core/patterns.html")
