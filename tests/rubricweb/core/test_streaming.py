"""Streams keep no connection to the database, and downloads are sent from files."""

import pytest
from django.core.signals import request_finished
from django.http import FileResponse, HttpResponse, StreamingHttpResponse

from rubricweb.core import middleware
from rubricweb.core.middleware import Streaming
from tests.event_loops import run


async def _parts(response) -> list[bytes]:
    return [part async for part in response]


@pytest.fixture
def happened(monkeypatch) -> list[str]:
    events: list[str] = []
    monkeypatch.setattr(middleware, "close_old_connections", lambda: events.append("connection closed"))
    monkeypatch.setattr(request_finished, "send", lambda **options: None)  # it would close connections, too
    return events


def test_file_is_written_before_the_connection_is_closed(async_rf, happened):
    def lines():
        happened.append("rows read")
        yield "line"

    response = Streaming(lambda _: StreamingHttpResponse(lines()))(async_rf.get("/"))
    assert happened == ["rows read", "connection closed"]
    assert run(_parts(response)) == [b"line"]
    response.close()


@pytest.mark.parametrize("kind", [FileResponse, StreamingHttpResponse])
def test_download_is_sent_in_chunks_and_closed(kind, async_rf, happened, tmp_path, monkeypatch):
    """Rows that are many spill into a temporary file; a file is sent from where it lies."""
    monkeypatch.setattr(middleware, "CHUNK", 4)
    monkeypatch.setattr(middleware, "SPOOLED", 4)
    path = tmp_path / "file.zip"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        content = file if kind is FileResponse else iter([b"01234", b"56789"])
        response = Streaming(lambda _: kind(content))(async_rf.get("/"))
        assert response.is_async
        assert run(_parts(response)) == [b"0123", b"4567", b"89"]
        response.close()
        assert file.closed == (kind is FileResponse)


def test_rows_that_fail_send_nothing(async_rf, happened):
    def lines():
        yield "line"
        raise KeyError("a fault")

    with pytest.raises(KeyError):
        Streaming(lambda _: StreamingHttpResponse(lines()))(async_rf.get("/"))
    assert happened == ["connection closed"]


def test_live_stream_is_not_read(async_rf, happened):
    async def messages():
        happened.append("listening")
        yield ": ping"

    Streaming(lambda _: StreamingHttpResponse(messages()))(async_rf.get("/"))
    assert happened == ["connection closed"]


def test_page_closes_its_connection_before_it_is_sent(async_rf, happened):
    assert Streaming(lambda _: HttpResponse("ok"))(async_rf.get("/")).content == b"ok"
    assert happened == ["connection closed"]


def test_request_of_a_test_client_keeps_its_connection(rf, happened):
    assert Streaming(lambda _: HttpResponse("ok"))(rf.get("/")).content == b"ok"
    assert happened == []
