"""Middlewares: streams, reader, reference and time of a request, compression, expired sessions, toasts."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, cast
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.contrib.messages import get_messages
from django.core.handlers.asgi import ASGIRequest
from django.db import close_old_connections
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import resolve_url
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect

from rubricweb.core import database, errors, redaction
from rubricweb.core.reader import Reader, reading_as

COMPRESSED = {"application/json", "image/svg+xml"}
"""Compressed content types, in addition to text/*."""
Answer = Callable[[HttpRequest], HttpResponse]
REFERENCE_BYTES = 5
PAGES = ("GET", "HEAD")
"""Methods of requests for a page."""
CHUNK = 256 * 1024
"""Bytes of a download that are in memory at once."""
SPOOLED = 1024 * 1024
"""Most bytes of generated rows held in memory; larger downloads go to a temporary file."""


class Streaming:
    """Hold no database connection or thread while a response is sent, however slow the client is.

    The first middleware: it runs in the thread of the request, whose connection it closes.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not isinstance(request, ASGIRequest):
            return self.get_response(request)
        try:
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse) and not response.is_async:
                file = response.file_to_stream if isinstance(response, FileResponse) else None
                response.streaming_content = FileChunks(file or _spooled(response))
            return response
        finally:
            close_old_connections()


def _spooled(response: StreamingHttpResponse) -> IO[bytes]:
    with ExitStack() as on_error:
        file = on_error.enter_context(tempfile.SpooledTemporaryFile(SPOOLED))
        file.writelines(response)
        file.seek(0)
        on_error.pop_all()
    return file


class FileChunks:
    """The content of a file for an asynchronous response, which closes the file when it ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await asyncio.to_thread(self._file.read, CHUNK):
            yield chunk

    def close(self) -> None:
        self._file.close()


class RequestReference:
    """Give each request a random reference, for its log lines and its error page."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        reference = secrets.token_hex(REFERENCE_BYTES)
        request.reference = reference  # type: ignore[attr-defined]
        token = redaction.reference.set(reference)
        try:
            response = self.get_response(request)
        finally:
            redaction.reference.reset(token)
        response["X-Request-Reference"] = reference
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer a request that timed out waiting for SQLite's lock with a page that says so."""
        return errors.busy(request) if database.is_locked(exception) else None


class RequestTime:
    """Record when a page was requested, so that its stream of events knows what the page missed."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.asked_at = time.time()  # type: ignore[attr-defined]
        return self.get_response(request)


class Compression(GZipMiddleware):
    """Compress text responses: no stream, whose events would wait, and no page that shows a secret.

    Django adds up to 100 random bytes to each response and masks its CSRF token, so that lengths reveal
    nothing of it (BREACH). A view that shows another secret is marked with `core.http.shows_a_secret`.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        kind = response.get("Content-Type", "").partition(";")[0]
        is_text = kind.startswith("text/") or kind in COMPRESSED
        if response.streaming or not is_text or getattr(response, "shows_a_secret", False):
            return response
        return super().process_response(request, response)


class HtmxLoginRedirect:
    """Redirect the whole page to sign-in, which htmx would swap into a fragment; refuse a stream of events.

    The page's script sees by the header that the session has ended, and asks for the password in place. It
    also follows the redirects of what its outbox sends (static/js/outbox.js).
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response
        self.login = resolve_url(settings.LOGIN_URL)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not isinstance(response, HttpResponseRedirect):
            return response
        is_sign_in = response.url.startswith(self.login)
        if is_sign_in and "text/event-stream" in request.headers.get("Accept", ""):
            return HttpResponse(status=401, headers={errors.SESSION_ENDED: "1"})
        if not getattr(request, "htmx", False) or not (is_sign_in or "X-Outbox" in request.headers):
            return response
        redirect = HttpResponseClientRedirect(response.url)
        if is_sign_in:
            redirect[errors.SESSION_ENDED] = "1"
        return redirect


class SignInFirst(LoginRequiredMiddleware):
    """Lead to sign-in, and from there back to the page that a person was on.

    That is not the address of the request where a form or htmx sent it: it may have no page.
    """

    def handle_no_permission(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase]
    ) -> HttpResponseRedirect:
        address = request.get_full_path()
        if request.method not in PAGES or getattr(request, "htmx", False):
            address = _page_before(request)
        if request.method not in PAGES:
            messages.warning(request, "You were signed out, and nothing was saved. Sign in, then try again.")
        login, name = self.get_login_url(view_func), self.get_redirect_field_name(view_func)
        return redirect_to_login(address, login, name)


def _page_before(request: HttpRequest) -> str:
    came_from = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(came_from, {request.get_host()}):
        return "/"
    return urlunsplit(urlsplit(came_from)._replace(scheme="", netloc="")) or "/"


class MethodPage:
    """Give whoever opens an address that only takes forms a page instead of an empty answer."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and request.method == "GET" and not response.content:
            response.content = errors.method_refused(request).content
        return response


class Toasts:
    """Append pending messages, out of band, to htmx responses that are HTML."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_html = response.get("Content-Type", "").startswith("text/html")
        if (
            not getattr(request, "htmx", False)
            or response.streaming
            or not is_html
            or "HX-Redirect" in response
        ):
            return response
        toasts = list(get_messages(request))
        if toasts and response.status_code != 204:
            html = render_to_string(
                "core/_toasts.html", {"messages": toasts, "is_oob": True}, request=request
            )
            response.content += html.encode()
        return response


class ReaderMiddleware:
    """Set the request's user as the reader, also while rows are being streamed.

    Headers of the response say how much was hidden from them.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        reader = Reader(request)
        with reading_as(reader):
            response = self.get_response(request)
            for name, value in reader.headers.items():
                response[name] = value
        if isinstance(response, FileResponse):
            return response
        if isinstance(response, StreamingHttpResponse) and not response.is_async:
            parts = cast("Iterable[bytes]", response.streaming_content)
            response.streaming_content = _streamed(parts, reader)
        return response


def _streamed(parts: Iterable[bytes], reader: Reader) -> Iterator[bytes]:
    remaining = iter(parts)
    while True:
        with reading_as(reader):
            part = next(remaining, None)
        if part is None:
            return
        yield part
