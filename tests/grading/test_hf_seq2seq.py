"""The sequence-to-sequence grader on a real, tiny T5."""

import logging
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grading import prompts
from grading.errors import GraderUnavailable
from grading.graders import JSON, GraderSpec
from grading.graders.hf_batches import CPU_TOKENS
from grading.graders.registry import build
from grading.parsing import parse_rating, parse_yes_no
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, ItemKind, Outcome, Passage

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from grading.graders import hf_batches  # noqa: E402
from grading.graders.hf_encoders import Seq2SeqGrader  # noqa: E402
from tests.grading import tiny_t5  # noqa: E402

pytestmark = pytest.mark.models

RATE = "QuestionSelfRatedUnanswerablePromptWithChoices"
RATE_NUGGET = "NuggetSelfRatedPrompt"
EXTRACT = "QuestionCompleteConciseUnanswerablePromptWithChoices"
DIGITS = {word: reply for word, reply in tiny_t5.REPLIES.items() if reply.isdigit()}


@pytest.fixture
def tiny(tiny_t5_folder: Path) -> Path:
    return tiny_t5_folder


def grader(tiny: Path, prompt_class: str = RATE, **options: JSON) -> Seq2SeqGrader:
    made = build(
        GraderSpec("hf_seq2seq", str(tiny), prompt_class, {"dtype": "float32", "device": "cpu", **options})
    )
    assert isinstance(made, Seq2SeqGrader)
    return made


def by_passage(outcomes: Iterator[Grade | GradeFailure]) -> dict[str, Grade]:
    graded = {}
    for outcome in outcomes:
        assert isinstance(outcome, Grade), outcome
        assert outcome.passage_id not in graded
        graded[outcome.passage_id] = outcome
    return graded


def reply_to(passage_id: str) -> str:
    return tiny_t5.REPLIES[passage_id.partition("-")[0]]


def greedy(made: Seq2SeqGrader, pair: CellToGrade) -> str:
    """What plain generation says, one prompt at a time."""
    loaded = made._loaded
    encoded = loaded.tokenizer([prompts.get(made.spec.prompt_class).render(pair)], return_tensors="pt")
    generated = loaded.model.generate(**encoded, max_new_tokens=20, num_beams=1, do_sample=False)
    return str(loaded.tokenizer.batch_decode(generated, skip_special_tokens=True)[0])


@pytest.mark.parametrize(
    ("prompt_class", "kind"), [(RATE, ItemKind.QUESTION), (RATE_NUGGET, ItemKind.NUGGET)]
)
def test_rates_as_the_model_was_taught(tiny: Path, prompt_class: str, kind: ItemKind) -> None:
    pairs = tiny_t5.pairs(kind)
    graded = by_passage(grader(tiny, prompt_class).grade(pairs))
    assert graded.keys() == {pair.passage.passage_id for pair in pairs}
    for pair in pairs:
        grade = graded[pair.passage.passage_id]
        reply = reply_to(pair.passage.passage_id)
        assert (grade.rating, grade.outcome) == parse_rating(reply)
        assert grade.trace is not None
        assert (grade.trace.reply, grade.trace.context_chars) == (reply, None)
        assert grade.trace.prompt == prompts.get(prompt_class).render(pair)
        assert (grade.confidence is not None) == reply.isdigit()


def test_yes_and_no_come_from_the_first_step_too(tiny: Path) -> None:
    made = grader(tiny, "FagB")
    pairs = tiny_t5.pairs(ItemKind.DIRECT)
    answerable = [pair for pair in pairs if greedy(made, pair) in {"Yes", "No"}]
    graded = by_passage(made.grade(answerable))
    for pair in answerable:
        grade = graded[pair.passage.passage_id]
        reply = greedy(made, pair)
        assert grade.trace is not None
        assert grade.trace.reply == reply
        assert (grade.rating, grade.outcome) == parse_yes_no(reply)
        assert grade.confidence is not None
    others = [outcome for outcome in made.grade(pairs) if isinstance(outcome, GradeFailure)]
    assert {failure.trace.reply for failure in others if failure.trace} == {"Maybe"}
    assert {grade.rating for grade in graded.values() if grade.confidence is not None} == {0, 1}


def test_the_first_step_says_what_greedy_generation_says(tiny: Path) -> None:
    made = grader(tiny)
    graded = by_passage(made.grade(tiny_t5.pairs()))
    for pair in tiny_t5.pairs():
        grade = graded[pair.passage.passage_id]
        assert grade.trace is not None
        assert grade.trace.reply == greedy(made, pair)
    from_first_step = {grade.rating for grade in graded.values() if grade.confidence is not None}
    assert from_first_step == {0, 1, 2, 3, 4, 5}


def test_a_reply_that_only_begins_with_a_digit_is_no_rating(tiny: Path) -> None:
    graded = by_passage(grader(tiny).grade(tiny_t5.pairs()))
    assert {grade.outcome for name, grade in graded.items() if name.startswith("Heron")} == {
        Outcome.DEFAULTED
    }


