"""Live events on their way to a browser: one response for each page, as long as the page is open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import redis
import redis.asyncio
from django.conf import settings
from django.http import StreamingHttpResponse

from rubricweb.core.events import KEPT_SECONDS, last_key
from rubricweb.core.metrics import OPEN_STREAMS
from rubricweb.core.subscriptions import is_cancelled, listening

PING_SECONDS = 5.0
GATHER_SECONDS = 1.0
"""After it was told something a page is left alone so long: what is said twice meanwhile, it is told once."""
OPEN_SECONDS = 900.0
"""Then a stream ends, and the page opens another, for which access is checked again."""
CLOCK_SKEW = 0.5
"""Seconds by which the clocks of web servers may differ."""
MISSED = "missed"
"""Sent first to a page that may have missed an event: its live parts refresh."""


def stream(channel: str, *, since: float | None = None) -> StreamingHttpResponse:
    """The streaming response of an event view, for a page requested at `since` (Unix time).

    Without `since`, the first event is MISSED. Check access before; nothing here touches the database.
    """
    response = StreamingHttpResponse(_messages(channel, since), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


async def _is_missed(channel: str, since: float | None) -> bool:
    """Whether anything was published on `channel` since then, as far as Redis remembers."""
    age = None if since is None else time.time() - since + CLOCK_SKEW
    if age is None or not 0 <= age < KEPT_SECONDS:
        return True
    async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as connection:
        left = await connection.pttl(last_key(channel))  # milliseconds; negative where there was no event
    return left >= 0 and KEPT_SECONDS - left / 1_000 <= age


async def _messages(channel: str, since: float | None) -> AsyncIterator[str]:
    """Server-sent events from `channel`, with a comment line every few seconds to keep proxies awake."""
    OPEN_STREAMS.inc()
    try:
        async with listening(channel) as listener:
            if await _is_missed(channel, since):
                yield _event(MISSED)
            yield "retry: 2000\n: listening\n\n"
            end = time.monotonic() + OPEN_SECONDS
            while not (listener.is_cut_off or is_cancelled()) and time.monotonic() < end:
                names = await listener.news(PING_SECONDS)
                yield "".join(map(_event, names)) or ": ping\n\n"
                await asyncio.sleep(GATHER_SECONDS)
    except (redis.RedisError, asyncio.CancelledError):
        return
    finally:
        OPEN_STREAMS.dec()


def _event(name: str) -> str:
    return f"event: {name}\ndata: \n\n"
