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
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from grading.errors import GraderUnavailable, GradingError
from grading.graders.chat import Message
from grading.graders.concurrency import ConcurrencyLimit
from grading.graders.connection import Connection
from grading.graders.openai_errors import NO_REPLY_IN_TIME, Problem, problem_of
from grading.graders.replicas import Replica, Replicas
from grading.types import ErrorClass

logger = logging.getLogger(__name__)

FIRST_WAIT = 1.0
"""Seconds before the second attempt, roughly; doubled before each further one."""
LONGEST_WAIT = 60.0
"""If a server asks to wait longer, the pair fails."""
QUEUEING = 0.25
"""The share of a call's time that it may wait for others at the server; more is a sign of overload."""
# What some servers and models refuse, and what they are sent instead; the words come in this order.
_INSTEAD: dict[str, dict[str, str]] = {
    "logprobs": {"logprobs": "", "top_logprobs": ""},
    "temperature": {"temperature": ""},
    "response_format": {"response_format": ""},
    "structured_outputs": {"structured_outputs": ""},
    "guided_choice": {"guided_choice": ""},
    "max_tokens": {"max_tokens": "max_completion_tokens"},
}

_OF_VLLM = ("structured_outputs", "guided_choice")
"""Settings of vLLM since 0.11 and before, each of which the other versions ignore; OpenAI refuses both."""

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
    choice: tuple[str, ...] = ()
    """The replies that the server shall let the model write; empty for any."""
    timeout_s: float = 60.0
    """Of one attempt, from the first byte sent to the last received."""
    attempts: int = 3
    concurrency: int = 256
    """The most calls under way at each server; how many there are, its answers decide."""

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
        if self.choice:
            parameters |= {"structured_outputs": {"choice": [*self.choice]}, "guided_choice": [*self.choice]}
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


class ChatClient:
    """Keeps its connections from call to call. `close` ends them; so does forgetting the client."""

    def __init__(self, connection: Connection | None, call: ChatOptions) -> None:
        """Raises GraderUnavailable where the library or the connection is missing."""
        if connection is None or not connection.base_urls:
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
        self._loop = asyncio.new_event_loop()
        replicas = [_replica(url, connection, call, openai) for url in connection.base_urls]
        self._replicas = Replicas(replicas, self._loop.time)
        thread = threading.Thread(target=self._loop.run_forever, name="model-server-calls", daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _shut, self._loop, thread, self._replicas)

    @property
    def most_calls(self) -> int:
        """Under way at once, at all servers together."""
        return self.call.concurrency * len(self._replicas)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run on the client's loop; cancelling the future cancels the call."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def ask(self, messages: Sequence[Message]) -> Completion:
        """Wait for one reply. Raises CallFailed."""
        return self.submit(self.complete(messages)).result()

    async def complete(self, messages: Sequence[Message], shared: str = "") -> Completion:
        """Ask one of the replicas: the same, if it can, for all calls with the same `shared` beginning.

        Raises CallFailed. Only on the client's loop.
        """
        if (kept := self._kept(messages)) is not None:
            return kept
        for attempt in range(1, self.call.attempts + 1):
            try:
                reply = await self._send(messages, shared)
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
        replies = self.connection.replies
        kept = replies.get(self._request(messages)) if replies else None
        return None if kept is None else completion_of(kept)

    def _keep(self, messages: Sequence[Message], reply: Any) -> None:
        if self.connection.replies:
            self.connection.replies.put(self._request(messages), reply.to_dict(mode="json", warnings=False))

    def _request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """What is asked, also where this server is sent less because it refuses a setting."""
        return {"messages": chat(messages), **self.call.parameters()}

    async def _send(self, messages: Sequence[Message], shared: str) -> Any:
        """Send; if the server refuses a setting, send again without it. Such refusals cost nothing."""
        while True:
            async with self._replicas.place(shared) as replica:
                try:
                    return await self._attempt(replica, messages)
                except _Failed as failed:
                    refused = refused_name(failed.problem)
                    if not refused or refused in replica.refused:
                        raise
                    logger.info("%s refuses %s", self.connection.host, refused)
                    replica.refused.add(refused)

    async def _attempt(self, replica: Replica, messages: Sequence[Message]) -> Any:
        started = self._loop.time()
        try:
            reply = await self._call(replica, messages)
        except _Failed as failed:
            replica.note_failure(failed.problem, started, self._loop.time(), LONGEST_WAIT)
            raise
        replica.limit.note_reply(started, self._loop.time())
        return reply

    async def _call(self, replica: Replica, messages: Sequence[Message]) -> Any:
        import openai

        parameters = without(self.call.parameters(), replica.refused)
        extra = {name: parameters.pop(name) for name in _OF_VLLM if name in parameters}
        try:
            async with asyncio.timeout(self.call.timeout_s):
                return await replica.api.chat.completions.create(
                    messages=chat(messages), **parameters, extra_body=extra or None
                )
        except TimeoutError:
            raise _Failed(NO_REPLY_IN_TIME) from None
        except openai.APIError as error:
            problem = problem_of(error, datetime.now(UTC))
        except ValueError:
            problem = Problem(ErrorClass.SERVER, "the server's reply is no JSON")
        raise _Failed(self._cleaned(problem))

    def _cleaned(self, problem: Problem) -> Problem:
        return replace(problem, reason=self.connection.without_key(problem.reason))

    def _wait(self, problem: Problem, attempt: int) -> float | None:
        """Seconds before the next attempt, or None if none would help."""
        if not problem.is_passing or (problem.wait or 0) > LONGEST_WAIT:
            return None
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 - it keeps calls apart, and hides nothing
        if problem.wait is None:
            return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * jitter)
        return problem.wait + 0.1 * FIRST_WAIT * jitter

    def _count(self, reply: Any) -> None:
        """Add what the server counts; a reply without a message is paid for, too."""
        usage = getattr(reply, "usage", None)
        self.used.prompt += getattr(usage, "prompt_tokens", None) or 0
        self.used.completion += getattr(usage, "completion_tokens", None) or 0


