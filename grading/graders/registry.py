"""The back-ends by name.

To add one: write its file, and its line in BACKENDS; or a plug-in (`grading.plugins`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import cast

from grading import prompts
from grading.errors import GraderUnavailable, UnknownGrader, UnknownPrompt
from grading.graders import PLUGIN, Grader, GraderSpec
from grading.graders.backend_options import (
    ATTEMPT,
    ATTEMPT_OPTION,
    CausalOptions,
    ExtractiveOptions,
    GeneratorOptions,
    Option,
    Options,
    ReplyOptions,
    ServerOptions,
    Value,
)
from grading.graders.connection import Connection
from grading.graders.exemplars import EXEMPLAR_OPTIONS
from grading.graders.many_items import in_calls
from grading.graders.panel import PANEL, PANEL_PROMPT, PanelOptions
from grading.prompts import Prompt

IMPORTED = "imported"
"""The back-end of grades that came from a file; it cannot grade."""
TORCH = ("torch", "transformers")
SELF_RATING = ("QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt")
EXTRACTION = ("QuestionCompleteConciseUnanswerablePromptWithChoices", "NuggetExtractionPrompt")


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to grade."""

    name: str
    label: str
    """Its name on every page, honest about what it is."""
    target: str
    """`module:Class`, imported when it is first built; called with the GraderSpec, and with the Connection if
    `needs_server`.
    """
    prompt_classes: tuple[str, ...]
    """The prompts that it asks by default."""
    needs_model: bool
    default_llm: str
    asks_any: bool = False
    """Whether it can ask any prompt, including people's own."""
    requires: tuple[str, ...] = ()
    """Packages that it needs and that the base installation lacks."""
    needs_server: bool = False
    """Whether its model is behind a server, whose address and key `build` needs."""

    first_cells: int = 4
    """Cells of a chunk of grading work before the grader's rate is measured: enough to measure it."""
    guessed_rate: float = 1.0
    """Cells a second that a worker is taken to grade until it was measured; 0 where no time can be told."""
    chunk_seconds: float = 10.0
    """A chunk takes about as long: a person who waits for a small job waits for one chunk of a large one."""
    chunk_cells: int = 0
    """Cells of every chunk of grading work, whatever the rate; 0 where the rate decides."""
    price_share: float = 1.0
    """The share of the model's price for a token that is paid."""
    takes: type[Options] = Options
    """The class of its options."""
    plugin: str = ""
    """The distribution that brings it, with its version; empty for those of this package."""

    @property
    def options(self) -> dict[str, Option]:
        """Return the options by name, in the order shown. Only models have exemplars and a second attempt."""
        exemplars = EXEMPLAR_OPTIONS if self.asks_any else {}
        attempt = {ATTEMPT: ATTEMPT_OPTION} if self.needs_model else {}
        return {**self.takes.declared(), **exemplars, **attempt}

    def frozen_options(self, chosen: Mapping[str, Value], prompt: Prompt) -> dict[str, Value]:
        """Return the chosen options that can change the grades of this prompt, without defaults."""
        options = self.options
        return {
            name: value
            for name, value in chosen.items()
            if name in options
            and options[name].changes_grades
            and options[name].fits(prompt)
            and value != options[name].default
        }

    def running_options(self, chosen: Mapping[str, Value]) -> dict[str, Value]:
        """Return the chosen options that change speed or device."""
        options = self.options
        return {
            name: value
            for name, value in chosen.items()
            if name in options and not options[name].changes_grades
        }

    def asks(self, prompt: Prompt) -> bool:
        """Return whether it can ask this prompt. The baseline's prompt is for no model."""
        is_askable = prompt.placeholders and self.asks_any
        return bool(is_askable) or prompt.prompt_class in self.prompt_classes

    @property
    def choices(self) -> tuple[Prompt, ...]:
        """Return the published prompts that it can ask: default ones first, those about answers last."""
        askable = [prompt for prompt in prompts.published() if self.asks(prompt)]
        return tuple(sorted(askable, key=self._place))

    def chosen(self, named: Iterable[str], own: Iterable[Prompt] = ()) -> tuple[Prompt, ...]:
        """Return the named prompts that it can ask, in the order of `choices`; without any, its defaults.

        Published prompts are named by their class, `own` ones by their id.
        """
        names = set(named)
        named_prompts = [prompt for prompt in self.choices if prompt.prompt_class in names]
        named_prompts += [prompt for prompt in own if prompt.prompt_id in names and self.asks(prompt)]
        chosen = named_prompts or [prompts.get(prompt_class) for prompt_class in self.prompt_classes]
        return tuple(sorted(chosen, key=lambda prompt: prompt.needs_answer))

    def _place(self, prompt: Prompt) -> tuple[bool, int]:
        default = {prompt_class: place for place, prompt_class in enumerate(self.prompt_classes)}
        return prompt.needs_answer, default.get(prompt.prompt_class, len(default))


BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            name="lexical",
            label="Word overlap (no model)",
            target="grading.graders.lexical:LexicalGrader",
            prompt_classes=("LexicalBaseline",),
            needs_model=False,
            default_llm="lexical",
            first_cells=256,
            guessed_rate=1_000.0,
        ),
        Backend(
            name="hf_seq2seq",
            requires=TORCH,
            label="Sequence-to-sequence model (FLAN-T5 family)",
            target="grading.graders.hf_encoders:Seq2SeqGrader",
            prompt_classes=(*SELF_RATING, *EXTRACTION),
            needs_model=True,
            default_llm="google/flan-t5-large",
            asks_any=True,
            takes=GeneratorOptions,
        ),
        Backend(
            name="hf_causal",
            requires=TORCH,
            label="Causal language model (Llama, OLMo, GPT-2)",
            target="grading.graders.hf_causal:CausalGrader",
            # With the reminder: chat models would rather explain than rate.
            prompt_classes=("QuestionSelfRatedPromptWithReminder", "NuggetSelfRatedPrompt", *EXTRACTION),
            needs_model=True,
            default_llm="meta-llama/Meta-Llama-3-8B-Instruct",
            asks_any=True,
            takes=CausalOptions,
        ),
        Backend(
            name="hf_extractive",
            requires=TORCH,
            label="Extractive question answering (SQuAD 2 models)",
            target="grading.graders.hf_encoders:ExtractiveGrader",
            prompt_classes=(EXTRACTION[0], "QuestionCompleteConcisePromptWithAnswerKey2"),
            needs_model=True,
            default_llm="deepset/roberta-base-squad2",
            takes=ExtractiveOptions,
        ),
        Backend(
            name="openai_compatible",
            requires=("openai",),
            label="Model server (OpenAI, vLLM, any compatible one)",
            target="grading.graders.openai_compatible:ServerGrader",
            prompt_classes=("QuestionSelfRatedPromptWithReminder", "NuggetSelfRatedPrompt", *EXTRACTION),
            needs_model=True,
            default_llm="gpt-4o-mini",
            asks_any=True,
            needs_server=True,
            first_cells=32,
            guessed_rate=8.0,
            chunk_seconds=20.0,  # at the end of a chunk the calls run dry, so a chunk holds several for each
            takes=ServerOptions,
        ),
        Backend(
            name="batch_file",
            requires=("openai",),
            label="Batches of a model server (within a day, half the price)",
            target="grading.graders.batch_file:BatchFileGrader",
            prompt_classes=("QuestionSelfRatedPromptWithReminder", "NuggetSelfRatedPrompt", *EXTRACTION),
            needs_model=True,
            default_llm="gpt-4o-mini",
            asks_any=True,
            needs_server=True,
            chunk_cells=50_000,
            guessed_rate=0.0,
            price_share=0.5,
            takes=ReplyOptions,
        ),
        Backend(
            name=PANEL,
            label="Panel of graders (no model)",
            target="grading.graders.panel:PanelGrader",
            prompt_classes=(PANEL_PROMPT,),
            needs_model=False,
            default_llm=PANEL,
            first_cells=1_024,
            guessed_rate=5_000.0,
            takes=PanelOptions,
        ),
    )
}


