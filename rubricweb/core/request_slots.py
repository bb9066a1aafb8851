"""Limit the requests that are worked on at once, one database connection each; further ones wait.

The handler waits in the event loop. `ReleaseSlot`, a middleware, runs in the thread of the request: it closes
its connection and frees the slot, also when the client has gone while the thread works.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from typing import IO

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections, connections
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, StreamingHttpResponse

POOL_SECONDS = 10
"""How long a request waits for a connection while the database is away."""
CHUNK = 256 * 1024
"""Bytes of a download that are in memory at once."""
SPOOLED = 1024 * 1024
"""Bytes up to which rows that become a download stay in memory; larger downloads go to a temporary file."""
LIVE_PATH = "/livez"
"""Answered in the event loop, without a slot: a process that is busy is alive."""
GetResponse = Callable[[HttpRequest], HttpResponseBase]


class RequestSlot:
    """One of the slots for requests that are worked on; released once, from whichever thread."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots, self._loop = slots, asyncio.get_running_loop()
        self.is_used = self._is_released = False

    def release(self) -> None:
        """Call it in the event loop."""
        if not self._is_released:
            self._is_released = True
            self._slots.release()

    def release_from_thread(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.release)


class SlotHandler(ASGIHandler):
    """A request that has been read waits for a slot without a thread or a connection."""

    def __init__(self) -> None:
        super().__init__()
        self._slots = asyncio.Semaphore(settings.REQUESTS_AT_ONCE)

    def load_middleware(self, is_async: bool = False) -> None:
        """As under WSGI, whatever Django's handler asks for: a request stays in one thread."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info == LIVE_PATH:
            return HttpResponse("ok\n", content_type="text/plain")
        await self._slots.acquire()
        slot = RequestSlot(self._slots)
        request.slot = slot  # type: ignore[attr-defined]
        try:
            return await sync_to_async(self.get_response)(request)
        finally:
            if not slot.is_used:  # cancelled before its thread began
                slot.release()


def pool_connections() -> None:
    """Keep PostgreSQL's connections from request to request, one for each slot; call it before any query.

    Opening one costs more than most requests do, and a thread that serves one request could keep none.
    """
    database = connections.settings["default"]
    if "postgresql" in database["ENGINE"]:
        pool = {"min_size": 1, "max_size": settings.REQUESTS_AT_ONCE, "timeout": POOL_SECONDS}
        database["OPTIONS"] = {**database.get("OPTIONS", {}), "pool": pool}
        database["CONN_HEALTH_CHECKS"] = True


class ReleaseSlot:
    """The first middleware. Without `SlotHandler` there are no slots, and it does nothing."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        slot: RequestSlot | None = getattr(request, "slot", None)
        if slot is None:
            return self.get_response(request)
        slot.is_used = True
        try:
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse) and not response.is_async:
                stream_from_file(response)
            return response
        finally:
            close_old_connections()
            slot.release_from_thread()


class FileChunks:
    """The content of a file for an asynchronous response, which closes the file when it ends."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := await asyncio.to_thread(self._file.read, CHUNK):
            yield chunk

    def close(self) -> None:
        self._file.close()


def stream_from_file(response: StreamingHttpResponse) -> None:
    """Send the content in chunks from a file, which holds no thread or connection while a client is slow.

    Content that is no file is written to one first, in this thread, since it may come from the database.
    """
    file = response.file_to_stream if isinstance(response, FileResponse) else None
    response.streaming_content = FileChunks(file or _spooled(response))


def _spooled(response: StreamingHttpResponse) -> IO[bytes]:
    with ExitStack() as on_error:
        file = on_error.enter_context(tempfile.SpooledTemporaryFile(SPOOLED))
        file.writelines(response)
        file.seek(0)
        on_error.pop_all()
    return file
