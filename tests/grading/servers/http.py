"""A real HTTP server in a thread; what it answers is up to `reply`."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    status: int
    body: Body | bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int = 0
    """Bytes at the end of the body that are announced and never sent."""


@dataclass
class Server:
    """What it was asked, and what it answered, in the order of the requests."""

    url: str
    asked: list[Body] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    most_at_once: int = 0

    def prompts(self) -> list[str]:
        return ["\n".join(message["content"] for message in body["messages"]) for body in self.asked]


@contextmanager
def serving(reply: Callable[[Body, int], Reply]) -> Iterator[Server]:
    """`reply` is called with the request and its number, from 0, in a thread for each request."""
    lock = threading.Lock()
    at_once = 0

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            nonlocal at_once
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number, at_once = len(server.asked), at_once + 1
                server.asked.append({"path": self.path, **body})
                server.keys.append(self.headers["Authorization"])
                server.most_at_once = max(server.most_at_once, at_once)
            answer = reply(body, number)
            with lock:
                at_once -= 1
                server.statuses.append(answer.status)
            self.answer(answer)

        def do_GET(self) -> None:
            server.asked.append({"path": self.path})
            self.answer(reply({}, len(server.asked) - 1))

        def answer(self, answer: Reply) -> None:
            sent = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            headers = {"Content-Type": "application/json", "Content-Length": str(len(sent)), **answer.headers}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent[: len(sent) - answer.cut])
            self.close_connection = bool(answer.cut)

        def log_message(self, *args: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *args: object) -> None:
            """A client that hung up is no error here."""

    listener = Listener(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{listener.server_port}/v1")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
