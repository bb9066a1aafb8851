"""Address and key of a model server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

Json = Mapping[str, Any]


class ReplyStore(Protocol):
    """Replies of servers by what was asked: the same request is sent once, whatever the server's address.

    A request is `model`, `messages` and every parameter; a reply is a chat completion. Called on one thread.
    """

    def get(self, request: Json) -> Json | None:
        """Return the reply that was kept; None without one."""
        ...

    def put(self, request: Json, reply: Json) -> None:
        """Keep a reply."""
        ...


@dataclass(frozen=True, slots=True)
class Connection:
    """Passed by whoever builds a grader; never among its options, which are stored and shown."""

    base_url: str
    """Like "https://models.example.org/v1"; several replicas of a model are separated by commas."""
    api_key: str = field(default="", repr=False)
    replies: ReplyStore | None = field(default=None, repr=False)
    """Where replies are kept, and looked for before anything is sent."""
    batch_folder: str = ""
    """A folder that `vllm run-batch` reads and writes, which batches go through where it is set."""

    @property
    def base_urls(self) -> tuple[str, ...]:
        """Each address once.

        >>> Connection("http://a:8000/v1, http://b:8000/v1").base_urls
        ('http://a:8000/v1', 'http://b:8000/v1')
        """
        return tuple(dict.fromkeys(filter(None, map(str.strip, self.base_url.split(",")))))

    @property
    def host(self) -> str:
        """Host and port of each address, without credentials in it."""
        return ", ".join(map(_host, self.base_urls))

    def without_key(self, text: str) -> str:
        """`text` with the key redacted: servers quote what they refuse."""
        return text.replace(self.api_key, "[key]") if self.api_key else text


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or url
