"""The real openai client against a real server around a tiny GPT-2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("openai")

from grading import prompts
from grading.graders import JSON, GraderSpec
from grading.graders.connection import Connection
from grading.graders.openai_compatible import ServerGrader
from grading.graders.registry import build
from grading.parsing import parse_rating
from grading.types import CellToGrade, Grade, Passage
from tests.grading import tiny_gpt2
from tests.grading.servers.causal import serving_model
from tests.grading.servers.http import Server

pytestmark = pytest.mark.models


@pytest.fixture
def server(tiny_gpt2_folder: Path) -> Iterator[Server]:
    with serving_model(tiny_gpt2_folder) as running:
        yield running


@pytest.fixture
def made(server: Server) -> Iterator[list[ServerGrader]]:
    """Graders that are closed afterwards."""
    graders: list[ServerGrader] = []
    yield graders
    for grader in graders:
        grader.close()


def grader(
    server: Server, made: list[ServerGrader], prompt_class: str = tiny_gpt2.RATE, **options: JSON
) -> ServerGrader:
    spec = GraderSpec("openai_compatible", "tiny", prompt_class, {"max_new_tokens": 12, **options})
    built = build(spec, Connection(server.url, "secret-key"))
    assert isinstance(built, ServerGrader)
    made.append(built)
    return built


def graded(built: ServerGrader, pairs: list[CellToGrade]) -> dict[str, Grade]:
    outcomes = list(built.grade(pairs))
    by_passage = {grade.passage_id: grade for grade in outcomes if isinstance(grade, Grade)}
    assert len(by_passage) == len(outcomes) == len(pairs)
    return by_passage


def test_rates_with_confidence_as_the_model_here_does(
    server: Server, made: list[ServerGrader], tiny_gpt2_folder: Path
) -> None:
    here = build(
        GraderSpec("hf_causal", str(tiny_gpt2_folder), tiny_gpt2.RATE, {"device": "cpu", "dtype": "float32"})
    )
    expected = {
        grade.passage_id: grade for grade in here.grade(tiny_gpt2.pairs()) if isinstance(grade, Grade)
    }
    grades = graded(grader(server, made), tiny_gpt2.pairs())
    sure = 0
    for name, grade in grades.items():
        reply = tiny_gpt2.REPLIES[name.partition("-")[0]]
        assert (grade.rating, grade.outcome) == parse_rating(reply)
        assert grade.trace is not None
        assert grade.trace.reply == reply
        if reply in "012345":
            assert grade.confidence == pytest.approx(expected[name].confidence, abs=0.01)
            assert grade.expectation == pytest.approx(expected[name].expectation, abs=0.05)
            sure += 1
    assert sure == 30


def test_every_prompt_is_asked_once_and_its_tokens_are_counted(
    server: Server, made: list[ServerGrader]
) -> None:
    built = grader(server, made)
    graded(built, tiny_gpt2.pairs())
    rendered = [prompts.get(tiny_gpt2.RATE).render(pair) for pair in tiny_gpt2.pairs()]
    assert sorted(server.prompts()) == sorted(rendered)
    assert {body["model"] for body in server.asked} == {"tiny"}
    assert {body["temperature"] for body in server.asked} == {0}
    assert set(server.keys) == {"Bearer secret-key"}
    assert built.tokens_used.prompt > 100 * len(rendered)
    assert built.tokens_used.completion > len(rendered)


def test_prompts_with_a_shared_beginning_follow_each_other(server: Server, made: list[ServerGrader]) -> None:
    graded(grader(server, made, concurrency=1), tiny_gpt2.pairs())
    assert server.prompts() == sorted(server.prompts())
    assert server.most_at_once == 1


def test_extracts_text_without_logprobs(server: Server, made: list[ServerGrader]) -> None:
    for name, grade in graded(grader(server, made, tiny_gpt2.EXTRACT), tiny_gpt2.pairs()).items():
        assert grade.answer == tiny_gpt2.ANSWERS[name.partition("-")[0]]
    assert not any("logprobs" in body for body in server.asked)


def test_a_passage_too_long_for_the_server_is_cut_between_sentences(
    server: Server, made: list[ServerGrader]
) -> None:
    pair = tiny_gpt2.pairs()[0]
    long = CellToGrade(
        pair.item, Passage("long", "Ember. " + "The river is long and wide. " * 100), pair.topic
    )
    [grade] = graded(grader(server, made), [long]).values()
    assert grade.trace is not None
    kept = grade.trace.context_chars
    assert kept is not None
    assert long.passage.text[:kept].endswith(" wide.")
    assert grade.trace.prompt == prompts.get(tiny_gpt2.RATE).render(long, long.passage.text[:kept])
    assert server.statuses.count(200) == 1
    assert 1 <= server.statuses.count(400) <= 4


def test_stopping_asks_no_more(server: Server, made: list[ServerGrader]) -> None:
    outcomes = grader(server, made, concurrency=2).grade(tiny_gpt2.pairs())
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]
    assert len(server.asked) <= 3
