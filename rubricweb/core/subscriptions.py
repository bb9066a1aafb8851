"""What this process hears of the channels of Redis: one subscription a channel, however many pages listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from django.conf import settings

TOLD_A_SECOND = 50
"""How many pages of a process hear of an event in a second: each fetches its parts again, and of hundreds
that did so at once most would wait."""
WAKES_SECONDS = 5.0
"""How often a subscription looks whether its connection still stands."""


def is_cancelled() -> bool:
    """Return whether this task was cancelled. Python 3.11's `asyncio.wait_for`, which redis uses, may swallow
    the exception; whoever loops must ask.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Listener:
    """One page: which events it has not been told of yet, each name once, in the order of their first."""

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
        """What was published since it last asked; empty when nothing was for so long, or it was cut off."""
        try:
            async with asyncio.timeout(seconds):
                await self._has_news.wait()
        except TimeoutError:
            return []
        names, self._names = list(self._names), {}
        self._has_news.clear()
        return names


class Subscription:
    """One channel, and who listens to it."""

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
            for one in self.listeners:
                one.cut_off()
            await connection.aclose()

    def _pass_on(self, message: dict[str, Any] | None) -> None:
        if message is None:
            return
        if message["type"] == "subscribe":
            self.has_begun.set()
            return
        loop, name = asyncio.get_running_loop(), message["data"].decode()
        for place, one in enumerate(self.listeners):
            loop.call_later(place / TOLD_A_SECOND, one.tell, name)

    def _leave(self) -> None:
        """Nobody can join it any more."""
        subscriptions = _subscriptions()
        if subscriptions.get(self.channel) is self:
            del subscriptions[self.channel]

    def end(self) -> None:
        """Nobody listens any more."""
        self._leave()
        self._task.cancel()


_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Subscription]] = WeakKeyDictionary()
"""The subscriptions of each event loop, by channel."""


def _subscriptions() -> dict[str, Subscription]:
    return _of_loops.setdefault(asyncio.get_running_loop(), {})


@asynccontextmanager
async def listening(channel: str) -> AsyncIterator[Listener]:
    """A listener that hears whatever is published from now on; cut off where Redis cannot be reached."""
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
