"""Grades with a model behind an OpenAI-compatible server: OpenAI, vLLM, any other.

As many calls are under way at once as the server takes (`concurrency.py`). They are sent in the order of
their words, so that a server which caches the beginnings of prompts computes a shared one once: the
instruction, and the passage where the prompt has it first. Where the server offers log-probabilities, ratings
have a confidence and an expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice
from queue import SimpleQueue

from grading.graders.backend_options import ServerOptions
from grading.graders.base import GraderSpec, result_without_model
from grading.graders.connection import Connection
from grading.graders.openai_client import ChatClient
from grading.graders.openai_errors import too_long_by
from grading.graders.replies import NoReply, TokensUsed
from grading.graders.results import Result, unanswered
from grading.graders.server_replies import ServerReplies
from grading.graders.text import longest_start
from grading.types import CellToGrade, ErrorClass, Trace

WINDOW = 2048
"""Pairs that are read ahead and sorted."""
CUTS = 4
"""How often a passage is cut if the server finds the prompt too long; such refusals are free."""


class ServerGrader:
    """Rates or extracts, as its prompt asks; nothing is sent before `grade` is iterated."""

    def __init__(self, spec: GraderSpec, connection: Connection | None) -> None:
        """Raises GraderUnavailable where the options are wrong or there is no connection."""
        self.spec = spec
        options = ServerOptions.of(spec)
        self._prompt, self._replies = spec.prompt, ServerReplies(spec, options)
        call = replace(
            self._replies.call,
            timeout_s=options.timeout_s,
            attempts=options.attempts,
            concurrency=options.concurrency,
        )
        self._client = ChatClient(connection, call)

    @property
    def device(self) -> str:
        return f"server {self._client.connection.host}"

    @property
    def tokens_used(self) -> TokensUsed:
        """Since this grader was made, as counted by the server."""
        return self._client.used

    def close(self) -> None:
        """End the connections; the grader cannot grade any more."""
        self._client.close()

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Result]:
        """Yield replies as they arrive; stopping cancels the calls that are under way."""
        stream = iter(pairs)
        under_way: set[Future[Result]] = set()
        done: SimpleQueue[Future[Result]] = SimpleQueue()

        def arrived(at_most: int) -> Iterator[Result]:
            while len(under_way) > at_most:
                under_way.remove(future := done.get())
                yield future.result()

        try:
            while window := list(islice(stream, WINDOW)):
                settled = [result_without_model(self._prompt, pair) for pair in window]
                yield from filter(None, settled)
                open_pairs = [pair for pair, outcome in zip(window, settled, strict=True) if not outcome]
                for pair in sorted(open_pairs, key=self._prompt.render):
                    under_way.add(future := self._client.submit(self._answer(pair)))
                    future.add_done_callback(done.put)
                    yield from arrived(self._client.most_calls - 1)
            yield from arrived(0)
        finally:
            for future in under_way:
                future.cancel()

    async def _answer(self, pair: CellToGrade) -> Result:
        """Ask; if the prompt is too long, with less and less of the passage, never of the item."""
        context: str | None = None
        shared = self._prompt.shared_start(pair)
        for cuts_left in range(CUTS, -1, -1):
            messages = self._replies.messages(pair, context)
            cut = None if context is None else len(context)
            trace = Trace("\n".join(text for _, text in messages), "", cut)
            try:
                reply = await self._client.complete(messages, shared)
            except NoReply as error:
                context = _shorter(pair, context, len(trace.prompt), str(error))
                if error.error_class is ErrorClass.CONTEXT and cuts_left and context:
                    continue
                return unanswered(pair, error, trace)
            return self._replies.result(pair, trace, reply)
        raise AssertionError("the last round returns")


def _shorter(pair: CellToGrade, context: str | None, prompt_chars: int, reason: str) -> str:
    """Cut the passage between sentences, by as much as the server says the prompt is too long."""
    context = pair.passage.text if context is None else context
    keep = len(context) - prompt_chars * (1.02 - too_long_by(reason))
    keep = keep if keep > 0 else len(context) / 2
    return longest_start(context, lambda start: len(start) <= keep)
