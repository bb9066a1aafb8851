"""The words that models are asked with; the published ones letter for letter."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from grading import generation, prompts
from grading.errors import ParseFailure, UnknownPrompt
from grading.prompts import ParseRule, Prompt
from grading.types import CellToGrade, Item, ItemKind, Outcome, Parsed, Passage, Purpose, Topic

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


SCALE = (
    "- 5: The answer is highly relevant, complete, and accurate.\n"
    "- 4: The answer is mostly relevant and complete but may have minor gaps or inaccuracies.\n"
    "- 3: The answer is partially relevant and complete, with noticeable gaps or inaccuracies.\n"
    "- 2: The answer has limited relevance and completeness, with significant gaps or inaccuracies.\n"
    "- 1: The answer is minimally relevant or complete, with substantial shortcomings.\n"
    "- 0: The answer is not relevant or complete at all.\n"
)


def test_the_reminder_for_llama_is_the_papers_text() -> None:
    prompt = prompts.get("QuestionSelfRatedPromptWithReminder")
    assert prompt.template == (
        "Can the question be answered based on the available context? choose one:\n"
        f"{SCALE}"
        "Question: {question}\n"
        "Context: {context}\n"
        "Rate how well the passage answers the question by responding with a code between 0 and 5.\n"
        "Answer:"
    )


def test_the_chat_prompt_has_the_scale_as_its_system_message() -> None:
    prompt = prompts.get("QuestionSelfRatedPrompt")
    system = (
        "Can the question be answered based on the available context? choose one:\n"
        f"{SCALE}"
        "You must only respond with the numerical grade, no further explanation."
    )
    user = f"Question: {QUESTION.text}\nContext: {PASSAGE.text}"
    assert prompt.messages(CellToGrade(QUESTION, PASSAGE, TOPIC)) == [("system", system), ("user", user)]
    assert prompt.render(CellToGrade(QUESTION, PASSAGE, TOPIC)) == f"{system}\n{user}"
    assert prompt.messages(CellToGrade(QUESTION, PASSAGE, TOPIC), "Cut.")[1][1].endswith("\nContext: Cut.")


def test_a_prompt_without_system_text_is_one_message() -> None:
    pair = CellToGrade(NUGGET, PASSAGE, TOPIC)
    prompt = prompts.get("NuggetSelfRatedPrompt")
    assert prompt.messages(pair) == [("user", prompt.render(pair))]


def test_nugget_assignment_names_its_labels() -> None:
    prompt = prompts.get("NuggetAssignment")
    assert [prompt.label_of(rating) for rating in (2, 1, 0)] == ["support", "partial_support", "not_support"]
    assert all(f"- {prompt.label_of(rating)}: " in prompt.template for rating in (2, 1, 0))
    assert (prompt.scale, prompt.kinds, prompt.first_tokens) == ((0, 2), {ItemKind.NUGGET}, {})
    assert prompt.parse("Partial support.") == Parsed(1, Outcome.NUMERIC)
    with pytest.raises(ParseFailure):
        prompt.parse("4")
    assert prompts.get("Thomas").label_of(2) == "highly relevant"


def test_answers_are_extracted_by_the_same_words_and_compared_with_the_key() -> None:
    prompt = prompts.get("QuestionCompleteConcisePromptWithAnswerKey2")
    extraction = prompts.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
    assert prompt.template == extraction.template
    assert (prompt.purpose, prompt.scale) == (Purpose.VERIFY, (0, 1))
    pair = CellToGrade(replace(QUESTION, answers=("falls", "rise")), PASSAGE, TOPIC)
    assert prompt.parse("It rises.", pair) == Parsed(1, Outcome.NUMERIC, "It rises.")
    assert prompt.parse("It stays.", pair) == Parsed(0, Outcome.NUMERIC, "It stays.")
    assert prompt.parse("unanswerable", pair) == Parsed(0, Outcome.UNANSWERABLE, "unanswerable")
    for without_key in (None, CellToGrade(QUESTION, PASSAGE, TOPIC)):
        with pytest.raises(ParseFailure, match="the item has no answer key"):
            prompt.parse("It rises.", without_key)


def test_the_verifying_prompt_is_the_published_text() -> None:
    prompt = prompts.get("QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2")
    item = Item(
        "L_0016/NDQ_000615", ItemKind.QUESTION, "During very wet times, the water table will...", ("rise",)
    )
    pair = CellToGrade(item, PASSAGE, TOPIC, answer="increase {context}")
    assert prompt.render(pair) == (
        'For the question "During very wet times, the water table will..." the correct answer is "rise". '
        'Is "increase {context}" an equally correct response to this question? Answer yes or no.'
    )
    several = replace(pair, item=replace(item, answers=("rise", "go up")))
    assert 'the correct answer is "rise" or "go up". Is' in prompt.render(several)
    assert prompt.parse("Yes.", pair) == Parsed(1, Outcome.NUMERIC, "increase {context}")
    assert prompt.parse("no", pair) == Parsed(0, Outcome.NUMERIC, "increase {context}")


@pytest.mark.parametrize(
    ("prompt_class", "tokens"),
    [
        ("NuggetSelfRatedPrompt", {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5}),
        ("Thomas", {"0": 0, "1": 1, "2": 2}),
        ("HELM", {"Yes": 1, "yes": 1, "No": 0, "no": 0}),
        ("UmbrelaStyle", {}),
        ("NuggetAssignment", {}),
        ("NuggetExtractionPrompt", {}),
        ("QuestionCompleteConcisePromptWithAnswerKey2", {}),
    ],
)
def test_what_the_first_tokens_can_decide(prompt_class: str, tokens: dict[str, int]) -> None:
    prompt = prompts.get(prompt_class)
    assert prompt.first_tokens == tokens
    for reply, rating in tokens.items():
        assert prompt.parse(reply, on_unparsable="fail") == Parsed(rating, Outcome.NUMERIC)


def test_extracted_text_is_kept_as_it_is() -> None:
    prompt = prompts.get("NuggetExtractionPrompt")
    assert prompt.parse(" Bill Haley \n") == Parsed(None, Outcome.EXTRACTED, " Bill Haley \n")


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=60), st.sampled_from(prompts.published()))
def test_every_reply_to_every_prompt_is_parsed_or_a_parse_failure(reply: str, prompt: Prompt) -> None:
    pair = CellToGrade(replace(QUESTION, answers=("rock",)), PASSAGE, TOPIC)
    try:
        one_line = prompt.rule is ParseRule.LINES
        parsed = prompt.parse_line(reply) if one_line else prompt.parse(reply, pair)
    except ParseFailure:
        assert prompt.rule in (ParseRule.LABEL, ParseRule.LINES) or prompt.purpose is Purpose.DIRECT
        return
    if prompt.scale:
        assert parsed.rating in range(prompt.scale[0], prompt.scale[1] + 1)
    else:
        assert (parsed.rating, parsed.answer) == (None, reply)


def test_rendering_fills_the_templates_own_placeholders_only() -> None:
    prompt = prompts.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
    assert prompt.render(CellToGrade(QUESTION, PASSAGE, TOPIC)) == (
        "provide a complete and concise answer to the question based on the context.\n"
        "Question: Who wrote {context} and {question}?\n"
        "Context: It says {question} and {0} {nugget} {query} {context}."
    )


def test_rendering_takes_a_cut_passage_even_an_empty_one() -> None:
    prompt = prompts.get("NuggetExtractionPrompt")
    pair = CellToGrade(NUGGET, PASSAGE, TOPIC)
    assert prompt.render(pair, "Cut.").endswith("Key Fact: Bill Haley\nContext: Cut.")
    assert prompt.render(pair, "").endswith("Key Fact: Bill Haley\nContext: ")


def test_rendering_can_name_the_query() -> None:
    prompt = replace(prompts.get("NuggetExtractionPrompt"), template="{query}: {nugget}")
    assert prompt.render(CellToGrade(NUGGET, PASSAGE, TOPIC)) == "rock n roll: Bill Haley"


def test_the_baseline_says_what_it_is() -> None:
    prompt = prompts.get("LexicalBaseline")
    assert prompt.kinds == {ItemKind.QUESTION, ItemKind.NUGGET}
    assert prompt.render(CellToGrade(NUGGET, PASSAGE, TOPIC)).startswith("Lexical baseline, no model asked")


def test_every_prompt_has_a_source_and_an_id_with_its_version() -> None:
    assert all(prompt.source for prompt in prompts.published())
    assert prompts.get("NuggetExtractionPrompt").prompt_id == "NuggetExtractionPrompt@1"


def test_every_prompt_of_the_papers_is_there() -> None:
    assert {prompt.prompt_class for prompt in prompts.published()} >= {
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
    }


def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownPrompt, match=r"'FagZ'; known are FagB, FagB_few, HELM, LexicalBaseline"):
        prompts.get("FagZ")


DOCS = (Path(__file__).parents[2] / "docs" / "help" / "graders.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("prompt", prompts.published(), ids=lambda prompt: prompt.prompt_class)
def test_the_docs_tell_how_each_prompt_is_read(prompt: Prompt) -> None:
    scale = f"{prompt.scale[0]}\u2013{prompt.scale[1]}" if prompt.scale else "\u2013"
    threshold = "\u2013" if prompt.min_grade is None else str(prompt.min_grade)
    kinds = ", ".join(sorted(prompt.kinds))
    cells = [prompt.purpose.value, kinds, scale, threshold, f"`{prompt.rule.value}`"]
    [row] = [line for line in DOCS.splitlines() if line.startswith(f"| `{prompt.prompt_class}` |")]
    assert f" | {' | '.join(cells)} | " in row
    assert f"\n| `{prompt.rule.value}` | " in DOCS


@pytest.mark.parametrize(
    "prompt", generation.drafting_prompts().values(), ids=lambda prompt: prompt.prompt_class
)
def test_the_docs_name_each_drafting_prompt(prompt: generation.DraftPrompt) -> None:
    assert f"\n| `{prompt.prompt_class}` | " in DOCS


def test_every_prompt_with_a_scale_states_its_threshold() -> None:
    stated = {prompt.prompt_class: prompt.min_grade for prompt in prompts.published()}
    assert [
        prompt for prompt in prompts.published() if (prompt.min_grade is None) != (prompt.scale is None)
    ] == []
    assert [
        prompt
        for prompt in prompts.published()
        if prompt.scale and not prompt.scale[0] < prompt.min_grade <= prompt.scale[1]
    ] == []
    expected = {"UmbrelaStyle": 2, "Thomas": 1, "FagB": 1, "NuggetAssignment": 2, "NuggetSelfRatedPrompt": 4}
    assert {name: stated[name] for name in expected} == expected


def test_the_shared_start_ends_with_what_the_prompt_names_first() -> None:
    pair = CellToGrade(QUESTION, PASSAGE, TOPIC)
    start = prompts.get("QuestionSelfRatedPrompt").shared_start(pair)
    assert start.endswith(f"\nQuestion: {QUESTION.text}")
    assert start in prompts.get("QuestionSelfRatedPrompt").render(pair)


TWINS = [prompt for prompt in prompts.published() if prompt.prompt_class.endswith("PassageFirst")]


@pytest.mark.parametrize("twin", TWINS, ids=lambda prompt: prompt.prompt_class)
def test_a_passage_first_twin_has_the_same_lines_in_another_order(twin: Prompt) -> None:
    prompt = prompts.get(twin.prompt_class.removesuffix("PassageFirst"))
    lines = prompt.template.splitlines()
    [context] = [line for line in lines if "{context}" in line]
    named = next(place for place, line in enumerate(lines) if "{" in line)
    others = [line for line in lines if line != context]
    assert twin.template.splitlines() == [*others[:named], context, *others[named:]]
    assert twin.summary.startswith(f"{prompt.summary}; the passage first")
    own = {"template": "", "source": "", "prompt_class": "", "summary": ""}
    assert replace(twin, **own) == replace(prompt, **own)
    pair = CellToGrade(QUESTION, PASSAGE, TOPIC)
    assert twin.shared_start(pair).endswith(PASSAGE.text)


def test_every_passage_first_prompt_is_the_twin_of_one_that_rates() -> None:
    rating = {prompt.prompt_class for prompt in prompts.published() if prompt.purpose is Purpose.RATE}
    assert {twin.prompt_class for twin in TWINS} <= {f"{name}PassageFirst" for name in rating}
