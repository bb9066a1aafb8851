"""Ratings of a server that lets the model write nothing but a rating, and of servers that cannot."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("openai")

from grading.errors import GraderUnavailable
from grading.graders import JSON, GraderSpec
from grading.graders.connection import Connection
from grading.graders.registry import build
from grading.types import Grade, Outcome
from tests.grading.servers.http import Body, Reply, serving
from tests.grading.servers.replies import pairs, refuses, says

RATE = "QuestionSelfRatedPromptWithReminder"
DIGITS = ["0", "1", "2", "3", "4", "5"]


def first_step(**shares: float) -> dict[str, Any]:
    """Log-probabilities of a first token; `d4` is the token "4"."""
    top = [
        {"token": token.removeprefix("d"), "logprob": math.log(share), "bytes": None}
        for token, share in shares.items()
    ]
    return {"content": [{**top[0], "top_logprobs": top}]}


def rated(script: Any, **options: JSON) -> tuple[list[Grade], list[Body], list[int]]:
    with serving(script) as server:
        spec = GraderSpec("openai_compatible", "m", RATE, {"constrained": True, **options})
        built = build(spec, Connection(server.url))
        results = list(built.grade(pairs(3)))
        built.close()
    assert all(isinstance(result, Grade) for result in results), results
    return [result for result in results if isinstance(result, Grade)], server.asked, server.statuses


def test_the_choices_are_asked_for_as_vllm_and_llama_cpp_read_them() -> None:
    grades, asked, _ = rated(lambda *_: says("4", logprobs=first_step(d4=0.6, d5=0.2, The=0.2)))
    assert [grade.rating for grade in grades] == [4, 4, 4]
    assert [grade.confidence for grade in grades] == [0.75] * 3
    assert [grade.expectation for grade in grades] == [4.25] * 3
    for body in asked:
        assert body["structured_outputs"] == {"choice": body["guided_choice"]}
        assert body["guided_choice"][:6] == DIGITS
        assert {"- 3", "**3", "Rating: 3"} < set(body["guided_choice"])
        assert body["grammar"].startswith('root ::= "0" | "1" | "2" | "3" | "4" | "5" | "- 0" | ')
        assert body["top_logprobs"] == 10


def test_a_server_that_refuses_is_asked_without_and_its_log_probabilities_decide() -> None:
    def script(body: Body, _: int) -> Reply:
        for name in ("structured_outputs", "guided_choice", "grammar"):
            if name in body:
                return refuses(400, f"Unrecognized request argument supplied: {name}")
        return says("The passage says it.", logprobs=first_step(The=0.7, d2=0.1, d3=0.2))

    grades, asked, statuses = rated(script, concurrency=1)
    assert [grade.rating for grade in grades] == [3, 3, 3]
    assert statuses == [400, 400, 400, 200, 200, 200]
    assert "guided_choice" not in asked[-1]
    assert grades[0].trace is not None
    assert grades[0].trace.reply == "The passage says it."


def test_the_digit_after_a_lead_in_is_the_rating_not_the_likeliest_first_one() -> None:
    dash = first_step(**{"-": 0.6, "d1": 0.3, "d3": 0.1})
    digit = first_step(d3=0.8, d4=0.2)
    space = first_step(**{" ": 1.0})
    steps = {"content": [*dash["content"], *space["content"], *digit["content"]]}
    grades, _, _ = rated(lambda *_: says("- 3", logprobs=steps))
    assert [(grade.rating, grade.confidence) for grade in grades] == [(3, 0.8)] * 3


def test_where_nothing_says_a_probability_the_reply_is_read() -> None:
    grades, _, _ = rated(lambda *_: says("Rating: 2"))
    assert [(grade.rating, grade.outcome) for grade in grades] == [(2, Outcome.NUMERIC)] * 3


def test_unset_it_is_not_asked_for_and_the_config_stays_the_same() -> None:
    _, asked, _ = rated(lambda *_: says("4"), constrained=False)
    assert not any(
        name in body for body in asked for name in ("structured_outputs", "guided_choice", "grammar")
    )
    fingerprints = {
        GraderSpec("openai_compatible", "m", RATE, options).fingerprint
        for options in ({}, {"constrained": True})
    }
    assert "c11d259e" in {fingerprint[:8] for fingerprint in fingerprints}
    assert len(fingerprints) == 2


def test_it_is_not_for_json() -> None:
    spec = GraderSpec("openai_compatible", "m", RATE, {"constrained": True, "json_mode": True})
    with pytest.raises(GraderUnavailable, match="exclude each other"):
        build(spec, Connection("http://127.0.0.1:9/v1"))
