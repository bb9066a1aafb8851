"""Which of several servers is sent a call, and when."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, cast

from grading.graders.connection import Address, CallProblem
from grading.graders.server_calls import AWAY_SECONDS, ConcurrencyLimit, Replica, Replicas
from grading.types import ErrorClass
from tests.event_loops import run

GONE = CallProblem(ErrorClass.UNAVAILABLE, "the server cannot be reached", is_passing=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def servers(n: int, *, most: int = 8) -> list[Replica]:
    no_api = cast("Any", None)  # nothing is sent here
    return [
        Replica(Address.of(f"http://gpu{number}/v1"), no_api, ConcurrencyLimit(most, 1.0))
        for number in range(n)
    ]


async def placed(replicas: Replicas, keys: Sequence[str], stack: AsyncExitStack) -> list[Replica]:
    return [await stack.enter_async_context(replicas.place(key)) for key in keys]


def test_calls_with_the_same_beginning_go_to_the_same_replica() -> None:
    async def places() -> list[list[str]]:
        replicas = Replicas(servers(3), Clock())
        rounds = []
        for _ in range(2):
            urls = []
            for key in map(str, range(60)):
                async with replicas.place(key) as replica:
                    urls.append(replica.address.url)
            rounds.append(urls)
        return rounds

    first, second = run(places())
    assert first == second
    assert all(count >= 10 for count in Counter(first).values())
    assert len(set(first)) == 3


def test_a_replica_has_no_more_than_its_share() -> None:
    async def under_way() -> list[int]:
        rows = servers(4, most=100)
        replicas = Replicas(rows, Clock())
        async with AsyncExitStack() as stack:
            await placed(replicas, ["the same passage"] * 24, stack)
            return sorted(one.under_way for one in rows)

    counts = run(under_way())
    assert sum(counts) == 24
    assert counts[-1] <= 8


def test_a_replica_that_cannot_be_reached_is_left_alone_for_a_while() -> None:
    async def places() -> tuple[set[str], set[str]]:
        clock, rows = Clock(), servers(2)
        replicas = Replicas(rows, clock)
        rows[0].note_failure(GONE, 0.0, 0.0, 60.0)
        async with AsyncExitStack() as stack:
            before = {one.address.url for one in await placed(replicas, list("abcdefgh"), stack)}
        clock.now = AWAY_SECONDS
        async with AsyncExitStack() as stack:
            after = {one.address.url for one in await placed(replicas, list("abcdefgh"), stack)}
        return before, after

    before, after = run(places())
    assert before == {"http://gpu1/v1"}
    assert len(after) == 2


def test_the_only_replica_is_asked_again_at_once() -> None:
    async def place() -> str:
        [only] = rows = servers(1)
        only.note_failure(GONE, 0.0, 0.0, 60.0)
        async with Replicas(rows, Clock()).place("key") as replica:
            return replica.address.url

    assert run(asyncio.wait_for(place(), 10)) == "http://gpu0/v1"


def test_who_is_asked_to_wait_leaves_the_calls_to_the_others() -> None:
    async def place() -> set[str]:
        rows = servers(2)
        rows[1].note_failure(CallProblem(ErrorClass.RATE, "slow down", True, wait=5.0), 0.0, 0.0, 60.0)
        async with AsyncExitStack() as stack:
            return {one.address.url for one in await placed(Replicas(rows, Clock()), list("abcdefgh"), stack)}

    assert run(place()) == {"http://gpu0/v1"}


def test_whoever_waits_gets_a_place_in_turn_and_one_that_gives_up_passes_it_on() -> None:
    served: list[str] = []

    async def call(replicas: Replicas, name: str) -> None:
        async with replicas.place(name):
            served.append(name)

    async def calls_at_once() -> None:
        replicas = Replicas(servers(1, most=1), Clock())
        async with replicas.place("first"):
            calls = [asyncio.create_task(call(replicas, name)) for name in ("second", "third", "fourth")]
            await asyncio.sleep(0)
        calls[0].cancel()  # it was woken, and does not take the place
        await asyncio.gather(*calls, return_exceptions=True)

    run(asyncio.wait_for(calls_at_once(), 10))
    assert served == ["third", "fourth"]
