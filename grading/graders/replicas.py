"""Servers of the same model, and which of them is sent a call.

Prompts with the same beginning go to the same replica, which then has it in its prefix cache: highest random
weight hashing (Thaler and Ravishankar 1998, IEEE/ACM Transactions on Networking 6), with a bound on how many
more calls than the others a replica may have (Mirrokni, Thorup and Zadimoghaddam 2018, SODA).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grading.graders.concurrency import ConcurrencyLimit
from grading.graders.connection import Address
from grading.graders.openai_errors import Problem
from grading.types import ErrorClass

if TYPE_CHECKING:
    import openai

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

    def note_failure(self, problem: Problem, started: float, now: float, longest_wait: float) -> None:
        """Learn from a failed call. `longest_wait`: seconds; who is asked to wait longer does not wait."""
        if problem.is_overload:
            self.limit.note_overload(started, now)
        if problem.is_passing and problem.wait is not None and problem.wait <= longest_wait:
            self.quiet_until = max(self.quiet_until, now + problem.wait)
        if problem.is_passing and problem.error_class is ErrorClass.UNAVAILABLE:
            self.away_until = now + AWAY_SECONDS

    def weight(self, key: str) -> bytes:
        """The order of replicas for a key, as every client computes it."""
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
        """None where all have as much under way as they take."""
        now = self._clock()
        ready = [one for one in self._replicas if max(one.quiet_until, one.away_until) <= now]
        among = ready or self._replicas
        free = [one for one in among if one.under_way < one.limit.calls]
        if len(free) < 2:
            return free[0] if free else None
        average = (sum(one.under_way for one in among) + 1) / len(among)
        most = math.ceil(average * (1 + SLACK))
        preferred = sorted(free, key=lambda one: one.weight(key), reverse=True)
        return next((one for one in preferred if one.under_way < most), None) or min(
            free, key=lambda one: one.under_way
        )

    def _wake(self) -> None:
        """As many of those who wait as there are places."""
        room = sum(max(0, one.limit.calls - one.under_way) for one in self._replicas)
        while self._waiting and room > 0:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                room -= 1
