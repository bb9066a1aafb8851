"""Live events on their way to a browser: one response per page, one Redis subscription per channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings
from django.http import StreamingHttpResponse

from rubricweb.core import events, telemetry

TOLD_A_SECOND = 50
"""Pages of a process that learn of an event per second. Each fetches its parts again, and of hundreds that
did so at once most would wait.
"""
WAKES_SECONDS = 5.0
"""Interval at which a subscription checks its connection."""


def is_cancelled() -> bool:
    """Return whether this task was cancelled.

    Python 3.11's `asyncio.wait_for`, which redis uses, may swallow the exception, so that loops must check.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Listener:
    """A page with its pending events, each name once, in order of first occurrence."""

    def __init__(self) -> None:
        self.is_cut_off = False
        """Redis is gone: nothing more will come."""
        self._names: dict[str, None] = {}
        self._has_news = asyncio.Event()

    def tell(self, name: str) -> None:
        self._names[name] = None
        self._has_news.set()

    def cut_off(self) -> None:
        self.is_cut_off = True
        self._has_news.set()

    async def news(self, seconds: float) -> list[str]:
        """Return events since the last call; empty after the timeout, or once it was cut off."""
        try:
            async with asyncio.timeout(seconds):
                await self._has_news.wait()
        except TimeoutError:
            return []
        names, self._names = list(self._names), {}
        self._has_news.clear()
        return names


class Subscription:
    """A channel with its listeners."""

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self.listeners: dict[Listener, None] = {}
        """In the order in which they came."""
        self.has_begun = asyncio.Event()
        """Redis confirmed it, or refused it."""
        self._task = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        connection = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        try:
            async with connection.pubsub() as heard:
                await heard.subscribe(self.channel)
                while not is_cancelled():
                    self._pass_on(await heard.get_message(timeout=WAKES_SECONDS))
        except redis.RedisError:
            pass
        finally:
            self._leave()
            self.has_begun.set()
            for listener in self.listeners:
                listener.cut_off()
            await connection.aclose()

    def _pass_on(self, message: dict[str, Any] | None) -> None:
        if message is None:
            return
        if message["type"] == "subscribe":
            self.has_begun.set()
            return
        loop, name = asyncio.get_running_loop(), message["data"].decode()
        for place, listener in enumerate(self.listeners):
            loop.call_later(place / TOLD_A_SECOND, listener.tell, name)

    def _leave(self) -> None:
        """Remove the subscription, so that nobody can join it any more."""
        subscriptions = _subscriptions()
        if subscriptions.get(self.channel) is self:
            del subscriptions[self.channel]

    def end(self) -> None:
        """End the subscription, which nobody listens to any more."""
        self._leave()
        self._task.cancel()


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Subscription]] = WeakKeyDictionary()
"""Subscriptions of each event loop, by channel."""


def _subscriptions() -> dict[str, Subscription]:
    return _of_loops.setdefault(asyncio.get_running_loop(), {})


@asynccontextmanager
async def listening(channel: str) -> AsyncIterator[Listener]:
    """Yield a listener for what is published from now on, cut off where Redis cannot be reached."""
    subscriptions = _subscriptions()
    subscription = subscriptions.get(channel) or subscriptions.setdefault(channel, Subscription(channel))
    listener = Listener()
    subscription.listeners[listener] = None
    try:
        await subscription.has_begun.wait()
        yield listener
    finally:
        del subscription.listeners[listener]
        if not subscription.listeners:
            subscription.end()


PING_SECONDS = 5.0
GATHER_SECONDS = 1.0
"""Pause after a message to a page, in which repeated events are gathered into one."""
OPEN_SECONDS = 900.0
"""Lifetime of a stream. The page then opens another, for which access is checked again."""
CLOCK_SKEW = 0.5
"""Seconds by which the clocks of web servers may differ."""
MISSED = "missed"
"""First event of a page that may have missed one: its live parts refresh."""


def stream(channel: str, *, since: float | None = None) -> StreamingHttpResponse:
    """Return the streaming response of an event view, for a page requested at `since` (Unix time).

    Without `since`, the first event is MISSED. Check access before; nothing here touches the database.
    """
    response = StreamingHttpResponse(_messages(channel, since), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    response["X-Accel-Buffering"] = "no"
    return response


async def _is_missed(channel: str, since: float | None) -> bool:
    """Return whether anything was published on `channel` since then, as far as Redis remembers."""
    age = None if since is None else time.time() - since + CLOCK_SKEW
    if age is None or not 0 <= age < events.KEPT_SECONDS:
        return True
    async with redis.asyncio.Redis.from_url(settings.REDIS_URL) as connection:
        left = await connection.pttl(
            events.last_key(channel)
        )  # milliseconds; negative where there was no event
    return left >= 0 and events.KEPT_SECONDS - left / 1_000 <= age


async def _messages(channel: str, since: float | None) -> AsyncIterator[str]:
    """Yield server-sent events from `channel`, and a comment every few seconds that keeps proxies awake."""
    telemetry.OPEN_STREAMS.inc()
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
        telemetry.OPEN_STREAMS.dec()


def _event(name: str) -> str:
    return f"event: {name}\ndata: \n\n"
