"""The model of a system, whose replies are kept as they come: none is paid for twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from grading.generation import TextModel
from grading.graders.backend_options import Thinking
from grading.graders.replies import NoReply, of_text
from grading.systems.pipeline import SystemSpec
from rubricweb.jobs import limited
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.systems.models import AnswerChunk


def model_of(spec: SystemSpec, lease: Lease[Any], chunk: AnswerChunk) -> TextModel | None:
    """None where the system asks no model. Raises CannotRun."""
    if not spec.needs_model:
        return None
    llm = limited.limited_model(
        chunk.limited_job,
        backend=spec.backend,
        llm=spec.llm,
        longest_reply=spec.longest_reply,
        thinking=Thinking.of(spec.model_options),
    )
    return KeptReplies(llm, lease, chunk)


class KeptReplies:
    """A model whose replies are stored with a chunk as they come."""

    def __init__(self, llm: TextModel, lease: Lease[Any], chunk: AnswerChunk) -> None:
        self._llm, self._lease, self._chunk = llm, lease, chunk
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Raises what `LimitedModel` does, and LeaseLost. What was kept and is no answer is asked again."""
        digest = hashlib.sha256(repr(list(messages)).encode()).hexdigest()
        while self._left.get(digest):
            with suppress(NoReply):
                return of_text(str(self._left[digest].pop(0)))
        reply = self._llm.complete(messages)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply
