"""A model that writes what a test tells it."""

from __future__ import annotations

from collections.abc import Sequence


class Scripted:
    """Says one reply after the other, the last one for ever; an error is raised."""

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[str] = []

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        self.asked.append(messages[-1][1])
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(said, Exception):
            raise said
        return said
