"""Grader specs, and the registry that turns them into graders."""

import subprocess
import sys
from dataclasses import replace

import pytest

from grading import prompts
from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders import GraderSpec, registry
from grading.graders.panel import PANEL_PROMPT
from grading.graders.registry import BACKENDS, backend_for, build, known_backends

SPEC = GraderSpec("lexical", "lexical", "LexicalBaseline")
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


def test_fingerprint_is_the_same_for_ever() -> None:
    # sha256 of {"backend":"lexical","llm":"lexical","options":{},"prompt":"LexicalBaseline@1"}
    assert SPEC.fingerprint == "22365049d71001cc1b8187b51584207dec6140e4fa3926ae9139fec8886c13f1"


def test_fingerprint_ignores_the_order_of_options_and_nothing_else() -> None:
    spec = GraderSpec(
        "hf_seq2seq", "google/flan-t5-large", RATING, {"dtype": "float32", "max_input_tokens": 512}
    )
    turned = replace(spec, options={"max_input_tokens": 512, "dtype": "float32"})
    assert spec.fingerprint == turned.fingerprint
    others = [
        replace(spec, backend="lexical"),
        replace(spec, llm="google/flan-t5-base"),
        replace(spec, prompt_class="NuggetSelfRatedPrompt"),
        replace(spec, options={"dtype": "bfloat16", "max_input_tokens": 512}),
    ]
    assert len({spec.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_specs_are_hashable_and_compare_by_value() -> None:
    assert {SPEC, GraderSpec("lexical", "lexical", "LexicalBaseline", {})} == {SPEC}


def test_builds_the_baseline() -> None:
    grader = build(SPEC)
    assert grader.spec == SPEC
    assert grader.device == "cpu, no model"


@pytest.mark.parametrize(
    ("llm", "prompt_class", "backend"),
    [
        ("lexical", "LexicalBaseline", "lexical"),
        ("google/flan-t5-large", RATING, "hf_seq2seq"),
        ("/models/own-t5", "NuggetExtractionPrompt", "hf_seq2seq"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", RATING, "hf_causal"),
        ("/models/t5-answers/own-olmo/", RATING, "hf_causal"),
        (
            "deepset/roberta-base-squad2",
            "QuestionCompleteConciseUnanswerablePromptWithChoices",
            "hf_extractive",
        ),
        ("gpt-4o-mini", RATING, "openai_compatible"),
        ("openai-community/gpt2", RATING, "hf_causal"),
    ],
)
def test_backend_of_a_model(llm: str, prompt_class: str, backend: str) -> None:
    assert backend_for(llm, prompt_class) == backend


def test_every_prompt_of_every_backend_exists() -> None:
    named = {prompt_class for backend in known_backends() for prompt_class in backend.prompt_classes}
    assert named - {PANEL_PROMPT} <= {prompt.prompt_class for prompt in prompts.published()}
    assert [backend.name for backend in known_backends()] == list(BACKENDS)


def test_refuses_an_unknown_backend() -> None:
    with pytest.raises(UnknownGrader, match=r"no grader 'oracle'; known are lexical, "):
        build(replace(SPEC, backend="oracle"))


def test_refuses_an_unknown_prompt() -> None:
    with pytest.raises(UnknownPrompt, match=r"no prompt class 'FagZ'"):
        build(replace(SPEC, prompt_class="FagZ"))


def test_refuses_a_prompt_that_the_backend_does_not_ask() -> None:
    with pytest.raises(
        UnknownPrompt, match=r"lexical does not ask NuggetSelfRatedPrompt; it asks LexicalBaseline"
    ):
        build(replace(SPEC, prompt_class="NuggetSelfRatedPrompt"))


def test_imported_grades_cannot_be_graded_again() -> None:
    with pytest.raises(GraderUnavailable, match=r"grades of google/flan-t5-large were imported from a file"):
        build(GraderSpec("imported", "google/flan-t5-large", "FagB"))


def test_a_backend_whose_library_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(BACKENDS["lexical"], target="grading.graders.no_such_file:Grader")
    monkeypatch.setitem(registry.BACKENDS, "lexical", broken)
    with pytest.raises(GraderUnavailable, match=r"lexical cannot be loaded: No module named"):
        build(SPEC)


def test_no_heavy_library_is_imported_before_a_model_is_needed() -> None:
    code = (
        "import sys, grading.graders.registry as g, grading.graders.hf_encoders, grading.graders.hf_causal;"
        "import grading.graders.openai_compatible;"
        "g.build(g.GraderSpec('lexical', 'lexical', 'LexicalBaseline'));"
        "print({'torch', 'transformers', 'openai'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
