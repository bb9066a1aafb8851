"""Grades with a model behind an OpenAI-compatible server: OpenAI, vLLM, llama.cpp, any other.

As many calls are under way at once as the server takes (`concurrency.py`). They are sent in the order of
their words, so that a server which caches the beginnings of prompts computes a shared one once: the
instruction, and the passage where the prompt has it first. Where the server offers log-probabilities, ratings
have a confidence and an expectation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice, product
from queue import SimpleQueue
from typing import cast

from grading.errors import GraderUnavailable
from grading.graders.backend_options import JSON_FORMS, ReplyOptions, ServerOptions, Thinking
from grading.graders.base import (
    GraderSpec,
    RatedReply,
    Result,
    parsed,
    rated,
    result_without_model,
    tokens_of_lines,
    unanswered,
    weighed,
    with_confidence,
)
from grading.graders.completions import Message
from grading.graders.connection import Connection, too_long_by
from grading.graders.first_step import LEAD_INS
from grading.graders.openai_client import ChatClient, ChatOptions
from grading.graders.replies import NoReply, Reply, Step, TokensUsed
from grading.in_context import longest_seen, parts_of, without_start
from grading.parsing import OnUnparsable
from grading.types import CellToGrade, ErrorClass, Grade, Outcome, Trace


class ServerReplies:
    """A prompt with the options of replies to it."""

    def __init__(self, spec: GraderSpec, options: ReplyOptions) -> None:
        """Check the options. Raises GraderUnavailable where they do not fit the prompt, or each other."""
        self.prompt, self._llm, self._options = spec.prompt, spec.llm, options
        if options.json_mode and self.prompt.rule not in JSON_FORMS:
            raise GraderUnavailable("option json_mode needs a prompt that asks for a number or a label")
        if options.json_mode and options.constrained:
            raise GraderUnavailable("options json_mode and constrained exclude each other")

    @property
    def call(self) -> ChatOptions:
        """Return the parameters of every call."""
        options, short = self._options, self.prompt.first_tokens
        return ChatOptions(
            self._llm,
            options.max_new_tokens,
            options.top_logprobs if short else 0,
            options.json_mode,
            _spelt(short) if options.constrained else (),
            Thinking(options.thinking, options.reasoning_effort, options.request_fields),
        )

    def messages(self, pair: CellToGrade, context: str | None) -> list[Message]:
        messages = self.prompt.messages(pair, context)
        if self._options.json_mode:
            role, text = messages[-1]
            messages[-1] = (role, f"{text}\nReply with JSON: {JSON_FORMS[self.prompt.rule]}")
        return messages

    def result(self, pair: CellToGrade, trace: Trace, reply: Reply) -> Result:
        """Grade from the answer; the trace keeps all that the model wrote."""
        trace = replace(trace, reply=reply.raw)
        if self._options.constrained and (likeliest := self._likeliest(reply)):
            return rated(pair, likeliest, trace)
        on_unparsable = cast("OnUnparsable", self._options.on_unparsable)
        result = parsed(self.prompt, pair, reply.text, trace, on_unparsable)
        if isinstance(result, Grade) and result.rating is not None and result.outcome is Outcome.NUMERIC:
            return with_confidence(result, self._distribution(result.rating, reply))
        return result

    def _likeliest(self, reply: Reply) -> RatedReply | None:
        """Return the likeliest rating after the model's lead-in, even where the server writes another one."""
        ratings = self.prompt.first_tokens
        place = next((n for n, step in enumerate(reply.steps) if _bare(step.token) in ratings), 0)
        lead_in = "".join(step.token for step in reply.steps[:place])
        step = reply.steps[place if lead_in in _LEAD_INS else 0] if reply.steps else None
        weights = self._weights(step) if step else {}
        likeliest = max(weights, key=lambda rating: weights[rating], default=None)
        if likeliest is None or not weights[likeliest]:
            return None
        return weighed(reply.text, likeliest, weights)

    def _distribution(self, rating: int, reply: Reply) -> RatedReply | None:
        """Return the distribution over the scale at the token that says the rating."""
        ratings = self.prompt.first_tokens
        for step in reply.steps:
            if ratings.get(_bare(step.token)) == rating:
                weights = self._weights(step)
                return weighed(reply.text, rating, weights) if weights.get(rating) else None
        return None

    def _weights(self, step: Step) -> dict[int, float]:
        """Return by rating the probability of the tokens that spell it."""
        weights: dict[int, float] = {}
        for token, share in step.shares.items():
            if (rating := self.prompt.first_tokens.get(_bare(token))) is not None:
                weights[rating] = weights.get(rating, 0.0) + share
        return weights


_LEAD_INS = tuple(ways[0] for ways in LEAD_INS)


def _spelt(replies: Iterable[str]) -> tuple[str, ...]:
    """Return the replies, and each after what models write before a rating.

    A model that would write "- 3" and must begin with a digit gives the digit that lists begin with: 1.
    """
    return tuple(f"{lead_in}{reply}" for lead_in, reply in product(_LEAD_INS, replies))


def _bare(token: str) -> str:
    return token.strip(' \n"')


WINDOW = 2048
"""Pairs that are read ahead and sorted."""
CUTS = 4
"""How often a passage is cut if the server finds the prompt too long; such refusals are free."""


class ServerGrader:
    """Rates or extracts, as its prompt asks; nothing is sent before `grade` is iterated."""

    def __init__(self, spec: GraderSpec, connection: Connection | None) -> None:
        """Connect. Raises GraderUnavailable where the options are wrong or there is no connection."""
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
        """Return the tokens used since this grader was made, as counted by the server."""
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
        call = self._client.call.longer(tokens_of_lines(pair))
        for cuts_left in range(CUTS, -1, -1):
            messages = self._replies.messages(pair, context)
            cut = None if context is None else len(context)
            trace = Trace("\n".join(text for _, text in messages), "", cut)
            try:
                reply = await self._client.complete(messages, shared, call)
            except NoReply as error:
                context = _shorter(pair, context, len(trace.prompt), str(error))
                if error.error_class is ErrorClass.CONTEXT and cuts_left and context:
                    continue
                return unanswered(pair, error, trace)
            return self._replies.result(pair, trace, reply)
        raise AssertionError("the last round returns")


def _shorter(pair: CellToGrade, context: str | None, prompt_chars: int, reason: str) -> str:
    """Cut the passage between sentences, by as much as the server says the prompt is too long.

    Of a passage in context only what comes before it is cut, if need be all of it.
    """
    whole = pair.passage.text
    context = whole if context is None else context
    keep = len(context) - prompt_chars * (1.02 - too_long_by(reason))
    keep = keep if keep > 0 else len(context) / 2
    parts = parts_of(whole)
    if parts and len(least := without_start(parts, len(parts.before))) < len(context):
        keep = max(keep, len(least))
    return longest_seen(whole, lambda seen: len(seen) <= keep)
