"""Replies of a paid model that are kept as they come, so that no attempt pays for one again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from grading.generation import TextModel
from grading.graders.replies import NoReply, of_text
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import AskingChunk


def digest_of(messages: Sequence[tuple[str, str]]) -> str:
    """Return the hexadecimal SHA-256 of a prompt."""
    return hashlib.sha256(repr(list(messages)).encode()).hexdigest()


class KeptReplies:
    """A model whose replies are stored with a chunk as they come."""

    def __init__(self, llm: TextModel, lease: Lease[Any], chunk: AskingChunk) -> None:
        self._llm, self._lease, self._chunk = llm, lease, chunk
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the reply, a kept one if it is valid. Raises what `LimitedModel` does, and LeaseLost."""
        digest = digest_of(messages)
        while self._left.get(digest):
            with suppress(NoReply):
                return of_text(str(self._left[digest].pop(0)))
        reply = self._llm.complete(messages)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply
