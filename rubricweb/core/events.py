"""Live events: a name without data, over Redis. The browser fetches what changed through an ordinary view."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator
from functools import lru_cache

import redis
import redis.asyncio
from django.conf import settings
from django.db import transaction
from django.http import StreamingHttpResponse

from rubricweb.core.servers import redis_client
from rubricweb.core.subscriptions import listening

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0
GATHER_SECONDS = 0.2
"""After it was told something a page is left alone so long: what is said twice meanwhile, it is told once."""
KEPT_SECONDS = 3_600
"""How long Redis remembers when a channel had its last event."""
CLOCK_SKEW = 0.5
"""Seconds by which the clocks of web servers may differ."""
NAMED = "rubricweb:last-event:"
"""What the keys begin with that name the last event of each channel."""
NAME_BYTES = 8
MISSED = "missed"
"""Sent first to a page that may have missed an event: its live parts refresh."""


def publish(channel: str, name: str) -> None:
    """Send event `name` to all listeners of `channel`.

    Without Redis the change is still made, only pages do not refresh; /healthz reports it.
    """
    try:
        with redis_client() as connection:
            both = connection.pipeline()
            both.set(_last(channel), name, ex=KEPT_SECONDS)  # what is left of its life says when this was
            both.set(NAMED + channel, secrets.token_hex(NAME_BYTES), ex=KEPT_SECONDS)
            both.publish(channel, name)
            both.execute()
    except redis.RedisError as error:
        logger.debug("event %s on %s was not sent: %s", name, channel, error)


def publish_on_commit(channel: str, name: str) -> None:
    transaction.on_commit(lambda: publish(channel, name))


def last_event(channel: str) -> str:
    """Return a name that no other event of the channel has; empty where Redis knows none."""
    try:
        name = kept_client(settings.REDIS_URL).get(NAMED + channel)
    except redis.RedisError:
        return ""
    return name.decode() if isinstance(name, bytes) else ""


@lru_cache(maxsize=1)
def kept_client(url: str) -> redis.Redis:
    """Return the client of the Redis at `url`, the settings', with its connections; threads may share it."""
    return redis_client()


def _last(channel: str) -> str:
    return f"{channel}:last"


async def _is_missed(channel: str, since: float | None) -> bool:
    """Whether anything was published on `channel` since then, as far as Redis remembers."""
    age = None if since is None else time.time() - since + CLOCK_SKEW
    if age is None or not 0 <= age < KEPT_SECONDS:
        return True
    async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as connection:
        left = await connection.pttl(_last(channel))  # milliseconds; negative where there was no event
    return left >= 0 and KEPT_SECONDS - left / 1_000 <= age


async def _messages(channel: str, since: float | None) -> AsyncIterator[str]:
    """Server-sent events from `channel`, with a comment line every few seconds to keep proxies awake."""
    from rubricweb.core.metrics import OPEN_STREAMS  # commands, which publish too, start without it

    OPEN_STREAMS.inc()
    try:
        async with listening(channel) as listener:
            if await _is_missed(channel, since):
                yield _event(MISSED)
            yield "retry: 2000\n: listening\n\n"
            while not listener.is_cut_off:
                names = await listener.news(PING_SECONDS)
                yield "".join(map(_event, names)) or ": ping\n\n"
                await asyncio.sleep(GATHER_SECONDS)
    except (redis.RedisError, asyncio.CancelledError):
        return
    finally:
        OPEN_STREAMS.dec()


def _event(name: str) -> str:
    return f"event: {name}\ndata: \n\n"


def stream(channel: str, *, since: float | None = None) -> StreamingHttpResponse:
    """The streaming response of an event view, for a page requested at `since` (Unix time).

    Without `since`, the first event is MISSED. Check access before; nothing here touches the database.
    """
    response = StreamingHttpResponse(_messages(channel, since), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response
