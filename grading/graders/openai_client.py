"""Calls an OpenAI-compatible server (OpenAI, vLLM, any other) with retries and limits.

Calls run on an event loop in a thread of its own, so that many wait together, and a cancelled one is dropped
at once: the server sees the connection close and can stop. A call is retried if another attempt may succeed;
a reply that arrived is never requested again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import threading
import weakref
from collections.abc import Collection, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from grading.errors import GraderUnavailable
from grading.graders import completions
from grading.graders.backend_options import AS_IT_IS, Thinking
from grading.graders.completions import Message
from grading.graders.connection import NO_REPLY_IN_TIME, Address, CallProblem, Connection, problem_of, without
from grading.graders.replies import ExpectedReply, NoReply, Reply, TokensUsed
from grading.graders.server_calls import ConcurrencyLimit, Replica, Replicas
from grading.types import ErrorClass

logger = logging.getLogger(__name__)

FIRST_WAIT = 1.0
"""Seconds before the second attempt, roughly; doubled before each further one."""
LONGEST_WAIT = 60.0
"""If a server asks to wait longer, the pair fails."""
QUEUEING = 0.25
"""The share of a call's time that it may wait for others at the server; more is a sign of overload."""
T = TypeVar("T")


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
    thinking: Thinking = AS_IT_IS
    timeout_s: float = 60.0
    """Seconds of one attempt, from the first byte sent to the last received."""
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
            # Of vLLM since 0.11, of vLLM before, of llama.cpp: each ignores the others, OpenAI refuses all.
            parameters |= {"structured_outputs": {"choice": [*self.choice]}, "guided_choice": [*self.choice]}
            parameters["grammar"] = f"root ::= {' | '.join(map(json.dumps, self.choice))}"
        return parameters | self.thinking.parameters()

    def longer(self, tokens: int) -> ChatOptions:
        """Return the parameters of a call whose reply may be so much longer."""
        return replace(self, max_new_tokens=self.max_new_tokens + tokens) if tokens else self

    @property
    def expected(self) -> ExpectedReply:
        """Return what is known of the replies."""
        return ExpectedReply(self.max_new_tokens, thinks=self.thinking.is_on)


@dataclass(frozen=True, slots=True)
class _Request:
    messages: Sequence[Message]
    call: ChatOptions

    def body(self, refused: Collection[str] = ()) -> dict[str, Any]:
        """Return what is asked, without the settings that a server refuses."""
        parameters = self.call.parameters()
        return {"messages": chat(self.messages), **(without(parameters, refused) if refused else parameters)}


