"""Find or make the frozen grader configs."""

from __future__ import annotations

import hashlib

from grading.errors import UnknownPrompt
from grading.graders import GraderSpec, registry
from grading.graders.registry import IMPORTED
from grading.types import ItemKind, Purpose
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig


def config_for(backend: str, llm: str, prompt_class: str) -> GraderConfig:
    """The config that this back-end runs. Raises UnknownGrader or UnknownPrompt."""
    spec = GraderSpec(backend, llm, prompt_class, {})
    return _get(spec, spec.prompt.purpose, spec.fingerprint)


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
    """What Re-grade runs in this collection: one config a prompt class that an organizer chose, else the
    back-end's own ones."""
    backend = registry.BACKENDS[collection.grader_backend]
    chosen = backend.chosen(collection.grader_prompts)
    return [config_for(backend.name, collection.grader_llm, name) for name in chosen]


def kinds_of(config: GraderConfig) -> frozenset[ItemKind]:
    """The kinds of items that the config grades; for a prompt class that we do not know, by its name."""
    try:
        return spec_of(config).prompt.kinds
    except UnknownPrompt:
        pass
    if config.purpose == Purpose.DIRECT:
        return frozenset({ItemKind.DIRECT})
    return frozenset({ItemKind.NUGGET if config.prompt_class.startswith("Nugget") else ItemKind.QUESTION})
