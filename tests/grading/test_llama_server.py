"""Ratings by llama.cpp's `llama-server`: thinking apart, short slots, grammars, a model that loads."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")

from grading.graders import JSON, GraderSpec
from grading.graders.connection import Connection
from grading.graders.registry import build
from grading.types import Grade, Outcome
from tests.grading.servers.http import Server, serving
from tests.grading.servers.llama_server import LlamaServer
from tests.grading.servers.replies import pairs

RATE = "QuestionSelfRatedPromptWithReminder"


def rated(server: LlamaServer, text: str = "It ends in the sea.", **options: JSON) -> tuple[Grade, Server]:
    with serving(server) as served:
        built = build(GraderSpec("openai_compatible", "m", RATE, options), Connection(f"{served.url}"))
        (result,) = built.grade(pairs(1, text))
        built.close()
    assert isinstance(result, Grade), result
    return result, served


def test_thinking_beside_the_answer_is_no_rating() -> None:
    grade, _ = rated(LlamaServer(says="Rating: 2", thinking="A 5 would be too much."))
    assert (grade.rating, grade.outcome) == (2, Outcome.NUMERIC)
    assert grade.trace is not None
    assert "A 5 would be" in grade.trace.reply


def test_a_passage_that_fills_the_slot_is_cut_by_as_much_as_the_server_says() -> None:
    text = " ".join(f"Sentence {number} is here." for number in range(200))
    grade, served = rated(LlamaServer(slot_tokens=600), text)
    assert (grade.rating, served.statuses) == (4, [400, 200])
    assert grade.trace is not None
    assert 0.3 * len(text) < (grade.trace.context_chars or 0) < 0.8 * len(text)


def test_a_grammar_leaves_nothing_but_a_rating() -> None:
    grade, served = rated(LlamaServer(says="I think 3 fits"), constrained=True)
    assert (grade.rating, served.statuses) == (3, [200])
    assert grade.trace is not None
    assert grade.trace.reply == "3"


def test_a_grammar_leaves_the_lead_in_that_the_model_begins_with():
    grade, _ = rated(LlamaServer(says="- 3: The answer is partially relevant."), constrained=True)
    assert (grade.rating, grade.trace and grade.trace.reply) == (3, "- 3")


def test_a_build_that_reads_no_grammar_is_asked_without() -> None:
    grade, served = rated(LlamaServer(says="Rating: 3", has_grammar=False), constrained=True)
    assert (grade.rating, served.statuses) == (3, [400, 200])
    assert "grammar" not in served.asked[-1]


def test_a_model_that_is_still_loading_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grading.graders.openai_client.FIRST_WAIT", 0.01)
    grade, served = rated(LlamaServer(loading=1))
    assert (grade.rating, served.statuses) == (4, [503, 200])
