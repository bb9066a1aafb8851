"""Find or make the frozen grader configs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from grading import prompts
from grading.errors import UnknownPrompt
from grading.graders import GraderSpec
from grading.graders.base import ANSWERS_BY, JSON, PROMPT
from grading.graders.registry import EXTRACTION, IMPORTED
from grading.prompts import Prompt
from grading.types import ItemKind, Purpose
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import asked_prompts, extracts_for
from rubricweb.grades.models import GraderConfig


def config_for(backend: str, llm: str, prompt_class: str) -> GraderConfig:
    """The config that this back-end runs. Raises UnknownGrader or UnknownPrompt."""
    return config_of(spec_for(backend, llm, prompts.get(prompt_class)))


def config_of(spec: GraderSpec) -> GraderConfig:
    return _get(spec, spec.prompt.purpose, spec.fingerprint)


def spec_for(backend: str, llm: str, prompt: Prompt, among: Iterable[Prompt] = ()) -> GraderSpec:
    """What asks this prompt. One that verifies answers names who extracted them: the same model by the first
    fitting extraction prompt `among` those that are asked, else by the published one."""
    options: dict[str, JSON] = {PROMPT: prompts.as_options(prompt)} if prompts.is_own(prompt) else {}
    if prompt.needs_answer:
        extraction = _extraction(prompt, among)
        options[ANSWERS_BY] = spec_for(backend, llm, extraction).fingerprint
    return GraderSpec(backend, llm, prompt.prompt_class, options)


def _extraction(verifying: Prompt, among: Iterable[Prompt]) -> Prompt:
    published = (prompts.get(prompt_class) for prompt_class in EXTRACTION)
    return next(prompt for prompt in (*among, *published) if extracts_for(verifying, prompt))


def config_asking(backend: str, llm: str, prompt: Prompt, among: Iterable[Prompt] = ()) -> GraderConfig:
    """What asks this prompt; if it verifies answers, the config that extracts them is made with it."""
    if prompt.needs_answer:
        config_of(spec_for(backend, llm, _extraction(prompt, among)))
    return config_of(spec_for(backend, llm, prompt, among))


def imported_config(llm: str, prompt_class: str, purpose: Purpose) -> GraderConfig:
    """The config of grades that came in a file; nobody can run it, and its prompt may be unknown to us."""
    spec = GraderSpec(IMPORTED, llm, prompt_class, {})
    identity = "\0".join((IMPORTED, llm, prompt_class, purpose))
    return _get(spec, purpose, hashlib.sha256(identity.encode()).hexdigest())


def _get(spec: GraderSpec, purpose: Purpose, fingerprint: str) -> GraderConfig:
    fields = {
        "backend": spec.backend,
        "llm": spec.llm,
        "prompt_class": spec.prompt_class,
        "purpose": purpose,
        "options": dict(spec.options),
    }
    config, _ = GraderConfig.objects.get_or_create(fingerprint=fingerprint, defaults=fields)
    return config


def spec_of(config: GraderConfig) -> GraderSpec:
    return GraderSpec(config.backend, config.llm, config.prompt_class, config.options)


def active_configs(collection: Collection) -> list[GraderConfig]:
    """What Re-grade runs in this collection: one config for each prompt that it asks."""
    asked = asked_prompts(collection)
    backend, llm = collection.grader_backend, collection.grader_llm
    return [config_asking(backend, llm, prompt, asked) for prompt in asked]


def kinds_of(config: GraderConfig) -> frozenset[ItemKind]:
    """The kinds of items that the config grades; for a prompt class that we do not know, by its name."""
    try:
        return spec_of(config).prompt.kinds
    except UnknownPrompt:
        pass
    if config.purpose == Purpose.DIRECT:
        return frozenset({ItemKind.DIRECT})
    return frozenset({ItemKind.NUGGET if config.prompt_class.startswith("Nugget") else ItemKind.QUESTION})