def test_confidence_is_the_share_among_the_digits(tiny: Path) -> None:
    made = grader(tiny)
    [pair] = [pair for pair in tiny_t5.pairs() if pair.passage.passage_id == "Ember-2"]
    [grade] = made.grade([pair])
    loaded = made._loaded
    encoded = loaded.tokenizer([prompts.get(RATE).render(pair)], return_tensors="pt")
    shares = []
    for digit in "012345":
        tokens = loaded.tokenizer(digit, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            logits = loaded.model(**encoded, decoder_input_ids=torch.tensor([[0, *tokens[:-1]]])).logits[0]
        steps = logits.log_softmax(dim=1)
        shares.append(sum(steps[i, token] for i, token in enumerate(tokens)).exp().item())
    assert isinstance(grade, Grade)
    assert grade.confidence == pytest.approx(shares[4] / sum(shares), abs=1e-5)
    mean = sum(digit * share for digit, share in enumerate(shares)) / sum(shares)
    assert grade.expectation == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("prompt_class", [RATE, EXTRACT])
def test_batches_change_nothing(tiny: Path, prompt_class: str) -> None:
    pairs = tiny_t5.pairs()
    together = by_passage(grader(tiny, prompt_class).grade(pairs))
    alone = by_passage(grader(tiny, prompt_class, batch_tokens=1).grade(pairs))
    for name, grade in together.items():
        assert alone[name].confidence == pytest.approx(grade.confidence, abs=1e-5)
        assert alone[name].expectation == pytest.approx(grade.expectation, abs=1e-5)
        unsure = {"confidence": None, "expectation": None}
        assert replace(alone[name], **unsure) == replace(grade, **unsure)


def test_extracts_text(tiny: Path) -> None:
    for name, grade in by_passage(grader(tiny, EXTRACT).grade(tiny_t5.pairs())).items():
        assert (grade.rating, grade.outcome) == (None, Outcome.EXTRACTED)
        assert grade.answer == tiny_t5.ANSWERS[name.partition("-")[0]]


def test_a_reply_without_a_rating_fails_on_request(tiny: Path) -> None:
    outcomes = {
        outcome.passage_id: outcome for outcome in grader(tiny, on_unparsable="fail").grade(tiny_t5.pairs())
    }
    failed = {
        name.partition("-")[0] for name, outcome in outcomes.items() if isinstance(outcome, GradeFailure)
    }
    assert failed == {"Heron", "Inlet"}
    failure = outcomes["Inlet-0"]
    assert isinstance(failure, GradeFailure)
    assert failure.reason == "the reply holds no rating from 0 to 5"
    assert failure.error_class is ErrorClass.PARSE
    assert failure.trace is not None
    assert failure.trace.reply == "The Beatles"


def test_a_long_passage_is_cut_between_sentences_and_the_question_kept(tiny: Path) -> None:
    sentence = "The river is long and wide. "
    pair = tiny_t5.pairs()[0]
    long = CellToGrade(pair.item, Passage("long", "Ember. " + sentence * 50), pair.topic)
    made = grader(tiny, max_input_tokens=128)
    [grade] = made.grade([long])
    assert grade.trace is not None
    kept = grade.trace.context_chars
    assert kept is not None
    assert long.passage.text[:kept].endswith(" wide.")
    assert grade.trace.prompt == prompts.get(RATE).render(long, long.passage.text[:kept])
    assert f"Question: {pair.item.text}\n" in grade.trace.prompt
    longer = prompts.get(RATE).render(long, long.passage.text[: kept + len(sentence)])
    assert len(made._tokens([grade.trace.prompt])[0]) <= 128 < len(made._tokens([longer])[0])


def test_a_prompt_that_leaves_no_room_for_the_passage_fails(tiny: Path) -> None:
    [failure] = grader(tiny, max_input_tokens=16).grade(tiny_t5.pairs()[:1])
    assert isinstance(failure, GradeFailure)
    assert failure.reason == "the prompt without the passage is longer than 16 tokens"
    assert failure.error_class is ErrorClass.CONTEXT


def test_a_nugget_fails_a_question_prompt(tiny: Path) -> None:
    [failure] = grader(tiny).grade(tiny_t5.pairs(ItemKind.NUGGET)[:1])
    assert isinstance(failure, GradeFailure)
    assert failure.reason == f"{RATE} is worded for a question, not for a nugget item"


def test_stopping_after_the_first_batch_runs_the_model_for_one_more_at_most(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = grader(tiny, batch_tokens=400)
    sizes = _spied_batches(made, monkeypatch)
    taken = []

    def pairs() -> Iterator[CellToGrade]:
        for pair in tiny_t5.pairs():
            taken.append(pair)
            yield pair

    monkeypatch.setattr(hf_batches, "WINDOW", 20)
    grades = made.grade(pairs())
    for _ in range(3):
        next(grades)
    grades.close()
    assert len(sizes) <= 2
    assert len(taken) == 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


def test_the_next_batch_is_graded_while_nobody_asks_for_it(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = grader(tiny, batch_tokens=400)
    run, second, readers = made._run, threading.Event(), set()
    sizes: list[int] = []

    def spy(batch: Any) -> list[Grade | GradeFailure]:
        sizes.append(len(batch))
        if len(sizes) == 2:
            second.set()
        return run(batch)

    def pairs() -> Iterator[CellToGrade]:
        for pair in tiny_t5.pairs():
            readers.add(threading.current_thread())
            yield pair

    monkeypatch.setattr(made, "_run", spy)
    grades = made.grade(pairs())
    taken = [next(grades)]
    assert second.wait(60)
    assert len([*taken, *grades]) == len(tiny_t5.pairs())
    assert readers == {threading.current_thread()}, "a database connection belongs to its thread"


def test_a_batch_that_fails_is_halved_until_only_the_bad_pair_fails(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = grader(tiny)
    run = made._run

    def brittle(batch: Any) -> list[Grade | GradeFailure]:
        if any(prompt.pair.passage.passage_id == "Delta-1" for prompt in batch):
            raise torch.OutOfMemoryError("no room")
        return run(batch)

    monkeypatch.setattr(made, "_run", brittle)
    with caplog.at_level(logging.WARNING):
        outcomes = list(made.grade(tiny_t5.pairs()))
    [failure] = [outcome for outcome in outcomes if isinstance(outcome, GradeFailure)]
    assert (failure.passage_id, failure.reason) == ("Delta-1", "OutOfMemoryError: no room")
    assert failure.error_class is ErrorClass.MEMORY
    assert len(outcomes) == len(tiny_t5.pairs())
    assert made._size.tokens < CPU_TOKENS, "batches stay smaller"
    assert "pair of item q1/aa failed: OutOfMemoryError" in caplog.text


def test_the_model_is_loaded_once(tiny: Path) -> None:
    first, second = grader(tiny), grader(tiny, EXTRACT, max_new_tokens=5)
    assert first._loaded is second._loaded
    assert first.device == "cpu (float32)"
    assert grader(tiny, dtype="bfloat16")._loaded is not first._loaded


def test_a_closed_grader_gives_its_model_back(tiny: Path) -> None:
    first, second = grader(tiny), grader(tiny)
    model = weakref.ref(first._loaded.model)
    first.close()
    assert model() is not None, "the other grader uses it"
    second.close()
    assert model() is None


def test_half_precision_rates_the_same(tiny: Path) -> None:
    graded = by_passage(grader(tiny, dtype="bfloat16").grade(tiny_t5.pairs()))
    right = [grade.rating == parse_rating(reply_to(name)).rating for name, grade in graded.items()]
    assert sum(right) >= 0.9 * len(right)


def test_missing_weights_are_said_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(GraderUnavailable, match=r"nowhere could not be loaded .*hf download"):
        build(GraderSpec("hf_seq2seq", str(tmp_path / "nowhere"), RATE, {"device": "cpu"}))


def test_without_a_network_a_model_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(llm: str, timeout: float) -> None:
        assert timeout <= 5
        raise OSError("the hub cannot be reached")

    monkeypatch.setattr("huggingface_hub.model_info", away)
    with pytest.raises(GraderUnavailable, match=r"not be loaded \(the hub cannot be reached\)"):
        build(GraderSpec("hf_seq2seq", "oak/none", RATE, {"device": "cpu"}))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"batch_size": 3},
            "has no option batch_size; it takes batch_tokens, constrained, device",
        ),
        ({"dtype": "int4"}, "option dtype must be one of auto, float32"),
        ({"on_unparsable": "ignore"}, "option on_unparsable must be one of default, fail"),
        ({"max_input_tokens": "512"}, "option max_input_tokens must be a whole number of at least 16"),
        ({"max_new_tokens": 0}, "option max_new_tokens must be a whole number of at least 1"),
        ({"batch_tokens": True}, "option batch_tokens must be a whole number of at least 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, JSON], problem: str) -> None:
    with pytest.raises(GraderUnavailable, match=problem):
        build(GraderSpec("hf_seq2seq", "nowhere", RATE, options))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_cuda_device_is_said() -> None:
    with pytest.raises(GraderUnavailable, match="no CUDA device"):
        build(GraderSpec("hf_seq2seq", "nowhere", RATE, {"device": "cuda"}))


def _spied_batches(made: Seq2SeqGrader, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sizes: list[int] = []
    run = made._run

    def spy(batch: Any) -> list[Grade | GradeFailure]:
        sizes.append(len(batch))
        return run(batch)

    monkeypatch.setattr(made, "_run", spy)
    return sizes
