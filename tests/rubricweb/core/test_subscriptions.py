"""Pages that listen to one channel share a subscription; each is told every name, and of the end of Redis."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import redis
import redis.asyncio
from django.conf import settings

from rubricweb.core import events, streams
from rubricweb.core.streams import Listener, listening
from tests.event_loops import run

CHANNEL = "rubricweb:collection:subscriptions"
SECONDS = 30.0


def subscribers() -> int:
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        return dict(connection.pubsub_numsub(CHANNEL))[CHANNEL.encode()]


def with_listeners(count: int, then: Callable[[list[Listener]], Awaitable[object]]) -> object:
    async def listen() -> object:
        async with AsyncExitStack() as stack:
            listeners = [await stack.enter_async_context(listening(CHANNEL)) for _ in range(count)]
            return await then(listeners)

    return run(listen())


async def publish(*names: str) -> None:
    for name in names:
        await asyncio.to_thread(events.publish, CHANNEL, name)


def test_many_pages_are_told_by_one_subscription(redis_server):
    async def heard(listeners: list[Listener]) -> tuple[int, list[list[str]]]:
        count = await asyncio.to_thread(subscribers)
        await publish("items")
        return count, [await one.news(SECONDS) for one in listeners]

    assert with_listeners(5, heard) == (1, [["items"]] * 5)


def test_pages_are_told_one_after_the_other(redis_server, monkeypatch):
    monkeypatch.setattr(streams, "TOLD_A_SECOND", 0.001)

    async def heard(listeners: list[Listener]) -> list[list[str]]:
        await publish("items")
        return [await listeners[0].news(SECONDS), await listeners[1].news(0.01)]

    assert with_listeners(2, heard) == [["items"], []]


def test_who_was_told_nothing_for_a_while_hears_each_name_once_in_order(redis_server):
    async def heard(listeners: list[Listener]) -> list[str]:
        slow, quick = listeners
        await publish("grades", "items", "grades", "runs")
        while "runs" not in await quick.news(SECONDS):
            pass
        return await slow.news(SECONDS)

    assert with_listeners(2, heard) == ["grades", "items", "runs"]


def test_nothing_is_news_where_nothing_was_published(redis_server):
    assert with_listeners(1, lambda listeners: listeners[0].news(0.01)) == []


def test_when_the_last_page_leaves_the_subscription_ends(redis_server):
    async def leave() -> list[int]:
        counts = []
        async with listening(CHANNEL):
            async with listening(CHANNEL):
                pass
            counts.append(await asyncio.to_thread(subscribers))
        async with listening(CHANNEL) as late:
            await publish("items")
            assert await late.news(SECONDS) == ["items"]
        return counts

    assert run(leave()) == [1]
    while subscribers():  # until Redis has seen that the connection is closed
        time.sleep(0.01)


def test_pages_are_cut_off_with_redis_and_hear_again_when_it_is_back(redis_server):
    async def cut_off() -> list[str]:
        async with listening(CHANNEL) as before:
            await asyncio.to_thread(redis_server.stop)
            assert await before.news(SECONDS) == []
            assert before.is_cut_off
            async with listening(CHANNEL) as during:
                assert during.is_cut_off
            await asyncio.to_thread(redis_server.start)
            async with listening(CHANNEL) as after:
                await publish("items")
                return await after.news(SECONDS)

    assert run(cut_off()) == ["items"]


class Swallowing:
    """A call whose answer comes as its task is cancelled: `asyncio.wait_for` of Python 3.11 returns it."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    async def __call__(self, *_: object) -> bool:
        self.has_begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(SECONDS)
        return False


def test_a_subscription_ends_although_redis_swallowed_that_it_was_cancelled(redis_server, monkeypatch):
    async def ended() -> None:
        swallowing = Swallowing()
        monkeypatch.setattr(redis.asyncio.client.PubSub, "subscribe", swallowing)
        subscription = streams.Subscription(CHANNEL)
        await swallowing.has_begun.wait()
        subscription.end()
        assert await asyncio.wait([subscription._task], timeout=SECONDS) == ({subscription._task}, set())

    run(ended())


def test_a_stream_ends_although_redis_swallowed_that_its_page_was_closed(redis_server, monkeypatch):
    async def ended() -> None:
        swallowing = Swallowing()
        monkeypatch.setattr(streams, "_is_missed", swallowing)
        page = asyncio.create_task(until_its_end(streams._messages(CHANNEL, None)))
        await swallowing.has_begun.wait()
        page.cancel()
        assert await asyncio.wait([page], timeout=SECONDS) == ({page}, set())

    async def until_its_end(messages: AsyncIterator[str]) -> None:
        async for _ in messages:
            pass

    run(ended())
