"""How many calls a client of model servers has under way, and to which server they go.

How many calls a server has under way: as many as it takes without refusing any or letting them queue.

Additive increase, multiplicative decrease (Chiu and Jain 1989, Computer Networks and ISDN Systems 17), with
the slow start of TCP (Jacobson 1988, SIGCOMM). A call that is refused as one too many (429, 503) or gets no
reply in time is a sign of overload, and so is a queue. Queueing time is measured as by CoDel (RFC 8289): a
round's is that of its fastest call, since single replies are slow for other reasons than a queue.

Servers of the same model, and which of them is sent a call.

Prompts with the same beginning go to the same replica, which then has it in its prefix cache: highest random
weight hashing (Thaler and Ravishankar 1998, IEEE/ACM Transactions on Networking 6), with a bound on how many
more calls than the others a replica may have (Mirrokni, Thorup and Zadimoghaddam 2018, SODA).

The HTTP connections of a client that has many calls under way.

The pool of httpcore 1.0 goes through all of its connections several times a call: with 256 of them a call
takes 15 ms of processor time. Here each connection is a pool of its own, and a call takes 3 ms.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import ssl
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.request import getproxies

import httpx

from grading.graders.connection import Address, CallProblem
from grading.types import ErrorClass

if TYPE_CHECKING:
    import openai


T = TypeVar("T")


def ahead(source: Generator[T], most: int = 1) -> Generator[T]:
    """Yield what `source` yields, which a thread takes from it: at most `most` elements too early.

    Whoever closes this waits for the element under way and closes `source`. Raises what `source` raises, when
    its turn comes.
    """
    end = object()
    waiting: deque[Future[T | object]] = deque()
    with closing(source), ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        try:
            waiting.extend(thread.submit(next, source, end) for _ in range(most))
            while (element := waiting.popleft().result()) is not end:
                waiting.append(thread.submit(next, source, end))
                yield element  # type: ignore[misc]  # what is not the end is an element
        finally:
            for future in waiting:
                future.cancel()


FIRST = 8
"""Calls under way before the server was seen to take more."""
DECREASE = 0.7
"""The share that is left of the limit after a sign of overload; as in CUBIC (RFC 9438)."""
FORGETTING = 1.05
"""After each round the fastest call so far counts as this much slower: servers can become slower for good."""


class ConcurrencyLimit:
    """Times are seconds of any clock that never goes back."""

    def __init__(self, most: int, longest_queueing: float) -> None:
        """Start with the limit `most`.

        `longest_queueing` in seconds: calls that wait longer at the server are a sign of overload.
        """
        self._most, self._longest_queueing = most, longest_queueing
        self._limit = float(min(FIRST, most))
        self._is_starting = True
        self._decreased_at = -math.inf
        self._fastest = math.inf
        self._round = self._previous = _Round(self.calls)

    @property
    def calls(self) -> int:
        """Return how many may be under way now; at least 1."""
        return int(self._limit)

    def note_start(self, under_way: int) -> None:
        """Note that a call starts; `under_way` are the calls with this one."""
        self._round.under_way = max(self._round.under_way, under_way)

    def note_reply(self, started: float, ended: float) -> None:
        self._round.replies += 1
        self._round.fastest = min(self._round.fastest, ended - started)
        # Fewer calls than half the limit do not show that the server takes more.
        if 2 * max(self._round.under_way, self._previous.under_way) >= self.calls:
            step = 1.0 if self._is_starting else 1.0 / self._limit
            self._limit = min(float(self._most), self._limit + step)
        if self._round.replies >= self._round.length and self._is_queueing():
            self.note_overload(started, ended)

    def note_overload(self, started: float, ended: float) -> None:
        """Lower the limit, unless the call began before the latest decrease."""
        if started < self._decreased_at:
            return
        self._limit = max(1.0, self._limit * DECREASE)
        self._is_starting, self._decreased_at = False, ended

    def _is_queueing(self) -> bool:
        """Return whether even the fastest call of the round that ends here had to wait too long."""
        queueing = self._round.fastest - self._fastest
        self._fastest = min(self._fastest * FORGETTING, self._round.fastest)
        self._previous, self._round = self._round, _Round(self.calls)
        return queueing > self._longest_queueing


@dataclass(slots=True)
class _Round:
    """A round of replies: as many as the limit allowed calls when it began."""

    length: int
    replies: int = 0
    fastest: float = math.inf
    under_way: int = 0
    """The most calls at once."""


SLACK = 0.25
"""A replica has at most this share more under way than the average, if others have room."""
AWAY_SECONDS = 10.0
"""A replica that cannot be reached is left alone so long, if there are others."""


@dataclass(eq=False, slots=True)
class Replica:
    """One server, and what it was found to require."""

    address: Address
    api: openai.AsyncOpenAI
    limit: ConcurrencyLimit
    under_way: int = 0
    refused: set[str] = field(default_factory=set)
    """Settings of a call that it does not take."""
    quiet_until: float = 0.0
    """On the loop's clock: a server that asks one call to wait means all of them."""
    away_until: float = 0.0

    def note_failure(self, problem: CallProblem, started: float, now: float, longest_wait: float) -> None:
        """Learn from a failed call.

        `longest_wait`: seconds; a longer wait than that is not waited for.
        """
        if problem.is_overload:
            self.limit.note_overload(started, now)
        if problem.is_passing and problem.wait is not None and problem.wait <= longest_wait:
            self.quiet_until = max(self.quiet_until, now + problem.wait)
        if problem.is_passing and problem.error_class is ErrorClass.UNAVAILABLE:
            self.away_until = now + AWAY_SECONDS

    def weight(self, key: str) -> bytes:
        """Return the order of replicas for a key, as every client computes it."""
        return hashlib.blake2b(f"{self.address.url}\0{key}".encode(), digest_size=8).digest()


