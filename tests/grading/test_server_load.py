"""Many calls at once, to one server or to several."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("openai")

from grading.graders import JSON, GraderSpec, server_calls
from grading.graders.connection import Connection
from grading.graders.registry import build
from grading.types import CellToGrade
from tests.grading.servers.http import Body, Reply, serving
from tests.grading.servers.replies import pairs, ratings, refuses, says

RATE = "QuestionSelfRatedPromptWithReminder"


def rated(urls: str, cells: list[CellToGrade], **options: JSON) -> list[int | None]:
    built = build(GraderSpec("openai_compatible", "m", RATE, options), Connection(urls))
    try:
        return ratings(iter(built.grade(cells)))
    finally:
        built.close()


def test_a_server_that_answers_gets_twice_as_many_calls_each_time() -> None:
    rounds = [threading.Barrier(n) for n in (8, 16, 32, 64, 128)]
    of_call = [barrier for barrier in rounds for _ in range(barrier.parties)]

    def script(_: Body, number: int) -> Reply:
        of_call[number].wait(60)  # until all of its round are here
        return says("4")

    with serving(script) as server:
        assert rated(server.url, pairs(len(of_call)), timeout_s=90.0) == [4] * len(of_call)
    assert server.most_at_once == 128


def test_calls_of_a_replica_that_is_gone_go_to_the_other() -> None:
    with serving(lambda *_: says("4")) as gone:
        pass
    with serving(lambda *_: says("4")) as server:
        assert rated(f"{gone.url}, {server.url}", pairs(40)) == [4] * 40
    assert len(server.asked) == 40


def test_both_replicas_are_asked_and_each_call_is_made_once() -> None:
    with serving(lambda *_: says("4")) as one, serving(lambda *_: says("4")) as other:
        connection = Connection(f"{one.url},{other.url}")
        assert rated(connection.base_url, pairs(40)) == [4] * 40
    assert sorted(one.prompts() + other.prompts()) == sorted(set(one.prompts() + other.prompts()))
    assert min(len(one.asked), len(other.asked)) >= 1
    assert connection.host.count("127.0.0.1:") == 2


def test_a_connection_is_used_again_and_no_more_are_opened_than_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = []
    make = server_calls._connection
    monkeypatch.setattr(server_calls, "_connection", lambda *rest: opened.append(1) or make(*rest))
    with serving(lambda _, number: refuses(500) if number == 7 else says("4")) as server:
        assert rated(server.url, pairs(30), concurrency=3) == [4] * 30
    assert len(server.asked) == 31
    assert 1 <= len(opened) <= 3


def test_an_environment_with_a_proxy_keeps_the_pool_that_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example.org:3128")
    assert server_calls.transport() is None
