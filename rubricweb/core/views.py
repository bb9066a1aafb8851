"""The pattern page, for people who build screens."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rubricweb.core import patterns as shown


@require_safe
def patterns(request: HttpRequest) -> HttpResponse:
    """Every component once, in each of its states."""
    context = {
        "states": shown.STATES,
        "long": shown.LONG,
        "filled": shown.filled_form(),
        "refused": shown.refused_form(),
        "form": shown.toolbar(),
        "page": shown.page(),
    }
    return render(request, "core/patterns.html", context)
