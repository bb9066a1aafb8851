"""Calls an OpenAI-compatible server (OpenAI, vLLM, any other) with retries and limits.

Calls run on an event loop in a thread of its own, so that many wait together, and a cancelled one is dropped
at once: the server sees the connection close and can stop. A call is retried if another attempt may succeed;
a reply that arrived is never requested again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import threading
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from grading.errors import GraderUnavailable, GradingError
from grading.graders.chat import Message
from grading.graders.connection import Connection
from grading.graders.openai_errors import Problem, problem_of
from grading.types import ErrorClass

if TYPE_CHECKING:
    import openai

logger = logging.getLogger(__name__)

FIRST_WAIT = 1.0
"""Seconds before the second attempt, roughly; doubled before each further one."""
LONGEST_WAIT = 60.0
"""If a server asks to wait longer, the pair fails."""
# What some servers and models refuse, and what they are sent instead; the words come in this order.
_INSTEAD: dict[str, dict[str, str]] = {
    "logprobs": {"logprobs": "", "top_logprobs": ""},
    "temperature": {"temperature": ""},
    "response_format": {"response_format": ""},
    "max_tokens": {"max_tokens": "max_completion_tokens"},
}

T = TypeVar("T")


class CallFailed(GradingError):
    """No reply, after all attempts that could help."""

    def __init__(self, problem: Problem, attempts: int) -> None:
        self.problem, self.attempts = problem, attempts
        super().__init__(f"{problem.reason} (after {attempts} attempts)" if attempts > 1 else problem.reason)

    @property
    def error_class(self) -> ErrorClass:
        return self.problem.error_class


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The parameters of every call."""

    model: str
    max_new_tokens: int = 64
    top_logprobs: int = 0
    """Alternatives requested for each token; 0 for none."""
    json_mode: bool = False
    timeout_s: float = 60.0
    """Of one attempt, from the first byte sent to the last received."""
    attempts: int = 3

    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {
            "model": self.model,
            "temperature": 0,
            "max_tokens": self.max_new_tokens,
        }
        if self.top_logprobs:
            parameters |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        if self.json_mode:
            parameters["response_format"] = {"type": "json_object"}
        return parameters


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a reply, and the probabilities (0..1) of what could have stood in its place."""

    token: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    finish_reason: str
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class TokensUsed:
    """As the server counts them; 0 where it does not."""

    prompt: int = 0
    completion: int = 0


@dataclass(slots=True)
class _ServerLimits:
    """What this server was found to require."""

    refused: set[str] = field(default_factory=set)
    quiet_until: float = 0.0
    """On the loop's clock: a server that asks one call to wait means all of them."""


