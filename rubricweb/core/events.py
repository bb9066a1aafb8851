"""Live events: a name and no data, over Redis. The browser fetches what changed through an ordinary view."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import redis
import redis.asyncio
from django.conf import settings
from django.db import transaction
from django.http import StreamingHttpResponse

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0


def publish(channel: str, name: str) -> None:
    """Send event `name` to all who listen on `channel`.

    A missing Redis costs liveness, never the change, and /healthz says that it is missing.
    """
    try:
        with redis.Redis.from_url(settings.REDIS_URL) as connection:
            connection.publish(channel, name)
    except redis.RedisError as error:
        logger.debug("event %s on %s was not sent: %s", name, channel, error)


def publish_on_commit(channel: str, name: str) -> None:
    transaction.on_commit(lambda: publish(channel, name))


async def _messages(channel: str) -> AsyncIterator[str]:
    """Server-sent events from `channel`, with a comment line every few seconds to keep proxies awake."""
    connection = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    try:
        async with connection.pubsub(ignore_subscribe_messages=True) as listener:
            await listener.subscribe(channel)
            yield "retry: 2000\n: listening\n\n"
            while True:
                message = await listener.get_message(timeout=PING_SECONDS)
                yield f"event: {message['data'].decode()}\ndata: \n\n" if message else ": ping\n\n"
    except (redis.RedisError, asyncio.CancelledError):
        return
    finally:
        await connection.aclose()


def stream(channel: str) -> StreamingHttpResponse:
    """The streaming answer of an event view. Check access before; nothing here touches the database."""
    response = StreamingHttpResponse(_messages(channel), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response