_BY_NAME = (
    (re.compile(r"squad"), "hf_extractive"),
    (re.compile(r"t5|ul2|bart|pegasus|t0"), "hf_seq2seq"),
    (re.compile(r"^(?:gpt-[345]|chatgpt|o[1-9](?:-|$))"), "openai_compatible"),
)


def known_backends() -> tuple[Backend, ...]:
    """Return every back-end that can be built; the one without a model first."""
    return tuple(BACKENDS.values())


def importable() -> tuple[str, ...]:
    """Return the names of the back-ends whose packages are installed here, and that need some."""
    needing = (backend for backend in BACKENDS.values() if backend.requires)
    return tuple(backend.name for backend in needing if all(map(find_spec, backend.requires)))


def plugins_of(backend: Backend, prompt: Prompt) -> str:
    """Return the distributions that bring the back-end and the prompt: "my-judge 1.2"; empty for ours."""
    return ", ".join(dict.fromkeys(filter(None, (backend.plugin, prompt.plugin))))


def requirement(name: str) -> tuple[str, str]:
    """Return the back-end and what to do without its packages; empty texts where it needs none.

    >>> requirement("lexical")
    ('', '')
    """
    backend = BACKENDS.get(name)
    if backend is None or not backend.requires:
        return "", ""
    packages = " and ".join(backend.requires)
    command = f"pip install {packages}" if backend.plugin else "pip install 'rubricweb[models]'"
    return name, f"It needs {packages}: {command}, then start the worker again."


def backend_for(llm: str, prompt_class: str) -> str:
    """Guess the back-end of a model from its name; `build` says whether it works.

    "squad" answers with spans, "t5" is sequence-to-sequence, OpenAI's models are on a server, and all others
    are causal models. If the guess is wrong, name the back-end.
    """
    baseline = BACKENDS["lexical"]
    if llm == baseline.default_llm or prompt_class in baseline.prompt_classes:
        return baseline.name
    name = llm.rstrip("/").rsplit("/", 1)[-1].lower()
    return next((backend for pattern, backend in _BY_NAME if pattern.search(name)), "hf_causal")


def build(spec: GraderSpec, connection: Connection | None = None) -> Grader:
    """Build the grader and load its model.

    `connection` is for back-ends that need a server. Raises UnknownGrader, UnknownPrompt, or
    GraderUnavailable with what to install, fetch or correct. An own prompt that cannot be asked raises
    BadPrompt.
    """
    if spec.backend == IMPORTED:
        raise GraderUnavailable(
            f"the grades of {spec.llm} were imported from a file; choose a grader to grade more"
        )
    backend = BACKENDS.get(spec.backend)
    if backend is None:
        raise UnknownGrader(f"no grader {spec.backend!r}; known are {', '.join(BACKENDS)}")
    if not backend.asks(spec.prompt):
        raise UnknownPrompt(
            f"{backend.name} does not ask {spec.prompt_class}; it asks {', '.join(backend.prompt_classes)}"
        )
    stated, present = spec.options.get(PLUGIN, ""), plugins_of(backend, spec.prompt)
    if stated != present:
        raise GraderUnavailable(
            f"these grades are by {stated or 'no plug-in'}, and {present or 'none'} is installed: "
            "grade anew with that"
        )
    make = _load(backend)
    grader = make(spec, connection) if backend.needs_server else make(spec)
    return in_calls(grader) if spec.prompt.items_a_call > 1 else grader


def _load(backend: Backend) -> Callable[..., Grader]:
    module, _, name = backend.target.partition(":")
    try:
        return cast("Callable[..., Grader]", getattr(import_module(module), name))
    except ImportError as error:
        raise GraderUnavailable(f"{backend.name} cannot be loaded: {error}") from error
