"""The pattern page, for people who build screens."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    """Every component once."""
    return render(request, "core/patterns.html")
