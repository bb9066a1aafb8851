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
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.views.decorators.csrf import requires_csrf_token

logger = logging.getLogger(__name__)

RETRY_SECONDS = 60
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
DISK_FULL = "The server's disk is full, and nothing was saved. Tell its administrator, and try again later."
UNCHANGED = "Nothing was changed."
API = "/api/"
"""Prefix of addresses whose answers are for machines."""
PROBLEM = "application/problem+json"
SESSION_ENDED = "X-Session-Ended"
"""Header of an answer to somebody who is not, or no longer, signed in as when the page was loaded."""


def problem(status: HTTPStatus, detail: str) -> dict[str, object]:
    """Return the members of a problem document."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}


def _problem(request: HttpRequest, status: HTTPStatus, detail: str) -> HttpResponse | None:
    """Return the answer to a machine; None for a person, who gets a page."""
    if not request.path.startswith(API):
        return None
    return JsonResponse(problem(status, detail), status=status, content_type=PROBLEM)


def page(
    status: HTTPStatus,
    title: str,
    *lines: str,
    request: HttpRequest | None = None,
    signs_in: bool = False,
    way: tuple[str, str] | None = None,
) -> HttpResponse:
    """Render a refusal for a person: a title, a paragraph a line, and a way on.

    `way` is the address and the name of that, where it is not their collections.

    Without the request it needs neither a session nor the database.
    """
    context = {"title": title, "lines": lines, "signs_in": signs_in, "way": way}
    return HttpResponse(render_to_string("error.html", context, request=request), status=status)


def limit_exceeded(error: Exception) -> str:
    """Return which limit of a request was exceeded, in words; empty for other errors."""
    if isinstance(error, RequestDataTooBig):
        size = filesizeformat(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return f"This is too large: at most {size} without files."
    if isinstance(error, TooManyFieldsSent):
        return f"These are too many fields: at most {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} at once."
    if isinstance(error, TooManyFilesSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        return f"At most {most:,} {'file' if most == 1 else 'files'} at once."
    return ""


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, or 413 with the limit that was exceeded."""
    if limit := limit_exceeded(exception):
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        advice = "Go back: what you typed is still there. Send a longer text as a file."
        return _problem(request, status, limit) or page(
            status, "This request is too large", limit, f"{UNCHANGED} {advice}"
        )
    status = HTTPStatus.BAD_REQUEST
    return _problem(request, status, "This request cannot be understood.") or page(
        status,
        "This request could not be understood",
        f"{UNCHANGED} The address or the form contains something that does not belong there.",
    )


@requires_csrf_token
def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403 with the reason."""
    status, reason = HTTPStatus.FORBIDDEN, str(exception)
    title, way = getattr(exception, "title", "Not open to you"), getattr(exception, "way", None)
    return _problem(request, status, reason or "You may not do this.") or page(
        status, title, reason or "Your role does not include this.", UNCHANGED, request=request, way=way
    )


@requires_csrf_token
def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404; who is not signed in finds the way to do so."""
    is_signed_in = hasattr(request, "user") and request.user.is_authenticated
    why = "you are not a member of its collection" if is_signed_in else "its link has been closed"
    return _problem(request, HTTPStatus.NOT_FOUND, "Nothing is at this address.") or page(
        HTTPStatus.NOT_FOUND,
        "Not found",
        f"There is nothing at this address, or {why}.",
        request=request,
        signs_in=not is_signed_in,
    )


def method_refused(request: HttpRequest) -> HttpResponse:
    """Answer 405 to whoever opens an address that only takes forms."""
    return page(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "No page here",
        "This address only takes what a form sends. Go back to the page of the form.",
        UNCHANGED,
        request=request,
    )


def token_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a missing CSRF token, or one of another sign-in.

    By the header, a script sees that it has to renew its token.
    """
    response = page(
        HTTPStatus.FORBIDDEN,
        "This form was not accepted",
        f"{UNCHANGED} You opened the page before you signed in, or your browser blocks cookies.",
        "Go back, reload the page, and send it again.",
        request=request,
    )
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
    message = DISK_FULL if is_full else "Something went wrong on the server."
    if answer := _problem(request, status, f"{message} Reference: {reference}"):
        for name, value in headers.items():
            answer[name] = value
        return answer
    try:
        page: str = render_to_string("500.html", {"reference": reference, "is_full": is_full})
    except Exception:  # noqa: BLE001 - whatever broke the page must not hide the first error
        logger.error("the page for errors cannot be rendered")
        page = f"<h1>{message}</h1><p>Reference: {reference}</p>"
    return HttpResponse(page, status=status, headers=headers)


def busy(request: HttpRequest) -> HttpResponse:
    """Answer 503 with a Retry-After."""
    status = HTTPStatus.SERVICE_UNAVAILABLE
    response = _problem(request, status, "The database is busy. Try again in a minute.") or page(
        status,
        "The database is busy",
        f"{UNCHANGED} An import is being written, and other changes have to wait.",
        "You can still read every page. Go back and try again in a minute.",
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
