"""Prompts that rate a passage in the context of its answer."""

import pytest

from grading import prompts
from grading.errors import BadPrompt
from grading.in_context import INSTRUCTION, InContext, parts_of, prompt_in_context
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
