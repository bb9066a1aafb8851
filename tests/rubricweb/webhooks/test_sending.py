"""One request: to the checked address, in the name's name, with an end to all that it reads and waits for."""

from __future__ import annotations

import socket
import threading

import httpcore
import pytest

from rubricweb.webhooks import sending
from rubricweb.webhooks.sending import (
    AddressRefused,
    CheckedBackend,
    HttpAnswer,
    NotAnswered,
    post,
    target_of,
)

BODY = b'{"type":"webhook.test"}'
HEADERS = {"Content-Type": "application/json"}


class Recorder(httpcore.NetworkBackend):
    """Notes where connections and TLS lead, and answers 204."""

    def __init__(self) -> None:
        self.connected: list[tuple[str, int]] = []
        self.names: list[str | None] = []

    def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        self.connected.append((host, port))
        return RecordedStream([b"HTTP/1.1 204 No Content\r\n\r\n"], self)


class RecordedStream(httpcore.MockStream):
    def __init__(self, answer: list[bytes], recorder: Recorder) -> None:
        super().__init__(answer)
        self.recorder = recorder
        self.written = b""

    def write(self, buffer, timeout=None):
        self.written += buffer
        self.recorder.written = self.written

    def start_tls(self, ssl_context, server_hostname=None, timeout=None):
        assert ssl_context.check_hostname
        self.recorder.names.append(server_hostname)
        return self


def test_the_answer_comes_back_whatever_it_is(receiver):
    receiver.status, receiver.body = 422, "no such team \u2603\0".encode()
    answer = post(target_of(receiver.address), HEADERS, BODY)
    assert answer == HttpAnswer(422, "no such team \u2603\ufffd")
    (request,) = receiver.received
    assert (request.path, request.body) == ("/hook?team=a", BODY)
    assert request.headers["Host"] == receiver.address.split("/")[2]
    assert request.headers["User-Agent"] == sending.AGENT


def test_redirects_are_not_followed(receiver):
    receiver.status, receiver.headers = 302, {"Location": receiver.address}
    assert post(target_of(receiver.address), HEADERS, BODY).status == 302
    assert len(receiver.received) == 1


def test_of_a_long_answer_the_beginning_is_read(receiver):
    receiver.status, receiver.body = 200, b"x" * 100_000
    assert post(target_of(receiver.address), HEADERS, BODY).excerpt == "x" * 1_000


def test_proxies_of_the_environment_are_not_asked(receiver, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert post(target_of(receiver.address), HEADERS, BODY).is_success


def test_a_server_that_never_ends_is_left(receiver, monkeypatch):
    """It sends a header now and then, so that no single step takes long."""
    monkeypatch.setattr(sending, "SECONDS", 0.3)
    is_over = threading.Event()

    def drip(handler) -> bool:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not is_over.wait(0.01):
            handler.wfile.write(b"X-Wait: a\r\n")
        return True

    receiver.on_request = drip
    with pytest.raises(NotAnswered, match="No answer within"):
        post(target_of(receiver.address), HEADERS, BODY)
    is_over.set()


def test_nobody_listens(receiver):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(NotAnswered, match="refused"):
        post(target_of(f"http://127.0.0.1:{port}/"), HEADERS, BODY)


def test_it_connects_to_what_was_checked_in_the_name_of_the_host(monkeypatch):
    """A resolver that changes its answer changes nothing: what it said first is connected to."""
    told = iter([["93.184.216.34"], ["127.0.0.1"]])

    def getaddrinfo(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in next(told)]

    monkeypatch.setattr(sending.socket, "getaddrinfo", getaddrinfo)
    recorder = Recorder()
    target = target_of("https://hooks.example.org/a")
    backend = lambda target, deadline: CheckedBackend(target, deadline, recorder)  # noqa: E731
    assert post(target, HEADERS, BODY, backend=backend).status == 204
    assert recorder.connected == [("93.184.216.34", 443)]
    assert recorder.names == ["hooks.example.org"]
    assert b"Host: hooks.example.org\r\n" in recorder.written
    with pytest.raises(AddressRefused):  # the next message asks the resolver again, and is refused
        post(target, HEADERS, BODY, backend=backend)
    assert len(recorder.connected) == 1


def test_the_next_address_is_tried_where_one_does_not_answer(settings, receiver, monkeypatch):
    port = int(receiver.address.split(":")[2].split("/")[0])
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (at, port)) for at in ("127.0.0.9", "127.0.0.1")]
    monkeypatch.setattr(sending.socket, "getaddrinfo", lambda *_, **__: rows)
    assert post(target_of(f"http://hooks.example.org:{port}/"), HEADERS, BODY).is_success
    assert receiver.received[0].headers["Host"] == f"hooks.example.org:{port}"
