"""Where a model server is and what opens it."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Connection:
    """Given by whoever builds a grader; never among its options, which are stored and shown."""

    base_url: str
    """Like "https://models.example.org/v1"."""
    api_key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Host and port; without a name or a password that the address may hold."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or self.base_url

    def without_key(self, text: str) -> str:
        """`text` as it may be stored and shown: servers quote what they refuse."""
        return text.replace(self.api_key, "[key]") if self.api_key else text
