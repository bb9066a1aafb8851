"""A program that receives webhooks: a real HTTP server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rubricweb.webhooks.actions import WebhookFields, add_webhook
from rubricweb.webhooks.models import CHOSEN, Endpoint


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What came, and what is answered, unless `on_request` answers by itself and returns True."""

    address: str = ""
    received: list[Received] = field(default_factory=list)
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    on_request: Callable[[BaseHTTPRequestHandler], Any] | None = None


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received(self.path, dict(self.headers), body))
            if receiver.on_request is not None and receiver.on_request(self):
                return
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, *_: object) -> None:
            """Nothing: the log of the tests is for the product."""

    return Handler


@pytest.fixture
def receiver(settings) -> Iterator[Receiver]:
    """It is asked by http, which the setting allows for this machine."""
    settings.WEBHOOK_ALLOW = ["127.0.0.0/8"]
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(receiver))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    receiver.address = f"http://127.0.0.1:{server.server_address[1]}/hook?team=a"
    yield receiver
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def endpoint(collection, receiver, owner) -> Endpoint:
    """It asks for every event."""
    events = [event for event, _ in CHOSEN]
    return add_webhook(collection, WebhookFields(receiver.address, events, "tracker"), by=owner)
