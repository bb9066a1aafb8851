"""Refusals and faults: a page for people, a problem document (RFC 9457) for machines.

They need neither a session nor the database.
"""

from __future__ import annotations

import errno
import logging
import sys
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.utils.translation import gettext, ngettext
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import page_not_found, permission_denied

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = "The server's disk is full, and nothing was saved. Tell its administrator, and try again later."
API = "/api/"
"""Below this address answers are for machines."""
PROBLEM = "application/problem+json"
SESSION_ENDED = "X-Session-Ended"
"""Header of an answer to a person who is not signed in, or not as the page was that sent the request."""


def problem(status: HTTPStatus, detail: str) -> dict[str, object]:
    """Return the members of a problem document."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}


def _problem(request: HttpRequest, status: HTTPStatus, detail: str) -> HttpResponse | None:
    """Return the answer to a machine; None for a person, who gets a page."""
    if not request.path.startswith(API):
        return None
    return JsonResponse(problem(status, detail), status=status, content_type=PROBLEM)


def limit_exceeded(error: Exception) -> str:
    """Return which limit of a request was exceeded, in words; empty for other errors."""
    if isinstance(error, RequestDataTooBig):
        size = filesizeformat(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return gettext("This is too large: at most %(size)s without files.") % {"size": size}
    if isinstance(error, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return gettext("These are too many fields: at most %(most)s at once.") % {"most": f"{most:,}"}
    if isinstance(error, TooManyFilesSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        return ngettext("At most %(most)s file at once.", "At most %(most)s files at once.", most) % {
            "most": f"{most:,}"
        }
    return ""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 400 page, or the 413 page with the limit that was exceeded."""
    limit = limit_exceeded(exception)
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE if limit else HTTPStatus.BAD_REQUEST
    page = "413.html" if limit else "400.html"
    detail = limit or "This request cannot be understood."
    return _problem(request, status, detail) or HttpResponse(
        render_to_string(page, {"limit": limit}), status=status
    )


@requires_csrf_token
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 403 page, with the reason."""
    detail = str(exception) or "You may not do this."
    return _problem(request, HTTPStatus.FORBIDDEN, detail) or permission_denied(request, exception)


@requires_csrf_token
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The 404 page."""
    detail = "Nothing is at this address."
    return _problem(request, HTTPStatus.NOT_FOUND, detail) or page_not_found(request, exception)


def token_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The 403 page for a missing CSRF token, or one of another sign-in; a script sees by the header that it
    has to renew its token.
    """
    response = render(request, "403_csrf.html", status=HTTPStatus.FORBIDDEN)
    response[SESSION_ENDED] = "1"
    return response


@requires_csrf_token
def server_error(request: HttpRequest) -> HttpResponse:
    """Return the 500 page, with the reference under which the log has the traceback.

    Where the disk is full it is a 503, which queues of ratings and scripts send again.
    """
    reference, is_full = getattr(request, "reference", ""), is_disk_full(sys.exc_info()[1])
    status = HTTPStatus.SERVICE_UNAVAILABLE if is_full else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {"Retry-After": str(RETRY_SECONDS)} if is_full else {}
    words = DISK_FULL if is_full else "Something went wrong on the server."
    if answer := _problem(request, status, f"{words} Reference: {reference}"):
        for name, value in headers.items():
            answer[name] = value
        return answer
    try:
        page: str = render_to_string("500.html", {"reference": reference, "is_full": is_full})
    except Exception:  # noqa: BLE001 - whatever broke the page must not hide the first error
        logger.error("the page for errors cannot be rendered")
        page = f"<h1>{words}</h1><p>Reference: {reference}</p>"
    return HttpResponse(page, status=status, headers=headers)


def busy(request: HttpRequest) -> HttpResponse:
    """503 with a Retry-After."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    response = _problem(request, status, "The database is busy. Try again in a minute.") or HttpResponse(
        render_to_string("503.html"), status=status
    )
    response["Retry-After"] = str(RETRY_SECONDS)
    return response


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether there was no room for rows or for a file, by any error that led to this one.

    Source: PostgreSQL documentation, Appendix A, 53100; SQLite documentation, Result Codes, SQLITE_FULL.
    """
    if error is None:
        return False
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return True
    is_full = sqlstate(error) == "53100" or "database or disk is full" in str(error)
    return (isinstance(error, DatabaseError) and is_full) or is_disk_full(error.__cause__)


def sqlstate(error: BaseException) -> str | None:
    """Return PostgreSQL's code of an error; None where the database did not say, or is SQLite."""
    code: str | None = getattr(error.__cause__, "sqlstate", None)
    return code
