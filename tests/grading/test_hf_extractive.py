"""The extractive grader on a real, tiny BERT."""

from __future__ import annotations

from pathlib import Path

import pytest

from grading.errors import GraderUnavailable, UnknownPrompt
from grading.graders import JSON, GraderSpec
from grading.graders.registry import build
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Outcome

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from grading.graders.hf_encoders import ExtractiveGrader  # noqa: E402
from tests.grading import tiny_bert_qa, tiny_t5  # noqa: E402

pytestmark = pytest.mark.models

EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"
CHECKED = "QuestionCompleteConcisePromptWithAnswerKey2"


@pytest.fixture
def tiny(tiny_bert_qa_folder: Path) -> Path:
    return tiny_bert_qa_folder


def grader(tiny: Path, prompt_class: str = EXTRACT, **options: JSON) -> ExtractiveGrader:
    made = build(
        GraderSpec("hf_extractive", str(tiny), prompt_class, {"dtype": "float32", "device": "cpu", **options})
    )
    assert isinstance(made, ExtractiveGrader)
    return made


def graded(made: ExtractiveGrader, pairs: list[CellToGrade]) -> dict[str, Grade]:
    by_passage = {}
    for outcome in made.grade(pairs):
        assert isinstance(outcome, Grade), outcome
        by_passage[outcome.passage_id] = outcome
    assert len(by_passage) == len(pairs)
    return by_passage


def test_finds_the_answer_or_says_that_there_is_none(tiny: Path) -> None:
    pairs = [
        tiny_bert_qa.pair(str(n), passage) for n, passage in enumerate(tiny_bert_qa.passages(seed=5, n=60))
    ]
    answers = graded(grader(tiny), pairs)
    seen = set()
    for pair in pairs:
        grade = answers[pair.passage.passage_id]
        has_it = tiny_bert_qa.SENTENCE in pair.passage.text
        expected = (tiny_bert_qa.ANSWER, Outcome.EXTRACTED) if has_it else ("", Outcome.UNANSWERABLE)
        assert (grade.answer, grade.outcome) == expected
        assert grade.rating is None
        assert grade.confidence is not None
        assert 0.5 <= grade.confidence <= 1
        assert grade.trace is not None
        assert grade.trace.prompt == f"{tiny_bert_qa.QUESTION}\n{pair.passage.text}"
        seen.add(has_it)
    assert seen == {True, False}


@pytest.fixture
def tiny_t5_qa(tiny_t5_qa_folder: Path) -> Path:
    return tiny_t5_qa_folder


def test_a_t5_says_on_cls_that_there_is_no_answer(tiny_t5_qa: Path) -> None:
    made = grader(tiny_t5_qa)
    pairs = [
        tiny_bert_qa.pair(str(n), passage) for n, passage in enumerate(tiny_bert_qa.passages(seed=5, n=40))
    ]
    answers = graded(made, pairs)
    for pair in pairs:
        grade = answers[pair.passage.passage_id]
        has_it = tiny_bert_qa.SENTENCE in pair.passage.text
        expected = (tiny_bert_qa.ANSWER, Outcome.EXTRACTED) if has_it else ("", Outcome.UNANSWERABLE)
        assert (grade.answer, grade.outcome) == expected
        assert grade.trace is not None
        assert grade.trace.prompt == f"<cls>{tiny_bert_qa.QUESTION}\n{pair.passage.text}"


