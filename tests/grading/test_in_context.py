"""Prompts that rate a passage in the context of its answer."""

import pytest

from grading import prompts
from grading.errors import BadPrompt
from grading.graders.openai_compatible import _shorter
from grading.in_context import INSTRUCTION, InContext, longest_seen, parts_of, prompt_in_context, seen_of
from grading.types import CellToGrade, Item, ItemKind, Passage, Purpose, Topic

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


def test_only_the_instruction_differs_and_the_model_sees_what_to_rate():
    prompt = prompts.get(RATING)
    own = prompt_in_context(prompt)
    assert own.prompt_class == f"{RATING}InContext"
    assert (own.rule, own.scale, own.min_grade) == (prompt.rule, prompt.scale, prompt.min_grade)
    passage = InContext("Helpers suffer, too.", "Exercise relieves it.")
    item = Item("q1", "t1", ItemKind.QUESTION, "What relieves stress?")
    cell = CellToGrade(item, Passage("d1", passage.whole), Topic("t1", "stress"))
    text = own.render(cell)
    assert text.startswith(INSTRUCTION)
    assert text.removeprefix(f"{INSTRUCTION}\n\n") == prompt.render(cell).strip()
    assert "[Earlier in the answer] Helpers suffer, too.\n[To rate] Exercise relieves it." in text
    assert parts_of(passage.whole) == passage
    assert parts_of(passage.text) is None
    assert prompts.from_options(own.prompt_class, prompts.as_options(own)).prompt_id == own.prompt_id


@pytest.mark.parametrize("prompt", prompts.published(), ids=lambda prompt: prompt.prompt_class)
def test_every_published_prompt_that_rates_one_item_has_its_twin(prompt):
    try:
        own = prompt_in_context(prompt)
    except BadPrompt:
        is_stance = prompt.prompt_class.startswith("NuggetStance")  # own prompts have no "contradicts"
        has_no_words = prompt.prompt_class == "LexicalBaseline"
        assert prompt.purpose is not Purpose.RATE or prompt.items_a_call > 1 or is_stance or has_no_words
    else:
        assert (own.kinds, own.scale, own.min_grade) == (prompt.kinds, prompt.scale, prompt.min_grade)


RAIN = InContext("It rains often. The wind blows hard.", "Take one with you. It is by the door.")


@pytest.mark.parametrize(
    ("most", "before"),
    [
        (200, "[Earlier in the answer] It rains often. The wind blows hard.\n"),
        (len(RAIN.whole) - 1, "[Earlier in the answer] The wind blows hard.\n"),
        (85, "[Earlier in the answer] blows hard.\n"),
        (60, ""),
    ],
)
def test_what_comes_before_is_cut_and_never_what_is_to_be_rated(most, before):
    seen = longest_seen(RAIN.whole, lambda text: len(text) <= most)
    assert seen == f"{before}[To rate] {RAIN.text}"
    assert seen_of(RAIN.whole, len(seen)) == seen, "screens show it by its length"


def test_a_part_to_rate_that_does_not_fit_fails():
    assert longest_seen(RAIN.whole, lambda text: len(text) <= 40) == ""


def test_a_passage_alone_is_cut_at_its_end():
    text = "It rains often. The wind blows hard."
    assert longest_seen(text, lambda start: len(start) <= 20) == "It rains often."
    assert seen_of(text, 15) == "It rains often."


def test_a_server_is_asked_with_less_before_and_all_to_rate():
    item = Item("t/1", ItemKind.QUESTION, "Does it rain?")
    pair = CellToGrade(item, Passage("d", RAIN.whole), Topic("t", "rain"))
    reason = "maximum context length is 100 tokens, but the prompt has 150 tokens"
    context, seen = None, []
    for _ in range(4):
        context = _shorter(pair, context, 400, reason)
        seen.append(context)
    assert all(not text or text.endswith(f"[To rate] {RAIN.text}") for text in seen)
    assert f"[To rate] {RAIN.text}" in seen, "all that comes before goes before it fails"
