"""The back-ends by name. To add one: write its file, and its line in BACKENDS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from grading import prompts
from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders.base import Grader, GraderSpec

IMPORTED = "imported"
"""The back-end of grades that came from a file: nothing here can grade more of them."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to grade."""

    name: str
    label: str
    """Its honest name on every page."""
    target: str
    """`module:Class`, imported when it is first built; the class is called with the GraderSpec."""
    prompt_classes: tuple[str, ...]
    needs_model: bool
    default_llm: str


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            name="lexical",
            label="Lexical baseline (no model)",
            target="grading.graders.lexical:LexicalGrader",
            prompt_classes=("LexicalBaseline",),
            needs_model=False,
            default_llm="lexical",
        ),
        Backend(
            name="hf_seq2seq",
            label="Sequence-to-sequence model (FLAN-T5 family)",
            target="grading.graders.hf_seq2seq:Seq2SeqGrader",
            prompt_classes=(
                "QuestionSelfRatedUnanswerablePromptWithChoices",
                "NuggetSelfRatedPrompt",
                "QuestionCompleteConciseUnanswerablePromptWithChoices",
                "NuggetExtractionPrompt",
            ),
            needs_model=True,
            default_llm="google/flan-t5-large",
        ),
    )
}


def known_backends() -> tuple[Backend, ...]:
    """Every back-end that can be built, the one without a model first."""
    return tuple(BACKENDS.values())


def backend_for(llm: str, prompt_class: str) -> str:
    """The name of the back-end that grades as `llm` with `prompt_class`; `build` says whether it can."""
    baseline = BACKENDS["lexical"]
    is_baseline = llm == baseline.default_llm or prompt_class in baseline.prompt_classes
    return baseline.name if is_baseline else "hf_seq2seq"


def build(spec: GraderSpec) -> Grader:
    """Make the grader ready to grade, its model loaded.

    Raises UnknownGrader, UnknownPrompt, or GraderUnavailable with what to install, to fetch or to correct.
    """
    if spec.backend == IMPORTED:
        raise GraderUnavailable(
            f"the grades of {spec.llm} were imported from a file; choose a grader to grade more"
        )
    backend = BACKENDS.get(spec.backend)
    if backend is None:
        raise UnknownGrader(f"no grader {spec.backend!r}; known are {', '.join(BACKENDS)}")
    _check_prompt(backend, spec.prompt_class)
    return _load(backend)(spec)


def _check_prompt(backend: Backend, prompt_class: str) -> None:
    prompts.get(prompt_class)
    if prompt_class not in backend.prompt_classes:
        raise UnknownPrompt(
            f"{backend.name} does not ask {prompt_class}; it asks {', '.join(backend.prompt_classes)}"
        )


def _load(backend: Backend) -> Callable[[GraderSpec], Grader]:
    module, _, name = backend.target.partition(":")
    try:
        return cast("Callable[[GraderSpec], Grader]", getattr(import_module(module), name))
    except ImportError as error:
        raise GraderUnavailable(f"{backend.name} cannot be loaded: {error}") from error
