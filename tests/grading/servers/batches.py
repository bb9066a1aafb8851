"""A vendor's batch endpoint, over real HTTP: files and batches, which end when a test says so."""

from __future__ import annotations

import email
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Body = dict[str, Any]
Answer = Callable[[Body], Body | None]
"""The `response` or `error` of a request by its body; None for none."""


@dataclass
class BatchServer:
    url: str = ""
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, Body] = field(default_factory=dict)
    status: int = 200
    """Of every answer, where it is not 200."""
    ends_at_once: Answer | None = None
    """By which batches are answered as soon as somebody looks."""

    def requests(self, batch: str) -> list[Body]:
        content = self.files[self.batches[batch]["input_file_id"]][1]
        return [json.loads(line) for line in content.splitlines()]

    def end(self, batch: str, answer: Answer, status: str = "completed") -> None:
        """Answer what `answer` does, the last request first; the rest has errors in a file of their own."""
        replies, errors = [], []
        for request in reversed(self.requests(batch)):
            said = answer(request["body"])
            line = {"id": "r", "custom_id": request["custom_id"], "response": None, "error": None}
            if said is None:
                code = f"batch_{status}"
                errors.append({**line, "error": {"code": code, "message": "This request was not run."}})
            else:
                (replies if said["status_code"] == 200 else errors).append({**line, "response": said})
        row = self.batches[batch]
        row |= {"status": status, f"{status}_at": row["created_at"] + 90}
        row["request_counts"] = {"total": len(replies) + len(errors), "completed": len(replies), "failed": 0}
        for name, lines in (("output_file_id", replies), ("error_file_id", errors)):
            if lines:
                row[name] = self.keep(name, "".join(f"{json.dumps(line)}\n" for line in lines).encode())

    def fail(self, batch: str, code: str, message: str) -> None:
        self.batches[batch] |= {
            "status": "failed",
            "errors": {"object": "list", "data": [{"code": code, "message": message}]},
        }

    def keep(self, name: str, content: bytes) -> str:
        self.files[f"file-{len(self.files)}"] = (name, content)
        return f"file-{len(self.files) - 1}"

    def make(self, asked: Body) -> Body:
        made = {
            "id": f"batch_{len(self.batches)}",
            "object": "batch",
            "status": "in_progress",
            "created_at": 1_000,
            "completion_window": "24h",
            **asked,
        }
        self.batches[str(made["id"])] = made
        return made


def rates(rating: object) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": str(rating)}, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {"status_code": 200, "request_id": "1", "body": body}


class Handler(BaseHTTPRequestHandler):
    """Of the server that a subclass names."""

    protocol_version = "HTTP/1.1"
    served: BatchServer
    lock: threading.Lock

    def do_GET(self) -> None:
        with self.lock:
            self.reply(self.found(urlsplit(self.path).path.split("/")[2:]))

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers["Content-Length"] or 0))
        with self.lock:
            self.reply(self.posted(sent) if self.served.status == 200 else None)

    def posted(self, sent: bytes) -> Body:
        path = urlsplit(self.path).path
        if path.endswith("/cancel"):
            row = self.served.batches[path.split("/")[-2]]
            row["status"] = "cancelling"
            return row
        if path == "/v1/files":
            return {"id": self.served.keep(*self.uploaded(sent)), "object": "file"}
        return self.served.make(json.loads(sent))

    def uploaded(self, sent: bytes) -> tuple[str, bytes]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts: Any = email.message_from_bytes(head + sent).get_payload()
        [file] = [part for part in parts if part.get_filename()]
        return file.get_filename(), file.get_payload(decode=True)

    def found(self, path: list[str]) -> Body | bytes | None:
        match path:
            case ["files"]:
                rows = [{"id": pk, "filename": name} for pk, (name, _) in self.served.files.items()]
                return {"object": "list", "data": rows, "has_more": False}
            case ["batches"]:
                newest_first = [*self.served.batches.values()][::-1]
                return {"object": "list", "data": newest_first, "has_more": False}
            case ["batches", pk]:
                return self.looked_at(pk)
            case ["files", pk, "content"]:
                return self.served.files[pk][1]
        return None

    def looked_at(self, pk: str) -> Body | None:
        row, answer = self.served.batches.get(pk), self.served.ends_at_once
        if answer and row and row["status"] == "in_progress":
            self.served.end(pk, answer)
        return row

    def reply(self, body: Body | bytes | None) -> None:
        status = self.served.status
        if status != 200 or body is None:
            status, body = (404 if status == 200 else status), {"error": {"message": "no"}}
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving_batches() -> Iterator[BatchServer]:
    server = BatchServer()
    handler = type("OfThisServer", (Handler,), {"served": server, "lock": threading.Lock()})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    listener.daemon_threads = True
    server.url = f"http://127.0.0.1:{listener.server_port}/v1"
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()
