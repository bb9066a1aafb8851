"""What a model behind a server is asked, and what its replies mean, whichever way they come."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from grading.errors import GraderUnavailable
from grading.graders.backend_options import JSON_FORMS, ReplyOptions, Thinking
from grading.graders.base import GraderSpec
from grading.graders.chat import Message
from grading.graders.openai_client import ChatOptions
from grading.graders.replies import Reply, Step
from grading.graders.results import RatedReply, Result, parsed, rated, weighed, with_confidence
from grading.parsing import OnUnparsable
from grading.types import CellToGrade, Grade, Outcome, Trace


class ServerReplies:
    """A prompt with the options of replies to it."""

    def __init__(self, spec: GraderSpec, options: ReplyOptions) -> None:
        """Raises GraderUnavailable where the options do not fit the prompt, or each other."""
        self.prompt, self._llm, self._options = spec.prompt, spec.llm, options
        if options.json_mode and self.prompt.rule not in JSON_FORMS:
            raise GraderUnavailable("option json_mode needs a prompt that asks for a number or a label")
        if options.json_mode and options.constrained:
            raise GraderUnavailable("options json_mode and constrained exclude each other")

    @property
    def call(self) -> ChatOptions:
        """The parameters of every call."""
        options, short = self._options, self.prompt.first_tokens
        return ChatOptions(
            self._llm,
            options.max_new_tokens,
            options.top_logprobs if short else 0,
            options.json_mode,
            tuple(short) if options.constrained else (),
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
        """The likeliest rating as the first token, also where the server lets the model write another one."""
        weights = self._weights(reply.steps[0]) if reply.steps else {}
        likeliest = max(weights, key=lambda rating: weights[rating], default=None)
        if likeliest is None or not weights[likeliest]:
            return None
        return weighed(reply.text, likeliest, weights)

    def _distribution(self, rating: int, reply: Reply) -> RatedReply | None:
        """The distribution over the scale at the token that says the rating."""
        ratings = self.prompt.first_tokens
        for step in reply.steps:
            if ratings.get(_bare(step.token)) == rating:
                weights = self._weights(step)
                return weighed(reply.text, rating, weights) if weights.get(rating) else None
        return None

    def _weights(self, step: Step) -> dict[int, float]:
        """By rating: the probability of the tokens that say it."""
        weights: dict[int, float] = {}
        for token, share in step.shares.items():
            if (rating := self.prompt.first_tokens.get(_bare(token))) is not None:
                weights[rating] = weights.get(rating, 0.0) + share
        return weights


def _bare(token: str) -> str:
    return token.strip(' \n"')