class ChatClient:
    """Keeps its connections from call to call. `close` ends them; so does forgetting the client."""

    def __init__(self, connection: Connection | None, call: ChatOptions) -> None:
        """Raises GraderUnavailable where the library or the connection is missing."""
        if connection is None or not connection.base_url:
            raise GraderUnavailable(
                "no model server is configured; set RUBRIC_OPENAI_BASE_URL in the worker's environment, and "
                "RUBRIC_OPENAI_API_KEY where it wants a key"
            )
        try:
            import openai
        except ImportError as error:
            raise GraderUnavailable(
                f"{error}; install the models extra: pip install 'rubricweb[models]'"
            ) from error
        self.connection, self.call, self.used = connection, call, TokensUsed()
        self._limits = _ServerLimits()
        key = connection.api_key or "none"  # servers of one's own often want no key; the library wants one
        self._api = openai.AsyncOpenAI(api_key=key, base_url=connection.base_url, max_retries=0, timeout=None)
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="model-server-calls", daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _shut, self._loop, thread, self._api)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run on the client's loop; cancelling the future cancels the call."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def ask(self, messages: Sequence[Message]) -> Completion:
        """Wait for one reply. Raises CallFailed."""
        return self.submit(self.complete(messages)).result()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Raises CallFailed. Only on the client's loop."""
        if (kept := self._kept(messages)) is not None:
            return kept
        for attempt in range(1, self.call.attempts + 1):
            try:
                reply = await self._send(messages)
                self._count(reply)
                completion = _read(reply)
                self._keep(messages, reply)
                return completion
            except _Failed as failed:
                problem = failed.problem
            wait = self._wait(problem, attempt)
            if wait is None or attempt == self.call.attempts:
                break
            logger.info("asking again in %.1f s: %s", wait, problem.error_class)
            await asyncio.sleep(wait)
        raise CallFailed(problem, attempt)

    def _kept(self, messages: Sequence[Message]) -> Completion | None:
        """Return the reply that was kept of the same request; it costs nothing."""
        from openai.types.chat import ChatCompletion

        replies = self.connection.replies
        kept = replies.get(self._request(messages)) if replies else None
        return None if kept is None else _read(ChatCompletion.construct(**kept))

    def _keep(self, messages: Sequence[Message], reply: Any) -> None:
        if self.connection.replies:
            self.connection.replies.put(self._request(messages), reply.to_dict(mode="json", warnings=False))

    def _request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """What is asked, also where this server is sent less because it refuses a setting."""
        return {"messages": _chat(messages), **self.call.parameters()}

    async def _send(self, messages: Sequence[Message]) -> Any:
        """Send; if the server refuses a setting, send again without it. Such refusals cost nothing."""
        while True:
            await self._quiet()
            try:
                return await self._attempt(messages)
            except _Failed as failed:
                refused = next((name for name in _INSTEAD if name in failed.problem.refuses), "")
                if not refused or refused in self._limits.refused:
                    raise
                logger.info("%s refuses %s", self.connection.host, refused)
                self._limits.refused.add(refused)

    async def _attempt(self, messages: Sequence[Message]) -> Any:
        import openai

        try:
            async with asyncio.timeout(self.call.timeout_s):
                return await self._api.chat.completions.create(messages=_chat(messages), **self._parameters())
        except TimeoutError:
            raise _Failed(Problem(ErrorClass.TIMEOUT, "no reply in time", is_passing=True)) from None
        except openai.APIError as error:
            problem = problem_of(error, datetime.now(UTC))
        except ValueError:
            problem = Problem(ErrorClass.SERVER, "the server's reply is no JSON")
        raise _Failed(self._cleaned(problem))

    def _cleaned(self, problem: Problem) -> Problem:
        reason = self.connection.without_key(problem.reason)
        return Problem(problem.error_class, reason, problem.is_passing, problem.wait, problem.refuses)

    def _parameters(self) -> dict[str, Any]:
        parameters = self.call.parameters()
        for refused in self._limits.refused:
            for name, instead in _INSTEAD[refused].items():
                if name in parameters:
                    value = parameters.pop(name)
                    parameters |= {instead: value} if instead else {}
        return parameters

    def _wait(self, problem: Problem, attempt: int) -> float | None:
        """Seconds before the next attempt, or None if none would help."""
        if not problem.is_passing or (problem.wait or 0) > LONGEST_WAIT:
            return None
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 - it keeps calls apart, and hides nothing
        if problem.wait is None:
            return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * jitter)
        self._limits.quiet_until = max(self._limits.quiet_until, self._loop.time() + problem.wait)
        return problem.wait + 0.1 * FIRST_WAIT * jitter

    async def _quiet(self) -> None:
        while (rest := self._limits.quiet_until - self._loop.time()) > 0:  # noqa: ASYNC110 - a time, not an event
            await asyncio.sleep(rest)

    def _count(self, reply: Any) -> None:
        """Add what the server counts; a reply without a message is paid for, too."""
        usage = getattr(reply, "usage", None)
        self.used.prompt += getattr(usage, "prompt_tokens", None) or 0
        self.used.completion += getattr(usage, "completion_tokens", None) or 0


def _chat(messages: Sequence[Message]) -> Any:
    return [{"role": role, "content": text} for role, text in messages]


def _read(reply: Any) -> Completion:
    """Return the first choice; a reply without one is the server's fault."""
    choices = getattr(reply, "choices", None)
    if not choices or not getattr(choices[0], "message", None):
        raise _Failed(Problem(ErrorClass.SERVER, "the server's reply holds no message"))
    choice = choices[0]
    offered = getattr(choice.logprobs, "content", None) or []
    steps = tuple(
        Step(
            step.token,
            {alternative.token: math.exp(alternative.logprob) for alternative in step.top_logprobs or []},
        )
        for step in offered
    )
    return Completion(choice.message.content or "", choice.finish_reason or "", steps)


class _Failed(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.reason)
        self.problem = problem


def _shut(loop: asyncio.AbstractEventLoop, thread: threading.Thread, api: openai.AsyncOpenAI) -> None:
    async def end() -> None:
        await api.close()
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)
    if threading.current_thread() is not thread:
        thread.join(timeout=5)
        if not thread.is_alive():
            loop.close()
