"""Prompts in people's own words: what is refused, what is kept, and how they travel with a grader config."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from grading import prompts
from grading.errors import BadPrompt, GraderUnavailable, ParseFailure, UnknownPlaceholder, UnknownPrompt
from grading.graders import GraderSpec, misfit, result_without_model
from grading.graders.backend_options import refuse_unknown
from grading.graders.registry import BACKENDS, build
from grading.prompts import ParseRule, Prompt, as_options, covering_from, from_options, from_template
from grading.types import (
    CellToGrade,
    Grade,
    GradeFailure,
    Item,
    ItemKind,
    Outcome,
    Parsed,
    Passage,
    Purpose,
    Topic,
)

QUESTION, NUGGET, DIRECT = ItemKind.QUESTION, ItemKind.NUGGET, ItemKind.DIRECT
TEXT = "How well does the text answer the question, from 0 to 3?\n{question}\n{context}\nRating:"
PAIR = CellToGrade(
    Item("q1/aa", QUESTION, "Who wrote it?", ("Haley",)), Passage("p1", "Haley did."), Topic("q1", "rock")
)


def strict(**changed: Any) -> Prompt:
    return from_template(
        **{"prompt_class": "StrictPrompt", "template": TEXT, "kinds": {QUESTION}, "scale": (0, 3), **changed}
    )


def test_a_prompt_of_ones_own_asks_and_reads_like_a_published_one() -> None:
    prompt = strict(system="You grade passages.")
    assert prompt.messages(PAIR) == [
        ("system", "You grade passages."),
        (
            "user",
            "How well does the text answer the question, from 0 to 3?\nWho wrote it?\nHaley did.\nRating:",
        ),
    ]
    assert (prompt.purpose, prompt.rule, prompt.scale) == (Purpose.RATE, ParseRule.RATING, (0, 3))
    assert prompt.parse("3: all of it") == Parsed(3, Outcome.NUMERIC)
    assert list(prompt.first_tokens) == ["0", "1", "2", "3"]


def test_its_id_is_the_same_for_ever_and_only_for_these_words() -> None:
    assert strict().prompt_id == "StrictPrompt@5eeb17ef840c"
    assert strict(template=f"\n{TEXT}\n").prompt_id == strict().prompt_id
    others = [
        strict(template=TEXT + " Now."),
        strict(system="Be strict."),
        strict(scale=(0, 4)),
        strict(rule=ParseRule.FINAL_SCORE),
        strict(kinds={QUESTION, NUGGET}),
        strict(prompt_class="Stricter"),
        strict(scale=None, labels={"good": 1, "bad": 0}),
        strict(scale=None, labels={"bad": 0, "good": 1}),
    ]
    assert len({strict().prompt_id, *(other.prompt_id for other in others)}) == 9


@pytest.mark.parametrize(
    ("changed", "purpose", "rule", "scale"),
    [
        ({"scale": None}, Purpose.EXTRACT, ParseRule.TEXT, None),
        ({"kinds": [DIRECT], "template": "{query} {context}"}, Purpose.DIRECT, ParseRule.RATING, (0, 3)),
        ({"scale": None, "rule": ParseRule.YES_NO}, Purpose.RATE, ParseRule.YES_NO, (0, 1)),
        ({"scale": None, "rule": ParseRule.ANSWER_KEY}, Purpose.VERIFY, ParseRule.ANSWER_KEY, (0, 1)),
        ({"scale": None, "labels": {"all": 2, "none": 0}}, Purpose.RATE, ParseRule.LABEL, (0, 2)),
        (
            {"template": "Is {answer} right for {question}?", "scale": None, "rule": ParseRule.YES_NO},
            Purpose.VERIFY,
            ParseRule.YES_NO,
            (0, 1),
        ),
    ],
)
def test_purpose_rule_and_scale_follow_from_what_is_given(
    changed: dict[str, Any], purpose: Purpose, rule: ParseRule, scale: tuple[int, int] | None
) -> None:
    prompt = strict(**changed)
    assert (prompt.purpose, prompt.rule, prompt.scale) == (purpose, rule, scale)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"template": "{question} {passage}"},
            r"\{passage\} is no placeholder of this prompt; it can have \{question\}, \{query\}, \{context\}",
        ),
        ({"template": "{question} {context} {Question}"}, r"\{Question\} is no placeholder"),
        ({"template": "{question} { context }"}, r"write \{context\} without blanks"),
        ({"system": "{topic}"}, r"\{topic\} is no placeholder"),
        ({"template": "{question} {nugget} {context}"}, r"\{nugget\} is no placeholder of this prompt"),
        ({"kinds": [DIRECT], "template": "{query} {question} {context}"}, r"\{question\} is no placeholder"),
    ],
)
def test_an_unknown_placeholder_is_named_with_the_known_ones(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnknownPlaceholder, match=problem):
        strict(**changed)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"template": "{question}"}, r"needs \{context\}, the text of the passage"),
        ({"template": "{context} {query}"}, r"needs \{question\}, what is asked about"),
        ({"template": "{context}", "kinds": [QUESTION, NUGGET]}, r"needs \{nugget\} or \{question\}"),
        ({"template": ""}, r"needs \{question\}"),
        ({"template": "{question} {context}" + "x" * 20_000}, "longer than 20,000 characters"),
        ({"prompt_class": "FagB"}, "FagB is the class of a published prompt"),
        ({"prompt_class": ""}, "a letter and then"),
        ({"prompt_class": "my prompt"}, "a letter and then"),
        ({"prompt_class": "x" * 65}, "64 at most"),
        ({"kinds": []}, "worded for questions, for nuggets"),
        ({"kinds": [DIRECT, QUESTION]}, "cannot be for questions or nuggets too"),
        ({"scale": (0, 10)}, "the scale 0 to 10 must lie within 0 to 5"),
        ({"scale": (3, 3)}, "must lie within 0 to 5 and rise"),
        ({"scale": (-1, 3)}, "must lie within 0 to 5"),
        ({"scale": None, "rule": ParseRule.RATING}, "asks for a rating needs a scale"),
        ({"rule": ParseRule.TEXT}, "asks for text has no scale"),
        ({"rule": ParseRule.YES_NO}, "the scale must be 0 to 1"),
        ({"rule": ParseRule.LABEL}, "needs two or more"),
        ({"labels": {"good": 1, "Good": 0}}, "needs its own name"),
        ({"labels": {"good": 1, "fine": 1}}, "needs two or more"),
        ({"labels": {"good": 4, "bad": 0}}, "'good' has the rating 4, out of the scale 0 to 3"),
        ({"labels": {"good!": 1, "bad": 0}}, "'good!' must be words"),
        ({"labels": {"good": 1}, "rule": ParseRule.TEXT, "scale": None}, "asks for text has no labels"),
        ({"labels": {"good": 4}, "rule": ParseRule.RATING}, "out of the scale 0 to 3"),
        ({"template": "{query} {answer}", "kinds": [DIRECT]}, "and not in direct grading"),
        ({"template": "Correct {answer} to {question}", "scale": None}, "so it needs a scale"),
    ],
)
def test_what_cannot_be_asked_is_refused(changed: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPrompt, match=problem):
        strict(**changed)


def test_everything_that_is_wrong_with_the_placeholders_is_named_at_once() -> None:
    with pytest.raises(UnknownPlaceholder) as refused:
        strict(template="{passage} {topic} { context } {passage}")
    message = str(refused.value)
    assert message.startswith(
        "{passage} and {topic} are no placeholders of this prompt; it can have {question}, "
    )
    assert "write {context} without blanks" in message
    assert "needs {question}, what is asked about and {context}, the text of the passage" in message
    assert refused.value.part == "template"


def test_labels_of_a_number_are_only_names() -> None:
    named = strict(labels={"wrong": 0, "perfect": 3}, rule=ParseRule.RATING)
    assert [named.label_of(rating) for rating in range(4)] == ["wrong", "1", "2", "perfect"]
    assert named.parse("perfect") == Parsed(1, Outcome.DEFAULTED)
    assert named.parse("3") == Parsed(3, Outcome.NUMERIC)
    assert from_options(named.prompt_class, as_options(named)) == named


def test_yes_and_right_have_names_without_labels() -> None:
    assert prompts.get("FagB").label_of(1) == "yes"
    assert prompts.get("QuestionCompleteConcisePromptWithAnswerKey2").label_of(0) == "wrong"
    assert prompts.get("UmbrelaStyle").label_of(3) == "perfectly relevant"
    assert prompts.get("NuggetSelfRatedPrompt").label_of(4) == "4"


def test_a_strict_prompt_never_takes_a_default() -> None:
    firm = strict(is_strict=True)
    with pytest.raises(ParseFailure, match="holds no rating from 0 to 3"):
        firm.parse("I like it.", on_unparsable="default")
    assert firm.parse("unanswerable") == Parsed(0, Outcome.UNANSWERABLE)
    assert firm.prompt_id != strict().prompt_id
    assert from_options("StrictPrompt", json.loads(json.dumps(as_options(firm)))) == firm


def test_other_braces_are_words() -> None:
    template = '{question} {context} Reply as {"grade": 4}, {} or {0}.'
    assert (
        strict(template=template).render(PAIR) == 'Who wrote it? Haley did. Reply as {"grade": 4}, {} or {0}.'
    )


def test_it_travels_with_its_grader_config() -> None:
    prompt = strict(system="Be strict.", scale=None, labels={"good": 2, "fair": 1, "bad": 0})
    stored = json.loads(json.dumps(as_options(prompt), sort_keys=True))
    assert from_options("StrictPrompt", stored) == prompt
    spec = GraderSpec(
        "hf_seq2seq", "google/flan-t5-large", "StrictPrompt", {"dtype": "float32", "prompt": stored}
    )
    assert spec.prompt == prompt
    assert spec.settings == {"dtype": "float32"}
    refuse_unknown(spec.backend, spec.settings, ["dtype"])
    with pytest.raises(GraderUnavailable, match="has no option dtype"):
        refuse_unknown(spec.backend, spec.settings, [])
    reworded = as_options(strict(template=TEXT + "!"))
    assert spec.fingerprint != replace(spec, options={"dtype": "float32", "prompt": reworded}).fingerprint


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        (None, "must be an object with a template"),
        ({}, "must be an object with a template"),
        ({"template": 4}, "must be an object with a template"),
        ({"template": TEXT, "kinds": ["question"], "temperature": 1}, "a prompt has no temperature"),
        ({"template": TEXT}, "the kinds of a prompt must be a list"),
        (
            {"template": TEXT, "kinds": ["essay"]},
            "'essay' is no kinds of a prompt; known are question, nugget",
        ),
        ({"template": TEXT, "kinds": ["question"], "scale": [0]}, "two whole numbers"),
        ({"template": TEXT, "kinds": ["question"], "scale": "0-3"}, "two whole numbers"),
        ({"template": TEXT, "kinds": ["question"], "scale": [False, True]}, "two whole numbers"),
        ({"template": TEXT, "kinds": ["question"], "parse": "vibes"}, "'vibes' is no parse of a prompt"),
        ({"template": TEXT, "kinds": ["question"], "system": ["x"]}, "system text of a prompt must be text"),
        ({"template": TEXT, "kinds": ["question"], "strict": 1}, "strict must be true or false"),
        ({"template": TEXT, "kinds": ["question"], "labels": {"a": 1}}, "pairs of a name and a whole number"),
        ({"template": TEXT, "kinds": ["question"], "labels": [["a", "1"]]}, "pairs of a name"),
    ],
)
def test_a_config_without_a_proper_prompt_is_refused(stored: Any, problem: str) -> None:
    with pytest.raises(BadPrompt, match=problem):
        from_options("StrictPrompt", stored)


@settings(deadline=None, max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["template", "kinds", "scale", "parse", "labels", "system"]), inner
            )
        ),
        max_leaves=8,
    )
)
def test_anything_else_is_a_bad_prompt_and_never_another_error(stored: Any) -> None:
    with pytest.raises(BadPrompt):
        from_options("StrictPrompt", stored)


def test_model_backends_ask_any_prompt_and_the_baseline_only_its_own() -> None:
    seq2seq, lexical = BACKENDS["hf_seq2seq"], BACKENDS["lexical"]
    assert all(seq2seq.asks(prompt) for prompt in [*prompts.published(), strict()] if prompt.placeholders)
    assert not seq2seq.asks(prompts.get("LexicalBaseline"))
    assert [prompt.prompt_class for prompt in prompts.published() if lexical.asks(prompt)] == [
        "LexicalBaseline"
    ]
    assert not lexical.asks(strict())
    with pytest.raises(UnknownPrompt, match="lexical does not ask StrictPrompt"):
        build(GraderSpec("lexical", "lexical", "StrictPrompt", {"prompt": as_options(strict())}))


KEYLESS = replace(PAIR, item=replace(PAIR.item, answers=()))
VERIFYING = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"


@pytest.mark.parametrize(
    ("prompt_class", "pair", "reason"),
    [
        ("FagB", PAIR, "FagB is worded for direct grading, not for a question item"),
        ("QuestionCompleteConcisePromptWithAnswerKey2", KEYLESS, "an answer key, and the item has none"),
        (VERIFYING, KEYLESS, "the item has none"),
        (VERIFYING, PAIR, "verifies an answer, and none was extracted"),
    ],
)  # fmt: skip
def test_a_pair_that_a_prompt_cannot_be_asked_about_fails(
    prompt_class: str, pair: CellToGrade, reason: str
) -> None:
    failure = result_without_model(prompts.get(prompt_class), pair)
    assert isinstance(failure, GradeFailure)
    assert failure.reason.endswith(reason)
    assert failure == misfit(prompts.get(prompt_class), pair)


def test_a_denial_is_wrong_without_asking_whether_it_is_right() -> None:
    prompt = prompts.get(VERIFYING)
    for denial in ("", "unanswerable", "(iii)", "No."):
        grade = result_without_model(prompt, replace(PAIR, answer=denial))
        assert grade == Grade("q1/aa", "p1", 0, Outcome.UNANSWERABLE, denial)
    assert result_without_model(prompt, replace(PAIR, answer="Bill Haley")) is None
    true_false = replace(PAIR, item=replace(PAIR.item, answers=("false",)), answer="No.")
    assert result_without_model(prompt, true_false) is None
    assert result_without_model(prompts.get("QuestionSelfRatedPrompt"), PAIR) is None


@pytest.mark.parametrize(
    ("kinds", "scale", "usual"),
    [
        ({QUESTION}, (0, 5), 4),
        ({QUESTION}, (0, 3), 3),
        ({DIRECT}, (0, 3), 2),
        ({DIRECT}, (0, 4), 2),
        ({DIRECT}, (0, 2), 1),
    ],
)
def test_a_prompt_without_a_threshold_has_the_usual_one(
    kinds: set[ItemKind], scale: tuple[int, int], usual: int
) -> None:
    text = "{query} {context}" if DIRECT in kinds else "{question} {context}"
    prompt = from_template("OwnPrompt", text, kinds, scale)
    assert prompt.min_grade == usual
    assert "min_grade" not in as_options(prompt), "its id is that of the time when no prompt had a threshold"


def test_a_stated_threshold_travels_with_the_prompt_and_changes_its_id() -> None:
    lenient = covering_from(strict(), 2)
    assert (lenient.min_grade, strict().min_grade) == (2, 3)
    assert lenient.prompt_id != strict().prompt_id
    assert from_options(lenient.prompt_class, as_options(lenient)) == lenient
    assert covering_from(lenient, 3) == strict()


@pytest.mark.parametrize("min_grade", [0, 4])
def test_a_threshold_is_above_the_lowest_rating_and_within_the_scale(min_grade: int) -> None:
    with pytest.raises(
        BadPrompt, match=f"the threshold {min_grade} must be above 0 and at most 3"
    ) as refused:
        covering_from(strict(), min_grade)
    assert refused.value.part == "min_grade"


def test_a_prompt_for_text_has_no_threshold() -> None:
    text = from_template("OwnExtraction", "{question} {context}", {QUESTION})
    assert text.min_grade is None
    with pytest.raises(BadPrompt, match="asks for text has no threshold"):
        covering_from(text, 1)
    with pytest.raises(BadPrompt, match="must be a whole number"):
        from_options("StrictPrompt", as_options(strict()) | {"min_grade": "3"})