class ChatClient:
    """Keeps its connections from call to call. `close` ends them; so does forgetting the client."""

    def __init__(self, connection: Connection | None, call: ChatOptions) -> None:
        """Open the client. Raises GraderUnavailable where the library or the connection is missing."""
        if connection is None or not connection.addresses:
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
        for address in () if connection.replies else connection.addresses:
            address.check()  # where replies are kept, no server may be needed
        self.connection, self.call, self.used = connection, call, TokensUsed()
        replicas = [_replica(address, connection, call, openai) for address in connection.addresses]
        self._loop = asyncio.new_event_loop()
        self._replicas = Replicas(replicas, self._loop.time)
        thread = threading.Thread(target=self._loop.run_forever, name="model-server-calls", daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _shut, self._loop, thread, self._replicas)

    @property
    def most_calls(self) -> int:
        """Return the most calls under way at once, at all servers together."""
        return self.call.concurrency * len(self._replicas)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run on the client's loop; cancelling the future cancels the call."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def ask(self, messages: Sequence[Message]) -> Reply:
        """Wait for one reply. Raises NoReply."""
        return self.submit(self.complete(messages)).result()

    async def complete(
        self, messages: Sequence[Message], shared: str = "", call: ChatOptions | None = None
    ) -> Reply:
        """Ask one of the replicas: the same, if it can, for all calls with the same `shared` beginning.

        `call` has the parameters where they are not those of every call. Raises NoReply. Only on the client's
        loop.
        """
        request = _Request(messages, call or self.call)
        if (kept := self._kept(request)) is not None:
            return kept
        for attempt in range(1, self.call.attempts + 1):
            try:
                return await self._send(request, shared)
            except NoReply as error:
                problem, raw = error.problem, error.raw
            wait = self._wait(problem, attempt)
            if wait is None or attempt == self.call.attempts:
                break
            logger.info("asking again in %.1f s: %s", wait, problem.error_class)
            await asyncio.sleep(wait)
        raise NoReply(problem, raw=raw, attempts=attempt)

    def _kept(self, request: _Request) -> Reply | None:
        """Return the reply that was kept of the same request; it costs nothing. Raises NoReply.

        What is no reply of the model's is asked for again.
        """
        kept = self.connection.replies.get(request.body()) if self.connection.replies else None
        try:
            return None if kept is None else completions.read(kept, request.call.expected)
        except NoReply as error:
            if not error.is_of_model:
                return None
            raise NoReply(self.connection.cleaned(error.problem), raw=error.raw) from None

    async def _send(self, request: _Request, shared: str) -> Reply:
        """Send; if the server refuses a setting, send again without it. Such refusals cost nothing."""
        while True:
            async with self._replicas.place(shared) as replica:
                try:
                    return await self._attempt(replica, request)
                except NoReply as error:
                    refused = error.problem.refuses
                    if not refused or refused in replica.refused:
                        raise
                    logger.info("%s refuses %s", self.connection.host, refused)
                    replica.refused.add(refused)

    async def _attempt(self, replica: Replica, request: _Request) -> Reply:
        started = self._loop.time()
        try:
            reply = await self._call(replica, request)
        except NoReply as error:
            problem = self._explained(error.problem, replica)
            replica.note_failure(problem, started, self._loop.time(), LONGEST_WAIT)
            if error.is_of_model:
                replica.limit.note_reply(started, self._loop.time())
            raise NoReply(problem, raw=error.raw) from None
        replica.limit.note_reply(started, self._loop.time())
        return reply

    async def _call(self, replica: Replica, request: _Request) -> Reply:
        """Raise NoReply. What came and is paid for is counted and kept, though it be no answer."""
        import httpx
        import openai

        body = request.body(replica.refused)
        try:
            async with asyncio.timeout(self.call.timeout_s):
                response = await replica.api.post("/chat/completions", cast_to=httpx.Response, body=body)
        except TimeoutError:
            raise NoReply(NO_REPLY_IN_TIME) from None
        except openai.APIError as error:
            raise NoReply(problem_of(error, datetime.now(UTC))) from error
        except (ValueError, httpx.InvalidURL) as error:
            reason = f"the request cannot be sent ({type(error).__name__})"
            raise NoReply(CallProblem(ErrorClass.OTHER, reason)) from error
        content = completions.parse(response.content)
        self.used += completions.used(content)
        try:
            reply = completions.read(content, request.call.expected)
        except NoReply as error:
            if error.is_of_model:
                self._keep(request, content)
            raise
        self._keep(request, content)
        return reply

    def _keep(self, request: _Request, content: Any) -> None:  # Any: JSON of a server
        if self.connection.replies and isinstance(content, dict):
            self.connection.replies.put(request.body(), content)

    def _explained(self, problem: CallProblem, replica: Replica) -> CallProblem:
        """Return the problem without secrets, with a hint where the address may be wrong."""
        problem = self.connection.cleaned(problem)
        is_elsewhere = problem.error_class is ErrorClass.UNAVAILABLE and not problem.is_passing
        advice = replica.address.advice if is_elsewhere else ""
        return replace(problem, reason=f"{problem.reason}; {advice}") if advice else problem

    def _wait(self, problem: CallProblem, attempt: int) -> float | None:
        """Return the seconds before the next attempt, or None if none would help."""
        if not problem.is_passing or (problem.wait or 0) > LONGEST_WAIT:
            return None
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 - it keeps calls apart, and hides nothing
        if problem.wait is None:
            return float(min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1)) * jitter)
        return problem.wait + 0.1 * FIRST_WAIT * jitter


def chat(messages: Sequence[Message]) -> Any:
    return [{"role": role, "content": text} for role, text in messages]


def _replica(address: Address, connection: Connection, call: ChatOptions, library: Any) -> Replica:
    """Return the replica at an address.

    Raises GraderUnavailable where the environment's proxy cannot be used.
    """
    import httpx

    from grading.graders.server_calls import transport

    pool = httpx.Limits(max_connections=call.concurrency, max_keepalive_connections=call.concurrency)
    try:
        http_client = library.DefaultAsyncHttpxClient(transport=transport(), limits=pool, timeout=None)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise GraderUnavailable(f"the proxy that the environment names cannot be used: {error}") from error
    api = library.AsyncOpenAI(**connection.settings(address), timeout=None, http_client=http_client)
    return Replica(address, api, ConcurrencyLimit(call.concurrency, QUEUEING * call.timeout_s))


def _shut(loop: asyncio.AbstractEventLoop, thread: threading.Thread, replicas: Replicas) -> None:
    async def end() -> None:
        await replicas.close()
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)
    if threading.current_thread() is not thread:
        thread.join(timeout=5)
        if not thread.is_alive():
            loop.close()
