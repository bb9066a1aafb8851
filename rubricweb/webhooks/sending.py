"""One POST to a checked address: no redirects, no proxies, few bytes read, and an end to all waiting."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpcore

from rubricweb.webhooks import addresses
from rubricweb.webhooks.addresses import Target
from rubricweb.webhooks.models import EXCERPT_CHARS

SECONDS = 15.0
"""For all of it: to connect, to send, and to be answered."""
CONNECT_SECONDS = 5.0
READ_BYTES = 4_096
"""Of an answer's body."""
AGENT = "RubricWeb-Webhooks/1"


class NotAnswered(Exception):
    """Nothing came back; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    excerpt: str
    """The beginning of its body."""
    retry_after: str = ""
    """The header of this name."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the patience with one request ends."""

    at: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    """By the monotonic clock."""

    def left(self, most: float | None = None) -> float:
        """Seconds, up to `most`. Raises httpcore.ReadTimeout when there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout(f"no answer within {SECONDS:.0f} seconds")
        return seconds if most is None else min(most, seconds)


class TimedStream(httpcore.NetworkStream):
    """A stream whose every step ends by the deadline: a server that sends a byte now and then is left."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self.stream, self.deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, self.deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.stream.write(buffer, self.deadline.left(timeout))

    def close(self) -> None:
        self.stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The certificate is that of the name, wherever the name led."""
        inner = self.stream.start_tls(ssl_context, server_hostname, self.deadline.left(timeout))
        return TimedStream(inner, self.deadline)

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class CheckedBackend(httpcore.NetworkBackend):
    """Connects to what `addresses.checked` resolved, and to nothing else."""

    def __init__(
        self, target: Target, deadline: Deadline, inner: httpcore.NetworkBackend | None = None
    ) -> None:
        self.target, self.deadline = target, deadline
        self.inner = inner or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failed: Exception = OSError("The name has no address.")
        for address in addresses.checked(self.target):
            seconds = self.deadline.left(CONNECT_SECONDS)
            try:
                return TimedStream(self.inner.connect_tcp(str(address), port, seconds), self.deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


def post(
    target: Target,
    headers: Mapping[str, str],
    body: bytes,
    *,
    backend: Callable[[Target, Deadline], httpcore.NetworkBackend] = CheckedBackend,
) -> HttpAnswer:
    """Send `body`, and return what was answered, whatever it was.

    Raises NotAnswered, and addresses.Refused where the name leads to a machine that must not be asked.
    """
    deadline = Deadline()
    url = httpcore.URL(
        scheme=target.url.raw_scheme, host=target.url.raw_host, port=target.port, target=target.url.raw_path
    )
    sent = {"Host": target.url.netloc.decode("ascii"), "User-Agent": AGENT, "Accept": "*/*", **headers}
    try:
        with (
            httpcore.ConnectionPool(network_backend=backend(target, deadline)) as pool,
            pool.stream("POST", url, headers=list(sent.items()), content=body) as response,
        ):
            return _answer(response)
    except httpcore.TimeoutException as error:
        raise NotAnswered(f"No answer within {SECONDS:.0f} seconds.") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise NotAnswered(str(error)[:EXCERPT_CHARS] or type(error).__name__) from error


def _answer(response: httpcore.Response) -> HttpAnswer:
    """Reads no more of the body than is kept, whatever its length."""
    headers = {name.lower(): value for name, value in response.headers}
    body = b""
    for part in response.iter_stream():
        body += part[: READ_BYTES - len(body)]
        if len(body) >= READ_BYTES:
            break
    excerpt = body.decode("utf-8", "replace").replace("\0", "\ufffd")[:EXCERPT_CHARS]
    return HttpAnswer(response.status, excerpt, headers.get(b"retry-after", b"").decode("latin-1"))
