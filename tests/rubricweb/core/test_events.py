"""Events over the real Redis: names only, for members only, from a real ASGI server."""

import asyncio
import time
from contextlib import aclosing

import pytest
import redis
from django.conf import settings
from django.test import AsyncClient

from rubricweb.core import events, streams
from tests.event_loops import run_views


async def _listened_to(viewer, collection, names: list[str], *, since: str, count: int) -> list[str]:
    """The first `count` events of a page that was asked for at `since`; `names` are published meanwhile."""
    browser = AsyncClient()
    await browser.aforce_login(viewer, backend="django.contrib.auth.backends.ModelBackend")
    response = await browser.get(f"/collections/{collection.slug}/events/", {"since": since} if since else {})
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-cache"
    assert "Content-Encoding" not in response
    async with aclosing(response._iterator):  # as the server ends it when the tab closes
        listening = _first_events(response, collection.channel, names, count)
        return await asyncio.wait_for(listening, 60)


async def _first_events(response, channel: str, names: list[str], count: int) -> list[str]:
    """Read the stream until every name was seen, publishing them once it listens."""
    seen: list[str] = []
    async for part in response.streaming_content:
        text = part.decode()
        if "listening" in text:
            for name in names:
                await asyncio.to_thread(events.publish, channel, name)
        seen += [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event: ")]
        if len(seen) >= count:
            return seen[:count]
    return seen


@pytest.mark.django_db(transaction=True)
def test_a_member_hears_names_in_order(viewer, collection):
    names = ["items", "grades"]
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        connection.delete(f"{collection.channel}:last")
    heard = _listened_to(viewer, collection, names, since=f"{time.time():.3f}", count=2)
    assert run_views(heard) == names


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("since", "is_missed"),
    [("before", True), ("after", False), ("", True), ("later", True), ("nan", True), ("9" * 5_000, True)],
)
def test_a_page_that_may_have_missed_an_event_hears_so_first(viewer, collection, since, is_missed):
    """An event 100 seconds ago, and a page that was asked for before it or after it."""
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        connection.set(f"{collection.channel}:last", "grades", ex=events.KEPT_SECONDS - 100)
    now = int(time.time())
    time_sent = {"before": now - 200, "after": now - 50, "later": now + 1_000}.get(since, since)
    heard = run_views(_listened_to(viewer, collection, ["items", "runs"], since=str(time_sent), count=2))
    assert heard == ([streams.MISSED, "items"] if is_missed else ["items", "runs"])


@pytest.mark.django_db(transaction=True)
def test_a_stream_ends_so_that_access_is_checked_again(viewer, collection, monkeypatch):
    monkeypatch.setattr(streams, "OPEN_SECONDS", 0.0)
    heard = run_views(_listened_to(viewer, collection, ["items"], since="", count=99))
    assert heard == [streams.MISSED]


def test_redis_knows_when_the_last_event_was(redis_server):
    events.publish("rubricweb:collection:1", "items")
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        assert connection.ttl("rubricweb:collection:1:last") > events.KEPT_SECONDS - 60


@pytest.mark.django_db(transaction=True)
def test_an_outsider_hears_nothing(outsider, collection):
    async def listen() -> int:
        browser = AsyncClient()
        await browser.aforce_login(outsider, backend="django.contrib.auth.backends.ModelBackend")
        return (await browser.get(f"/collections/{collection.slug}/events/")).status_code

    assert run_views(listen()) == 404


def test_without_redis_a_change_still_succeeds(redis_server, caplog):
    redis_server.stop()
    caplog.set_level("DEBUG", "rubricweb.core.events")
    events.publish("rubricweb:collection:1", "items")
    redis_server.start()
    assert "was not sent" in caplog.text
