"""Events over the real Redis: names only, for members only, from a real ASGI server."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient

from rubricweb.core import events


async def _first_events(response, channel: str, names: list[str]) -> list[str]:
    """Read the stream until every name was seen, publishing them once it listens."""
    seen: list[str] = []
    async for part in response.streaming_content:
        text = part.decode()
        if "listening" in text:
            for name in names:
                await asyncio.to_thread(events.publish, channel, name)
        seen += [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
        if len(seen) == len(names):
            return seen
    return seen


def _run(listening):
    """Its result; the thread that the views ran in leaves no connection open to the test database.

    In a thread of its own, since a browser test before it leaves Playwright's event loop in this one.
    """

    async def run():
        try:
            return await listening
        finally:
            await sync_to_async(connections.close_all)()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


@pytest.mark.django_db(transaction=True)
def test_a_member_hears_names_in_order(viewer, collection):
    async def listen() -> list[str]:
        browser = AsyncClient()
        await browser.aforce_login(viewer, backend="django.contrib.auth.backends.ModelBackend")
        response = await browser.get(f"/collections/{collection.slug}/events/")
        assert response["Content-Type"] == "text/event-stream"
        assert response["Cache-Control"] == "no-cache"
        async with aclosing(response._iterator):  # as the server ends it when the tab closes
            return await asyncio.wait_for(
                _first_events(response, collection.channel, ["items", "grades"]), 10
            )

    assert _run(listen()) == ["items", "grades"]


@pytest.mark.django_db(transaction=True)
def test_an_outsider_hears_nothing(outsider, collection):
    async def listen() -> int:
        browser = AsyncClient()
        await browser.aforce_login(outsider, backend="django.contrib.auth.backends.ModelBackend")
        return (await browser.get(f"/collections/{collection.slug}/events/")).status_code

    assert _run(listen()) == 404


def test_without_redis_a_change_still_succeeds(redis_server, caplog):
    redis_server.stop()
    caplog.set_level("DEBUG", "rubricweb.core.events")
    events.publish("rubricweb:collection:1", "items")
    redis_server.start()
    assert "was not sent" in caplog.text
