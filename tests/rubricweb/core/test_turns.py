"""At most so many requests are worked on at once; streams keep neither turn nor connection."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from rubricweb.core import turns, views
from rubricweb.core.turns import GiveTurnsBack, TurnTakingHandler

AT_ONCE = 2
REQUESTS = 10


async def _status(handler: TurnTakingHandler, path: str) -> int:
    """What an ASGI server is told."""
    sent: list[dict[str, object]] = []
    ended = asyncio.Event()
    bodies = iter([{"type": "http.request", "body": b""}])

    async def receive() -> dict[str, object]:
        for body in bodies:
            return body
        await ended.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
    await handler(scope, receive, send)
    ended.set()
    return int(str(sent[0]["status"]))


def _run(waiting):
    """In a thread of its own: a browser test before leaves Playwright's event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, waiting).result()


def test_the_others_wait(settings, monkeypatch):
    """Each of two waits inside for the other, so that two do work at once; never does a third."""
    settings.REQUESTS_AT_ONCE = AT_ONCE
    together, lock, seen = threading.Barrier(AT_ONCE, timeout=60), threading.Lock(), [0, 0]

    def check() -> object:
        with lock:
            seen[0] += 1
            seen[1] = max(seen)
        together.wait()
        with lock:
            seen[0] -= 1
        raise KeyError("a fault gives its turn back too")

    monkeypatch.setattr(views.health, "check", check)

    async def all_at_once() -> list[int]:
        handler = TurnTakingHandler()
        return await asyncio.gather(*(_status(handler, "/healthz") for _ in range(REQUESTS)))

    assert _run(all_at_once()) == [500] * REQUESTS
    assert seen[1] == AT_ONCE


class _Turn:
    is_used = False

    def __init__(self, happened: list[str]) -> None:
        self.happened = happened

    def give_back_from_thread(self) -> None:
        self.happened.append("turn given back")


@pytest.fixture
def happened(monkeypatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(turns, "close_old_connections", lambda: found.append("connection closed"))
    return found


def test_a_file_is_written_before_the_connection_is_closed(rf, happened):
    def lines():
        happened.append("rows read")
        yield "line"

    request = rf.get("/")
    request.turn = _Turn(happened)
    response = GiveTurnsBack(lambda _: StreamingHttpResponse(lines()))(request)
    assert list(response) == [b"line"]
    assert happened == ["rows read", "connection closed", "turn given back"]


def test_a_live_stream_is_not_read(rf, happened):
    async def messages():
        happened.append("listening")
        yield ": ping"

    request = rf.get("/")
    request.turn = _Turn(happened)
    GiveTurnsBack(lambda _: StreamingHttpResponse(messages()))(request)
    assert happened == ["connection closed", "turn given back"]


def test_without_turns_nothing_is_closed(rf, happened):
    assert GiveTurnsBack(lambda _: HttpResponse("ok"))(rf.get("/")).content == b"ok"
    assert happened == []
