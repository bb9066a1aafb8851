"""A limited number of requests is worked on at once; streams keep neither slot nor connection."""

import asyncio
import threading

import pytest
from django.core.signals import request_finished
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from rubricweb.core import request_slots
from rubricweb.core.request_slots import ReleaseSlot, SlotHandler
from rubricweb.jobs import health
from tests.event_loops import run

AT_ONCE = 2
REQUESTS = 10


async def _status(handler: SlotHandler, path: str) -> int:
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
        raise KeyError("a fault releases its slot too")

    monkeypatch.setattr(health, "check", check)

    async def all_at_once() -> list[int]:
        handler = SlotHandler()
        return await asyncio.gather(*(_status(handler, "/healthz") for _ in range(REQUESTS)))

    assert run(all_at_once()) == [500] * REQUESTS
    assert seen[1] == AT_ONCE


def test_a_process_whose_slots_are_all_taken_is_alive(settings):
    settings.REQUESTS_AT_ONCE = 0
    assert run(_status(SlotHandler(), "/livez")) == 200


class _Slot:
    is_used = False

    def __init__(self, happened: list[str]) -> None:
        self.happened = happened

    def release_from_thread(self) -> None:
        self.happened.append("slot released")


async def _parts(response) -> list[bytes]:
    return [part async for part in response]


@pytest.fixture
def happened(monkeypatch) -> list[str]:
    events: list[str] = []
    monkeypatch.setattr(request_slots, "close_old_connections", lambda: events.append("connection closed"))
    monkeypatch.setattr(request_finished, "send", lambda **sent: None)  # it would close connections, too
    return events


def test_a_file_is_written_before_the_connection_is_closed(rf, happened):
    def lines():
        happened.append("rows read")
        yield "line"

    request = rf.get("/")
    request.slot = _Slot(happened)
    response = ReleaseSlot(lambda _: StreamingHttpResponse(lines()))(request)
    assert happened == ["rows read", "connection closed", "slot released"]
    assert run(_parts(response)) == [b"line"]
    response.close()


@pytest.mark.parametrize("kind", [FileResponse, StreamingHttpResponse])
def test_a_download_is_sent_in_chunks_and_closed(kind, rf, happened, tmp_path, monkeypatch):
    """Rows that are many spill into a temporary file; a file is sent from where it lies."""
    monkeypatch.setattr(request_slots, "CHUNK", 4)
    monkeypatch.setattr(request_slots, "SPOOLED", 4)
    path = tmp_path / "file.zip"
    path.write_bytes(b"0123456789")
    request = rf.get("/")
    request.slot = _Slot(happened)
    with path.open("rb") as file:
        content = file if kind is FileResponse else iter([b"01234", b"56789"])
        response = ReleaseSlot(lambda _: kind(content))(request)
        assert response.is_async
        assert run(_parts(response)) == [b"0123", b"4567", b"89"]
        response.close()
        assert file.closed == (kind is FileResponse)


def test_rows_that_fail_send_nothing(rf, happened):
    def lines():
        yield "line"
        raise KeyError("a fault")

    request = rf.get("/")
    request.slot = _Slot(happened)
    with pytest.raises(KeyError):
        ReleaseSlot(lambda _: StreamingHttpResponse(lines()))(request)
    assert happened == ["connection closed", "slot released"]


def test_a_live_stream_is_not_read(rf, happened):
    async def messages():
        happened.append("listening")
        yield ": ping"

    request = rf.get("/")
    request.slot = _Slot(happened)
    ReleaseSlot(lambda _: StreamingHttpResponse(messages()))(request)
    assert happened == ["connection closed", "slot released"]


def test_without_slots_nothing_is_closed(rf, happened):
    assert ReleaseSlot(lambda _: HttpResponse("ok"))(rf.get("/")).content == b"ok"
    assert happened == []
