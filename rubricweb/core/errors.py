"""Error pages. They need neither a session nor the database."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60


@requires_csrf_token
def server_error(request: HttpRequest) -> HttpResponse:
    """The 500 page, with the reference under which the log has the traceback."""
    reference = getattr(request, "reference", "")
    try:
        page: str = render_to_string("500.html", {"reference": reference})
    except Exception:  # noqa: BLE001 - whatever broke the page must not hide the first error
        logger.error("the page for errors cannot be rendered")
        page = f"<h1>Something went wrong on the server</h1><p>Reference: {reference}</p>"
    return HttpResponseServerError(page)


def busy(request: HttpRequest) -> HttpResponse:
    """503 with a Retry-After."""
    page = render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})
