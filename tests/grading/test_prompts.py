"""The words that models are asked with; the published ones letter for letter."""

from dataclasses import replace

import pytest

from grading import prompts
from grading.errors import UnknownPrompt
from grading.types import Item, ItemKind, Pair, Passage, Purpose, Topic

QUESTION = Item("q1/aa", ItemKind.QUESTION, "Who wrote {context} and {question}?")
NUGGET = Item("q1/bb", ItemKind.NUGGET, "Bill Haley")
PASSAGE = Passage("p1", "It says {question} and {0} {nugget} {query} {context}.")
TOPIC = Topic("q1", "rock n roll")


def test_question_self_rating_is_the_papers_text() -> None:
    prompt = prompts.get("QuestionSelfRatedUnanswerablePromptWithChoices")
    assert prompt.template == (
        "Can the question be answered based on the available context? choose one:\n"
        "- 5: The answer is highly relevant, complete, and accurate.\n"
        "- 4: The answer is mostly relevant and complete but may have minor gaps or inaccuracies.\n"
        "- 3: The answer is partially relevant and complete, with noticeable gaps or inaccuracies.\n"
        "- 2: The answer has limited relevance and completeness, with significant gaps or inaccuracies.\n"
        "- 1: The answer is minimally relevant or complete, with substantial shortcomings.\n"
        "- 0: The answer is not relevant or complete at all.\n"
        "Question: {question}\n"
        "Context: {context}"
    )
    assert (prompt.purpose, prompt.kinds, prompt.scale) == (Purpose.RATE, {ItemKind.QUESTION}, (0, 5))


def test_nugget_self_rating_is_the_papers_text() -> None:
    prompt = prompts.get("NuggetSelfRatedPrompt")
    assert prompt.template == (
        "Given the context, evaluate the coverage of the specified key fact (nugget). Use this scale:\n"
        "- 5: Detailed, clear coverage.\n"
        "- 4: Sufficient coverage, minor omissions.\n"
        "- 3: Mentioned, some inaccuracies or lacks detail.\n"
        "- 2: Briefly mentioned, significant omissions or inaccuracies.\n"
        "- 1: Minimally mentioned, largely inaccurate.\n"
        "- 0: Not mentioned at all.\n"
        "Key Fact: {nugget}\n"
        "Context: {context}"
    )
    assert (prompt.purpose, prompt.kinds, prompt.scale) == (Purpose.RATE, {ItemKind.NUGGET}, (0, 5))


def test_question_extraction_is_the_papers_text() -> None:
    prompt = prompts.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
    assert prompt.template == (
        "provide a complete and concise answer to the question based on the context.\n"
        "Question: {question}\n"
        "Context: {context}"
    )
    assert (prompt.purpose, prompt.kinds, prompt.scale) == (Purpose.EXTRACT, {ItemKind.QUESTION}, None)


def test_nugget_extraction_is_the_papers_text() -> None:
    prompt = prompts.get("NuggetExtractionPrompt")
    assert prompt.template == (
        "Extract the passage from the text that best relates to the key fact (nugget), "
        "ensuring relevance and clarity.\n"
        "Key Fact: {nugget}\n"
        "Context: {context}"
    )
    assert (prompt.purpose, prompt.kinds, prompt.scale) == (Purpose.EXTRACT, {ItemKind.NUGGET}, None)


def test_rendering_fills_the_templates_own_placeholders_only() -> None:
    prompt = prompts.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
    assert prompt.render(Pair(QUESTION, PASSAGE, TOPIC)) == (
        "provide a complete and concise answer to the question based on the context.\n"
        "Question: Who wrote {context} and {question}?\n"
        "Context: It says {question} and {0} {nugget} {query} {context}."
    )


def test_rendering_takes_a_cut_passage_even_an_empty_one() -> None:
    prompt = prompts.get("NuggetExtractionPrompt")
    pair = Pair(NUGGET, PASSAGE, TOPIC)
    assert prompt.render(pair, "Cut.").endswith("Key Fact: Bill Haley\nContext: Cut.")
    assert prompt.render(pair, "").endswith("Key Fact: Bill Haley\nContext: ")


def test_rendering_can_name_the_query() -> None:
    prompt = replace(prompts.get("NuggetExtractionPrompt"), template="{query}: {nugget}")
    assert prompt.render(Pair(NUGGET, PASSAGE, TOPIC)) == "rock n roll: Bill Haley"


def test_the_baseline_says_what_it_is() -> None:
    prompt = prompts.get("LexicalBaseline")
    assert prompt.kinds == {ItemKind.QUESTION, ItemKind.NUGGET}
    assert prompt.render(Pair(NUGGET, PASSAGE, TOPIC)).startswith("Lexical baseline, no model asked")


def test_every_prompt_has_a_source_and_an_id_with_its_version() -> None:
    known = prompts.known()
    assert [prompt.prompt_class for prompt in known] == [
        "FagB",
        "FagB_few",
        "HELM",
        "LexicalBaseline",
        "NuggetAssignment",
        "NuggetExtractionPrompt",
        "NuggetSelfRatedPrompt",
        "QuestionCompleteConcisePromptWithAnswerKey2",
        "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2",
        "QuestionCompleteConciseUnanswerablePromptWithChoices",
        "QuestionSelfRatedPrompt",
        "QuestionSelfRatedPromptWithReminder",
        "QuestionSelfRatedUnanswerablePromptWithChoices",
        "Sun",
        "Sun_few",
        "Thomas",
        "UmbrelaStyle",
    ]
    assert all(prompt.source for prompt in known)
    assert known[5].prompt_id == "NuggetExtractionPrompt@1"


def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownPrompt, match=r"'FagZ'; known are FagB, FagB_few, HELM, LexicalBaseline"):
        prompts.get("FagZ")
