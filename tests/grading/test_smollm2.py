"""Grades and drafts of a real language model: a very small one, whose ratings mean little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading import prompts
from grading.generation import DraftTask, models as writers
from grading.graders import JSON, GraderSpec
from grading.graders.connection import Connection
from grading.graders.hf_batches import EncodedPrompt
from grading.graders.hf_causal import CausalGrader
from grading.graders.registry import build
from grading.parsing import parse_rating
from grading.types import (
    CellToGrade,
    ErrorClass,
    Grade,
    GradeFailure,
    Item,
    ItemKind,
    Outcome,
    Passage,
    Topic,
)
from tests.grading.servers.transformers_serve import served

pytestmark = pytest.mark.models

TOPIC = Topic("t1", "why do leaves change colour in autumn")
QUESTION = Item("t1/aa", ItemKind.QUESTION, "Why does chlorophyll break down in autumn?")
NUGGET = Item("t1/bb", ItemKind.NUGGET, "carotenoids turn leaves yellow")
QUERY = Item("direct", ItemKind.DIRECT, TOPIC.text)
PASSAGES = (
    Passage("p1", "As days grow shorter and cooler, trees stop making chlorophyll, and carotenoids show."),
    Passage("p2", "A sourdough starter is a culture of flour and water that is fed every day."),
)
RATE = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def pairs(item: Item) -> list[CellToGrade]:
    return [CellToGrade(item, passage, TOPIC) for passage in PASSAGES]


def outcomes(folder: Path, prompt_class: str, item: Item, **options: JSON) -> list[Grade | GradeFailure]:
    settings: dict[str, JSON] = {"dtype": "float32", "device": "cpu", "max_new_tokens": 12, **options}
    made = build(GraderSpec("hf_causal", str(folder), prompt_class, settings))
    return sorted(made.grade(pairs(item)), key=lambda outcome: outcome.passage_id)


def grades(folder: Path, prompt_class: str, item: Item, **options: JSON) -> list[Grade]:
    results = outcomes(folder, prompt_class, item, **options)
    assert [result.passage_id for result in results] == ["p1", "p2"]
    assert all(isinstance(result, Grade) for result in results), results
    return [result for result in results if isinstance(result, Grade)]


def test_a_rating_behind_a_lead_in_is_read_from_the_first_steps(
    smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: CausalGrader, asked: list[EncodedPrompt]) -> list[str]:
        assert not asked, "nothing is to be generated"
        return []

    monkeypatch.setattr(CausalGrader, "_replies", refused)
    for grade in grades(smollm2_folder, RATE, QUESTION):
        assert grade.trace is not None
        assert "<|im_start|>assistant" in grade.trace.prompt
        assert re.fullmatch("- [0-5]: The", grade.trace.reply)
        assert (grade.rating, grade.outcome) == parse_rating(grade.trace.reply)
        assert grade.outcome is Outcome.NUMERIC
        assert grade.confidence is not None


def test_constrained_it_says_the_same_rating(smollm2_folder: Path) -> None:
    free = grades(smollm2_folder, RATE, QUESTION)
    constrained = grades(smollm2_folder, RATE, QUESTION, constrained=True)
    assert [grade.rating for grade in constrained] == [grade.rating for grade in free]
    assert [grade.confidence for grade in constrained] == pytest.approx(
        [grade.confidence for grade in free], abs=1e-4
    )


def test_it_extracts_an_answer(smollm2_folder: Path) -> None:
    for grade in grades(smollm2_folder, EXTRACT, QUESTION):
        assert (grade.rating, grade.outcome) == (None, Outcome.EXTRACTED)
        assert grade.answer.strip()
        assert grade.trace is not None
        assert "<|im_end|>" not in grade.answer


@pytest.mark.parametrize(
    ("prompt_class", "item", "scale"),
    [("NuggetSelfRatedPrompt", NUGGET, (0, 5)), ("Thomas", QUERY, (0, 2)), ("FagB", QUERY, (0, 1))],
)
def test_it_rates_nuggets_and_labels_passages(
    smollm2_folder: Path, prompt_class: str, item: Item, scale: tuple[int, int]
) -> None:
    for grade in grades(smollm2_folder, prompt_class, item, constrained=True):
        assert grade.rating in range(scale[0], scale[1] + 1)
        assert grade.outcome is Outcome.NUMERIC


def test_a_label_is_stated_or_the_grade_has_failed(smollm2_folder: Path) -> None:
    for result in outcomes(smollm2_folder, "FagB", QUERY):
        assert result.trace is not None
        assert result.trace.reply
        assert isinstance(result, Grade) or result.error_class is ErrorClass.PARSE


def test_it_is_asked_a_prompt_of_ones_own(smollm2_folder: Path) -> None:
    own = prompts.from_template(
        "OwnPrompt",
        "Rate from 0 to 3 how well the passage answers.\nQuestion: {question}\nPassage: {context}\nRating:",
        kinds=[ItemKind.QUESTION],
        scale=(0, 3),
    )
    options: dict[str, JSON] = {"prompt": prompts.as_options(own), "constrained": True}
    for grade in grades(smollm2_folder, "OwnPrompt", QUESTION, **options):
        assert grade.rating in range(4)
        assert grade.trace is not None
        assert "Rate from 0 to 3" in grade.trace.prompt


def test_it_drafts(smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "LONGEST_REPLY", 24)
    request = DraftTask(TOPIC, ItemKind.QUESTION)
    text = writers.text_model("hf_causal", str(smollm2_folder)).complete(request.messages)
    assert text.strip()
    assert request.messages[0][1] not in text


@pytest.fixture(scope="module")
def base_url(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(smollm2_folder, tmp_path_factory.mktemp("serve") / "serve.log") as url:
        yield url


def test_served_it_rates_through_the_openai_client(base_url: str, smollm2_folder: Path) -> None:
    options: dict[str, JSON] = {"max_new_tokens": 8, "concurrency": 1, "attempts": 1, "timeout_s": 300.0}
    made = build(GraderSpec("openai_compatible", str(smollm2_folder), RATE, options), Connection(base_url))
    results = list(made.grade(pairs(QUESTION)[:1]))
    made.close()
    [grade] = results
    assert isinstance(grade, Grade), grade
    assert grade.trace is not None
    assert (grade.rating, grade.outcome) == parse_rating(grade.trace.reply)
    assert grade.outcome is Outcome.NUMERIC
