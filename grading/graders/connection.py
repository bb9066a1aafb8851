"""Address and key of a model server."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Connection:
    """Passed by whoever builds a grader; never among its options, which are stored and shown."""

    base_url: str
    """Like "https://models.example.org/v1"."""
    api_key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Host and port, without credentials in the address."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or self.base_url

    def without_key(self, text: str) -> str:
        """`text` with the key redacted: servers quote what they refuse."""
        return text.replace(self.api_key, "[key]") if self.api_key else text