class Replicas:
    """Used on one event loop only."""

    def __init__(self, replicas: Sequence[Replica], clock: Callable[[], float]) -> None:
        self._replicas, self._clock = tuple(replicas), clock
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._replicas)

    @asynccontextmanager
    async def place(self, key: str) -> AsyncIterator[Replica]:
        """Wait until a replica may have one more call under way; first come, first served."""
        replica = await self._taken(key)
        try:
            while (rest := replica.quiet_until - self._clock()) > 0:  # noqa: ASYNC110 - a time, not an event
                await asyncio.sleep(rest)
            yield replica
        finally:
            replica.under_way -= 1
            self._wake()

    async def close(self) -> None:
        for replica in self._replicas:
            await replica.api.close()

    async def _taken(self, key: str) -> Replica:
        while (replica := self._chosen(key)) is None:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            try:
                await waiting
            except asyncio.CancelledError:
                self._wake()  # the place may have been this one's
                raise
        replica.under_way += 1
        replica.limit.note_start(replica.under_way)
        return replica

    def _chosen(self, key: str) -> Replica | None:
        """Return the replica to call; None where all have as much under way as they take."""
        now = self._clock()
        ready = [each for each in self._replicas if max(each.quiet_until, each.away_until) <= now]
        among = ready or self._replicas
        free = [each for each in among if each.under_way < each.limit.calls]
        if len(free) < 2:
            return free[0] if free else None
        average = (sum(each.under_way for each in among) + 1) / len(among)
        most = math.ceil(average * (1 + SLACK))
        preferred = sorted(free, key=lambda each: each.weight(key), reverse=True)
        return next((each for each in preferred if each.under_way < most), None) or min(
            free, key=lambda each: each.under_way
        )

    def _wake(self) -> None:
        """Wake one waiter for each free place."""
        room = sum(max(0, each.limit.calls - each.under_way) for each in self._replicas)
        while self._waiting and room > 0:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                room -= 1


ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1)


class SeparateConnections(httpx.AsyncBaseTransport):
    """Each request takes a connection that is free, the one used last, or opens a new one.

    Whoever sends requests limits how many are under way; all are for the same server.
    """

    def __init__(self) -> None:
        self._certificates = httpx.create_ssl_context()
        self._free: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        connection = self._free.pop() if self._free else _connection(self._certificates)

        def give_back() -> None:
            self._free.append(connection)

        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            give_back()  # it has closed itself, and opens again
            raise
        response.stream = _Body(cast("httpx.AsyncByteStream", response.stream), give_back)
        return response

    async def aclose(self) -> None:
        while self._free:
            await self._free.pop().aclose()


class _Body(httpx.AsyncByteStream):
    """A response's body, after which its connection is free."""

    def __init__(self, body: httpx.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._body, self._give_back = body, give_back

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
        self._give_back()


def _connection(certificates: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=certificates, limits=ONE)


def transport() -> httpx.AsyncBaseTransport | None:
    """Return a transport, or None where the environment names a proxy: httpx reads that only for its own."""
    return None if getproxies() else SeparateConnections()
