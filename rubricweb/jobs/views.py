"""Health, for machines."""

from dataclasses import asdict

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from rubricweb.jobs import health


@require_safe
@login_not_required
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while pages can be served, 503 otherwise; `workers` counts those heard of in the last seconds."""
    state = health.check()
    status = "ok" if state.is_serving and state.workers else "degraded" if state.is_serving else "down"
    return JsonResponse({"status": status, **asdict(state)}, status=200 if state.is_serving else 503)
