"""At most so many requests are worked on at once, with one database connection each; more wait.

The handler waits in the event loop. `GiveTurnsBack`, a middleware, runs in the thread of the request: it
closes its connection and lets the next request in, also where the client has gone while the thread works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import close_old_connections, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase, StreamingHttpResponse

POOL_SECONDS = 10
"""So long a request waits for a database that is away."""
Answer = Callable[[HttpRequest], HttpResponseBase]


class Turn:
    """A place among those that work. It is given back once, from whichever thread."""

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places, self._loop = places, asyncio.get_running_loop()
        self.is_used = self._is_back = False

    def give_back(self) -> None:
        """Call it in the event loop."""
        if not self._is_back:
            self._is_back = True
            self._places.release()

    def give_back_from_thread(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.give_back)


class TurnTakingHandler(ASGIHandler):
    """Django's own; a request that was read waits, without a thread or a connection, until it may work."""

    def __init__(self) -> None:
        super().__init__()
        self._places = asyncio.Semaphore(settings.REQUESTS_AT_ONCE)

    def load_middleware(self, is_async: bool = False) -> None:
        """As under WSGI, whatever Django's handler asks for: a request stays in one thread."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        await self._places.acquire()
        turn = Turn(self._places)
        request.turn = turn  # type: ignore[attr-defined]
        try:
            return await sync_to_async(self.get_response)(request)
        finally:
            if not turn.is_used:  # cancelled before its thread began
                turn.give_back()


def pool_connections() -> None:
    """Keep PostgreSQL's connections from request to request, one for each turn; before the first query.

    To open one costs more than most requests ask of it. A thread serves one request and could keep none.
    """
    database = connections.settings["default"]
    if "postgresql" in database["ENGINE"]:
        pool = {"min_size": 1, "max_size": settings.REQUESTS_AT_ONCE, "timeout": POOL_SECONDS}
        database["OPTIONS"] = {**database.get("OPTIONS", {}), "pool": pool}
        database["CONN_HEALTH_CHECKS"] = True


class GiveTurnsBack:
    """The first middleware. Elsewhere than in `TurnTakingHandler` nobody waits, and it does nothing."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        turn: Turn | None = getattr(request, "turn", None)
        if turn is None:
            return self.get_response(request)
        turn.is_used = True
        try:
            response = self.get_response(request)
            if isinstance(response, StreamingHttpResponse) and not response.is_async:
                response.streaming_content = list(response)  # as Django would, but while it is our turn
            return response
        finally:
            close_old_connections()
            turn.give_back_from_thread()