def without(parameters: Mapping[str, Any], refused_names: Iterable[str]) -> dict[str, Any]:
    """The parameters of a call as a server takes them that refused those with these names."""
    taken = dict(parameters)
    for refused in refused_names:
        for name, instead in _INSTEAD[refused].items():
            if name in taken:
                value = taken.pop(name)
                taken |= {instead: value} if instead else {}
    return taken


def refused_name(problem: Problem) -> str:
    """The setting that a server refuses and can be asked without; empty if there is none."""
    return next((name for name in _INSTEAD if name in problem.refuses), "")


def chat(messages: Sequence[Message]) -> Any:
    return [{"role": role, "content": text} for role, text in messages]


def completion_of(reply: Mapping[str, Any]) -> Completion:
    """A chat completion in JSON. Raises CallFailed where it holds no message."""
    from openai.types.chat import ChatCompletion

    try:
        return _read(ChatCompletion.construct(**reply))
    except _Failed as failed:
        raise CallFailed(failed.problem, 1) from None


def _read(reply: Any) -> Completion:
    """Return the first choice; a reply without one is the server's fault. Raises _Failed."""
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


def _replica(url: str, connection: Connection, call: ChatOptions, library: Any) -> Replica:
    import httpx

    from grading.graders.transport import transport

    pool = httpx.Limits(max_connections=call.concurrency, max_keepalive_connections=call.concurrency)
    api = library.AsyncOpenAI(
        api_key=connection.api_key or "none",  # servers of one's own often want no key; the library wants one
        base_url=url,
        max_retries=0,
        timeout=None,
        http_client=library.DefaultAsyncHttpxClient(transport=transport(), limits=pool, timeout=None),
    )
    return Replica(url, api, ConcurrencyLimit(call.concurrency, QUEUEING * call.timeout_s))


def _shut(loop: asyncio.AbstractEventLoop, thread: threading.Thread, replicas: Replicas) -> None:
    async def end() -> None:
        await replicas.close()
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)
    if threading.current_thread() is not thread:
        thread.join(timeout=5)
        if not thread.is_alive():
            loop.close()
