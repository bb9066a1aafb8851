"""The causal grader on a real, tiny GPT-2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grading import prompts
from grading.errors import GraderUnavailable
from grading.graders import JSON, GraderSpec
from grading.graders.registry import build
from grading.parsing import parse_rating
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, Outcome, Passage

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from grading.graders import completions, hf_causal  # noqa: E402
from grading.graders.backend_options import CausalOptions  # noqa: E402
from grading.graders.hf_batches import EncodedPrompt  # noqa: E402
from grading.graders.hf_causal import CausalGrader  # noqa: E402
from tests.grading import tiny_gpt2  # noqa: E402

pytestmark = pytest.mark.models

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}" + TEMPLATE


@pytest.fixture
def tiny(tiny_gpt2_folder: Path) -> Path:
    return tiny_gpt2_folder


def grader(tiny: Path, prompt_class: str = tiny_gpt2.RATE, **options: JSON) -> CausalGrader:
    made = build(
        GraderSpec("hf_causal", str(tiny), prompt_class, {"dtype": "float32", "device": "cpu", **options})
    )
    assert isinstance(made, CausalGrader)
    return made


def by_passage(outcomes: Iterator[Grade | GradeFailure]) -> dict[str, Grade]:
    graded = {}
    for outcome in outcomes:
        assert isinstance(outcome, Grade), outcome
        assert outcome.passage_id not in graded
        graded[outcome.passage_id] = outcome
    return graded


def greedy(made: CausalGrader, prompt: str) -> str:
    """What plain generation says, one prompt at a time."""
    loaded = made._loaded
    encoded = loaded.tokenizer([prompt], return_tensors="pt")
    generated = loaded.model.generate(**encoded, max_new_tokens=20, do_sample=False, pad_token_id=0)
    return str(
        loaded.tokenizer.decode(generated[0, encoded["input_ids"].shape[1] :], skip_special_tokens=True)
    )


def said(passage_id: str) -> str:
    return tiny_gpt2.REPLIES[passage_id.partition("-")[0]]


def test_rates_as_the_model_was_taught(tiny: Path) -> None:
    graded = by_passage(grader(tiny).grade(tiny_gpt2.pairs()))
    assert graded.keys() == {pair.passage.passage_id for pair in tiny_gpt2.pairs()}
    for pair in tiny_gpt2.pairs():
        grade = graded[pair.passage.passage_id]
        assert (grade.rating, grade.outcome) == parse_rating(said(grade.passage_id))
        assert grade.trace is not None
        assert grade.trace.prompt == prompts.get(tiny_gpt2.RATE).render(pair)
    assert {grade.rating for grade in graded.values() if grade.confidence is not None} == set(range(6))


def test_the_first_steps_say_what_greedy_generation_says(tiny: Path) -> None:
    made = grader(tiny)
    for grade in by_passage(made.grade(tiny_gpt2.pairs())).values():
        assert grade.trace is not None
        whole = greedy(made, grade.trace.prompt)
        if grade.confidence is None:
            assert grade.trace.reply == whole
        else:
            assert grade.trace.reply == whole.strip(" ").split("\n", 1)[0]


def test_a_rating_on_a_line_of_its_own_counts(tiny: Path) -> None:
    graded = by_passage(grader(tiny).grade(tiny_gpt2.pairs()))
    for name, rating in (("Jetty-1", 4), ("Kayak-1", 2)):
        assert graded[name].rating == rating
        assert graded[name].confidence is not None


def test_constrained_every_pair_has_a_rating_and_nothing_is_generated(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = by_passage(grader(tiny).grade(tiny_gpt2.pairs()))
    made = grader(tiny, constrained=True)

    def refused(self: Any, asked: list[EncodedPrompt]) -> list[str]:
        assert not asked, "nothing is to be generated"
        return []

    monkeypatch.setattr(CausalGrader, "_replies", refused)
    graded = by_passage(made.grade(tiny_gpt2.pairs()))
    assert {grade.outcome for grade in graded.values()} == {Outcome.NUMERIC}
    assert made.spec.fingerprint != grader(tiny).spec.fingerprint
    decided = {name: grade for name, grade in free.items() if grade.confidence is not None}
    assert {grade.rating for grade in decided.values()} == set(range(6))
    for name, grade in decided.items():
        assert graded[name].rating == grade.rating


def test_a_reply_that_only_begins_with_a_digit_is_no_rating(tiny: Path) -> None:
    graded = by_passage(grader(tiny).grade(tiny_gpt2.pairs()))
    outcomes = {grade.outcome for name, grade in graded.items() if name.startswith("Heron")}
    assert outcomes == {Outcome.DEFAULTED}


def test_confidence_is_the_share_among_the_digits(tiny: Path) -> None:
    made = grader(tiny)
    [pair] = [pair for pair in tiny_gpt2.pairs() if pair.passage.passage_id == "Ember-2"]
    [grade] = made.grade([pair])
    loaded = made._loaded
    encoded = loaded.tokenizer([prompts.get(tiny_gpt2.RATE).render(pair)], return_tensors="pt")
    with torch.inference_mode():
        shares = loaded.model(**encoded).logits[0, -1].softmax(0)
    weights = []
    for digit in "012345":
        ways = {tuple(loaded.tokenizer(lead + digit)["input_ids"]) for lead in ("", " ")}
        weights.append(sum(float(shares[way[0]]) for way in ways if len(way) == 1))
    assert isinstance(grade, Grade)
    assert grade.confidence == pytest.approx(weights[4] / sum(weights), abs=1e-4)
    mean = sum(digit * weight for digit, weight in enumerate(weights)) / sum(weights)
    assert grade.expectation == pytest.approx(mean, abs=1e-3)


@pytest.mark.parametrize("prompt_class", [tiny_gpt2.RATE, tiny_gpt2.EXTRACT])
def test_padding_and_shared_beginnings_change_nothing(tiny: Path, prompt_class: str) -> None:
    pairs = tiny_gpt2.pairs()
    together = by_passage(grader(tiny, prompt_class).grade(pairs))
    alone = by_passage(grader(tiny, prompt_class, batch_tokens=1).grade(pairs))
    unsure = {"confidence": None, "expectation": None}
    for name, grade in together.items():
        assert alone[name].confidence == pytest.approx(grade.confidence, abs=1e-4)
        assert replace(alone[name], **unsure) == replace(grade, **unsure)


def test_a_shared_beginning_is_computed_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = grader(tiny)
    sizes = []
    step = hf_causal.Continuation._step

    def spy(self: Any, ids: Any, *args: Any, **kwargs: Any) -> Any:
        sizes.append(tuple(ids.shape))
        return step(self, ids, *args, **kwargs)

    monkeypatch.setattr(hf_causal.Continuation, "_step", spy)
    pairs = [pair for pair in tiny_gpt2.pairs() if not pair.passage.passage_id.startswith(("Heron", "Inlet"))]
    by_passage(made.grade(pairs))
    (one, shared), (rows, rest) = sizes[:2]
    prompt = len(made._tokens([prompts.get(tiny_gpt2.RATE).render(pairs[-1])])[0])
    assert one == 1
    assert rows > 1
    assert shared + rest == prompt
    assert shared > rest


def test_batches_keep_to_what_is_shared_where_that_saves_most(tiny: Path) -> None:
    made = grader(tiny, batch_tokens=600)
    [pair] = tiny_gpt2.pairs()[:1]
    passages = [[passage] * (100 + passage % 3) for passage in range(4)]
    asked = [
        EncodedPrompt(pair, "", [*passage, question], None) for question in range(5) for passage in passages
    ]
    planned = list(made._batches(asked))
    assert [len({one.tokens[0] for one in batch}) for batch in planned] == [1] * 4
    by_length = [EncodedPrompt(pair, "", [n, *[7] * (30 + 10 * (n % 7))], None) for n in range(40)]
    widths = [len(one.tokens) for batch in made._batches(by_length) for one in batch]
    assert widths == sorted(widths, reverse=True)


def test_extracts_text(tiny: Path) -> None:
    for name, grade in by_passage(grader(tiny, tiny_gpt2.EXTRACT).grade(tiny_gpt2.pairs())).items():
        assert (grade.rating, grade.outcome) == (None, Outcome.EXTRACTED)
        assert grade.answer == tiny_gpt2.ANSWERS[name.partition("-")[0]]


def test_a_long_passage_is_cut_to_what_the_model_reads(tiny: Path) -> None:
    sentence = "The river is long and wide. "
    pair = tiny_gpt2.pairs()[0]
    long = CellToGrade(pair.item, Passage("long", "Ember. " + sentence * 200), pair.topic)
    made = grader(tiny, max_new_tokens=12)
    [grade] = made.grade([long])
    assert grade.trace is not None
    kept = grade.trace.context_chars
    assert kept is not None
    assert long.passage.text[:kept].endswith(" wide.")
    rendered = prompts.get(tiny_gpt2.RATE).render
    assert grade.trace.prompt == rendered(long, long.passage.text[:kept])
    tokens = [
        len(made._tokens([rendered(long, long.passage.text[:end])])[0])
        for end in (kept, kept + len(sentence))
    ]
    assert tokens[0] <= tiny_gpt2.POSITIONS - 12 < tokens[1]


def test_a_prompt_that_leaves_no_room_for_the_passage_fails(tiny: Path) -> None:
    [failure] = grader(tiny, max_input_tokens=16).grade(tiny_gpt2.pairs()[:1])
    assert isinstance(failure, GradeFailure)
    assert failure.error_class is ErrorClass.CONTEXT


def test_a_reply_longer_than_the_model_reads_is_refused(tiny: Path) -> None:
    with pytest.raises(
        GraderUnavailable, match="max_new_tokens must be less than the 512 that the model reads"
    ):
        grader(tiny, max_new_tokens=512)


@pytest.mark.parametrize("template", [TEMPLATE, NO_SYSTEM])
def test_a_chat_template_is_used(tiny: Path, monkeypatch: pytest.MonkeyPatch, template: str) -> None:
    monkeypatch.setattr(grader(tiny)._loaded.tokenizer, "chat_template", template)
    made = grader(tiny, max_new_tokens=8)
    pair = tiny_gpt2.pairs()[4]
    [grade] = made.grade([pair])
    assert grade.trace is not None
    assert grade.trace.prompt == f"<user>{prompts.get(tiny_gpt2.RATE).render(pair)}<assistant>"


def test_a_template_that_refuses_a_system_message_gets_it_with_the_users(tiny: Path) -> None:
    tokenizer = grader(tiny)._loaded.tokenizer
    messages = [("system", "Be brief."), ("user", "Why?")]
    assert completions.chat_template(tokenizer) is None
    for template, expected in (
        (TEMPLATE, "<system>Be brief.<user>Why?<assistant>"),
        (NO_SYSTEM, "<user>Be brief.\n\nWhy?<assistant>"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizer, "chat_template", template)
            write = completions.chat_template(tokenizer)
            assert write is not None
            assert write(messages) == expected


def test_a_model_with_a_sliding_window_is_branched_from_a_copy(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.cache_utils import DynamicLayer

    class OtherLayer(DynamicLayer):
        def crop(self, *args: Any) -> None:
            raise RuntimeError("no way back")

    made = grader(tiny)
    expected = by_passage(made.grade(tiny_gpt2.pairs()))
    step = hf_causal.Continuation._step

    def other(self: Any, *args: Any, **kwargs: Any) -> Any:
        logits, cache = step(self, *args, **kwargs)
        for layer in cache.layers:
            layer.__class__ = OtherLayer
        return logits, cache

    monkeypatch.setattr(hf_causal.Continuation, "_step", other)
    assert by_passage(made.grade(tiny_gpt2.pairs())) == expected


def test_max_input_tokens_can_only_be_less_than_what_the_model_reads(tiny: Path) -> None:
    loaded = grader(tiny)._loaded
    for wanted, expected in ((0, 448), (100, 100), (4096, 448)):
        options = CausalOptions(max_input_tokens=wanted)
        assert hf_causal._max_input(loaded, options) == expected