def test_no_answer_of_a_t5_is_scored_on_cls(tiny_t5_qa: Path) -> None:
    made = grader(tiny_t5_qa)
    [grade] = made.grade([tiny_bert_qa.pair("p", "It rains.")])
    loaded = made._loaded
    encoded = loaded.tokenizer(f"<cls>{tiny_bert_qa.QUESTION}", "It rains.", return_tensors="pt")
    with torch.inference_mode():
        output = loaded.model(input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"])
    start, end = output.start_logits[0], output.end_logits[0]
    at = encoded["input_ids"][0].tolist().index(loaded.tokenizer.cls_token_id)
    passage = [place for place, part in enumerate(encoded.sequence_ids(0)) if part == 1]
    best = max(float(start[i] + end[j]) for i in passage for j in passage if i <= j)
    margin = torch.tensor(float(start[at] + end[at]) - best)
    assert isinstance(grade, Grade)
    assert (grade.answer, grade.outcome) == ("", Outcome.UNANSWERABLE)
    assert grade.confidence == pytest.approx(margin.sigmoid().item(), abs=1e-5)


def test_scores_are_those_of_the_model(tiny: Path) -> None:
    made = grader(tiny)
    pair = tiny_bert_qa.pair("p", f"It rains. {tiny_bert_qa.SENTENCE}")
    [grade] = made.grade([pair])
    loaded = made._loaded
    encoded = loaded.tokenizer(tiny_bert_qa.QUESTION, pair.passage.text, return_tensors="pt")
    with torch.inference_mode():
        output = loaded.model(**encoded)
    start, end = output.start_logits[0], output.end_logits[0]
    parts = encoded.sequence_ids(0)
    best = max(
        float(start[i] + end[j])
        for i, part in enumerate(parts)
        for j in range(i, len(parts))
        if part == parts[j] == 1
    )
    margin = torch.tensor(best - float(start[0] + end[0]))
    assert margin > 0
    assert isinstance(grade, Grade)
    assert grade.confidence == pytest.approx(margin.sigmoid().item(), abs=1e-5)


def test_a_long_passage_is_read_in_windows(tiny: Path) -> None:
    filler = " ".join(tiny_bert_qa.OTHERS) + " "
    pairs = [
        tiny_bert_qa.pair("early", tiny_bert_qa.SENTENCE + " " + filler * 8),
        tiny_bert_qa.pair("middle", filler * 4 + tiny_bert_qa.SENTENCE + " " + filler * 4),
        tiny_bert_qa.pair("late", filler * 8 + tiny_bert_qa.SENTENCE),
        tiny_bert_qa.pair("nowhere", filler * 8),
    ]
    answers = graded(grader(tiny, window_tokens=48, overlap_tokens=12, batch_tokens=200), pairs)
    texts = {name: grade.answer for name, grade in answers.items()}
    assert texts == {**dict.fromkeys(("early", "middle", "late"), tiny_bert_qa.ANSWER), "nowhere": ""}


def test_batches_change_nothing(tiny: Path) -> None:
    pairs = [
        tiny_bert_qa.pair(str(n), passage) for n, passage in enumerate(tiny_bert_qa.passages(seed=5, n=60))
    ]
    together, alone = graded(grader(tiny), pairs), graded(grader(tiny, batch_tokens=1), pairs)
    for name, grade in together.items():
        assert alone[name].answer == grade.answer
        assert alone[name].confidence == pytest.approx(grade.confidence, abs=1e-5)


def test_answers_are_checked_against_the_key(tiny: Path) -> None:
    pairs = [
        tiny_bert_qa.pair("right", tiny_bert_qa.SENTENCE, ("wide and long", "Long and wide")),
        tiny_bert_qa.pair("wrong", tiny_bert_qa.SENTENCE, ("shallow",)),
        tiny_bert_qa.pair("none", "It rains.", ("long and wide",)),
    ]
    answers = graded(grader(tiny, CHECKED), pairs)
    assert {name: grade.rating for name, grade in answers.items()} == {"right": 1, "wrong": 0, "none": 0}
    assert answers["none"].outcome is Outcome.UNANSWERABLE
    assert answers["right"].answer == tiny_bert_qa.ANSWER


def test_a_bias_makes_it_say_more_often_that_there_is_none(tiny: Path) -> None:
    pair = tiny_bert_qa.pair("p", tiny_bert_qa.SENTENCE)
    [grade] = grader(tiny, no_answer_bias=1000.0).grade([pair])
    assert isinstance(grade, Grade)
    assert (grade.answer, grade.outcome) == ("", Outcome.UNANSWERABLE)


def test_an_empty_passage_has_no_answer(tiny: Path) -> None:
    [grade] = grader(tiny).grade([tiny_bert_qa.pair("p", "")])
    assert isinstance(grade, Grade)
    assert grade.outcome is Outcome.UNANSWERABLE


def test_only_questions_are_asked(tiny: Path) -> None:
    [failure] = grader(tiny).grade(tiny_t5.pairs(ItemKind.NUGGET)[:1])
    assert isinstance(failure, GradeFailure)
    with pytest.raises(UnknownPrompt, match="hf_extractive does not ask NuggetExtractionPrompt"):
        grader(tiny, "NuggetExtractionPrompt")


def test_a_question_that_leaves_no_room_fails(tiny: Path) -> None:
    [failure] = grader(tiny, window_tokens=32, overlap_tokens=30).grade([tiny_bert_qa.pair("p", "It rains.")])
    assert isinstance(failure, GradeFailure)
    assert failure.error_class is ErrorClass.CONTEXT
    assert failure.reason == "the question leaves no room in a window of 32 tokens"


def test_wrong_options_are_refused(tiny: Path) -> None:
    with pytest.raises(
        GraderUnavailable, match="option max_answer_tokens must be a whole number of at least 1"
    ):
        grader(tiny, max_answer_tokens=0)
