"""Grader configs: back-end, model, prompt and options, and the scale of the ratings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from django.db.models import QuerySet

from grading import prompts
from grading.errors import BadPrompt, UnknownPrompt
from grading.formats import judge_qrels, nugget_grades
from grading.graders import ANSWERS_BY, JSON, PLUGIN, PROMPT, GraderSpec, backend_options, registry
from grading.graders.exemplars import with_kept_exemplars
from grading.in_context import INSTRUCTION
from grading.prompts import Prompt
from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING, USUAL_MIN_GRADE, ItemKind, Purpose
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import active_prompts, extracts_for
from rubricweb.grades.models import GraderConfig, GradingJob

Chosen = Mapping[str, backend_options.Value]
"""Options of a back-end that people chose, by name."""
NOTHING_CHOSEN: Chosen = MappingProxyType({})
MOST_VERSIONS = 99
"""Most versions of a prompt. A config does not record the version; its fingerprint depends on it."""
Scale = tuple[int, int]
WHOLE_SCALE: Scale = (MIN_RATING, MAX_RATING)
SCALES = {**nugget_grades.SCALES, **judge_qrels.SCALES}
"""Scales and thresholds of labels from files, by prompt class."""


def config_for(backend: str, llm: str, prompt_class: str) -> GraderConfig:
    """Return the config of this back-end, model and prompt. Raises UnknownGrader or UnknownPrompt."""
    return config_of(spec_for(backend, llm, prompts.get(prompt_class)))


def config_of(spec: GraderSpec) -> GraderConfig:
    return _get(spec, spec.prompt.purpose, spec.fingerprint)


def config_draft(spec: GraderSpec) -> GraderConfig:
    """Return the config of `spec`, unsaved and under a key of no row where nobody has saved it yet.

    Readers compare, count and price with it, and nothing is written because somebody looked.
    """
    return config_drafts([spec])[0]


def config_drafts(specs: Iterable[GraderSpec]) -> list[GraderConfig]:
    """Return what `config_draft` returns for each of the specs, in one query."""
    named = [(spec.fingerprint, spec) for spec in specs]
    saved = {config.fingerprint: config for config in _of_fingerprints(tuple(name for name, _ in named))}
    return [saved.get(name) or _draft(name, spec) for name, spec in named]


def _draft(fingerprint: str, spec: GraderSpec) -> GraderConfig:
    return GraderConfig(
        pk=-1 - int(fingerprint[:12], 16),
        backend=spec.backend,
        llm=spec.llm,
        prompt_class=spec.prompt_class,
        purpose=spec.prompt.purpose,
        options=spec.frozen,
        fingerprint=fingerprint,
    )


@read_once
@compiled_once
def _of_fingerprints(fingerprints: tuple[str, ...]) -> QuerySet[GraderConfig, GraderConfig]:
    return GraderConfig.objects.filter(fingerprint__in=fingerprints)


def saved_config(config: GraderConfig) -> GraderConfig:
    """Return the config, saved if it was a draft."""
    if config.pk > 0:
        return config
    if config.extraction:
        saved_config(config.extraction)
    return config_of(spec_of(config))


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The source of the extracted answers that a verifying prompt reads."""

    among: tuple[Prompt, ...] = ()
    """Active prompts: the first that extracts fitting answers is used, else the published one."""
    source: GraderConfig | None = None
    """Another grader, used for the kinds of items that it has answers to."""


def spec_for(
    backend: str,
    llm: str,
    prompt: Prompt,
    reading: AnswerSource = AnswerSource(),
    chosen: Chosen = NOTHING_CHOSEN,
) -> GraderSpec:
    """Return the spec of this prompt, with those `chosen` options that can change its grades.

    The spec of a verifying prompt names who extracted the answers, so that verdicts on different graders'
    answers stay apart.
    """
    options: dict[str, JSON] = {PROMPT: prompts.as_options(prompt)} if prompts.is_own(prompt) else {}
    if backend in registry.BACKENDS:
        options |= registry.BACKENDS[backend].frozen_options(chosen, prompt)
        options = with_kept_exemplars(options, chosen, prompt)
        if plugins := registry.plugins_of(registry.BACKENDS[backend], prompt):
            options[PLUGIN] = plugins
    if prompt.needs_answer:
        options[ANSWERS_BY] = (
            reading.source.fingerprint
            if reading.source and prompt.kinds <= kinds_of(reading.source)
            else spec_for(backend, llm, _extraction(prompt, reading.among), chosen=chosen).fingerprint
        )
    return GraderSpec(backend, llm, prompt.prompt_class, options)


def _extraction(verifying: Prompt, among: Iterable[Prompt]) -> Prompt:
    published = (prompts.get(prompt_class) for prompt_class in registry.EXTRACTION)
    return next(prompt for prompt in (*among, *published) if extracts_for(verifying, prompt))


def config_asking(
    backend: str,
    llm: str,
    prompt: Prompt,
    reading: AnswerSource = AnswerSource(),
    chosen: Chosen = NOTHING_CHOSEN,
) -> GraderConfig:
    """Return the config of this prompt; for a verifying one, the extracting config is made too."""
    if prompt.needs_answer:
        config_of(spec_for(backend, llm, _extraction(prompt, reading.among), chosen=chosen))
    return config_of(spec_for(backend, llm, prompt, reading, chosen))


def reading_of(collection: Collection) -> AnswerSource:
    """Return the answer source that the settings choose."""
    chosen = GraderConfig.objects.filter(fingerprint=collection.answers_by) if collection.answers_by else None
    return AnswerSource(active_prompts(collection), chosen.first() if chosen else None)


def options_of(collection: Collection, backend: str) -> Chosen:
    """Return the collection's options for this back-end; none for a back-end other than its own."""
    return collection.grader_options if backend == collection.grader_backend else NOTHING_CHOSEN


def running_spec(job: GradingJob) -> GraderSpec:
    """Return the spec that a worker runs: the frozen config, with options for speed and device.

    The job's options take precedence over the collection's present ones.
    """
    spec, backend = spec_of(job.config), registry.BACKENDS.get(job.config.backend)
    if backend is None:
        return spec
    running = backend.running_options({**options_of(job.collection, backend.name), **job.options})
    return replace(spec, options={**spec.options, **running})


def imported_config(
    llm: str, prompt_class: str, purpose: Purpose, options: Chosen = NOTHING_CHOSEN
) -> GraderConfig:
    """Return the config of grades from a file; it cannot be run, and its prompt may be unknown.

    Options that have the names of our prompt and answer source are left out.
    """
    kept = {name: value for name, value in options.items() if name not in (PROMPT, ANSWERS_BY)}
    spec = GraderSpec(registry.IMPORTED, llm, prompt_class, kept)
    return _get(spec, purpose, _of_imported(spec, purpose))


def _of_imported(spec: GraderSpec, purpose: str) -> str:
    """Return the fingerprint of the config of grades from a file."""
    parts = [registry.IMPORTED, spec.llm, spec.prompt_class, purpose]
    if spec.frozen:
        parts.append(json.dumps(spec.frozen, sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _get(spec: GraderSpec, purpose: Purpose, fingerprint: str) -> GraderConfig:
    fields = {
        "backend": spec.backend,
        "llm": spec.llm,
        "prompt_class": spec.prompt_class,
        "purpose": purpose,
        "options": spec.frozen,
    }
    config, _ = GraderConfig.objects.get_or_create(fingerprint=fingerprint, defaults=fields)
    return config


def require_genuine(config: GraderConfig) -> None:
    """Raise ValueError for a config that differs from its fingerprint, as one from an archive may."""
    options, own = dict(config.options), config.options.get(PROMPT)
    if config.backend == registry.IMPORTED:
        spec = GraderSpec(registry.IMPORTED, config.llm, config.prompt_class, options)
        fingerprints = {_of_imported(spec, config.purpose)}
    else:
        spec = spec_of(config)
        if own:
            versions = [prompts.from_options(config.prompt_class, own).version]
        else:
            versions = [str(number) for number in range(1, MOST_VERSIONS + 1)]
        fingerprints = {spec.fingerprint_of(f"{config.prompt_class}@{version}") for version in versions}
        if own or config.prompt_class in {prompt.prompt_class for prompt in prompts.published()}:
            _require(spec.prompt.purpose == config.purpose, f"its prompt {spec.prompt.purpose}s")
    _require(config.fingerprint in fingerprints, "its fingerprint is not that of its contents")
    scalars = (value for name, value in options.items() if name != PROMPT)
    _require(
        all(isinstance(value, str | int | float | bool) for value in scalars), "an option is no plain value"
    )


def _require(fits: bool, problem: str) -> None:
    if not fits:
        raise ValueError(problem)


def spec_of(config: GraderConfig) -> GraderSpec:
    return GraderSpec(config.backend, config.llm, config.prompt_class, config.options)


def is_in_context(config: GraderConfig) -> bool:
    """Return whether it grades passages with what their answers say before them, which are in no pool."""
    own = config.options.get(PROMPT)
    return bool(own) and own["template"].startswith(INSTRUCTION)


def active_configs(collection: Collection) -> list[GraderConfig]:
    """Return what Re-grade runs in this collection: a config for each active prompt."""
    backend, llm, reading = collection.grader_backend, collection.grader_llm, reading_of(collection)
    chosen = options_of(collection, backend)
    return [config_asking(backend, llm, prompt, reading, chosen) for prompt in reading.among]


def planned_configs(collection: Collection) -> list[GraderConfig]:
    """Return what `active_configs` returns, for readers: configs nobody has saved yet are drafts."""
    backend, llm, reading = collection.grader_backend, collection.grader_llm, reading_of(collection)
    chosen = options_of(collection, backend)
    drafts = config_drafts(spec_for(backend, llm, prompt, reading, chosen) for prompt in reading.among)
    for prompt, draft in zip(reading.among, drafts, strict=True):
        if prompt.needs_answer and draft.pk < 0:
            extraction = config_draft(
                spec_for(backend, llm, _extraction(prompt, reading.among), chosen=chosen)
            )
            draft.extraction = extraction if extraction.fingerprint == draft.options[ANSWERS_BY] else None
    return drafts


def kinds_of(config: GraderConfig) -> frozenset[ItemKind]:
    """Return the kinds of items that the config grades, guessed from the name of an unknown prompt class."""
    try:
        return spec_of(config).prompt.kinds
    except UnknownPrompt:
        pass
    if config.purpose == Purpose.DIRECT:
        return frozenset({ItemKind.DIRECT})
    return frozenset({ItemKind.NUGGET if config.prompt_class.startswith("Nugget") else ItemKind.QUESTION})


def scale_of(config: GraderConfig) -> Scale:
    """Return the lowest and the highest rating; the whole scale for an unknown prompt."""
    if config.prompt_class in SCALES:
        return SCALES[config.prompt_class][0]
    prompt = _prompt(config)
    return prompt.scale if prompt and prompt.scale else WHOLE_SCALE


def possible_ratings(config: GraderConfig) -> tuple[int, ...]:
    """Return the ratings that the grader may give, the highest first; CONTRADICTS, where it may, is last."""
    lowest, highest = scale_of(config)
    prompt = _prompt(config)
    labels = dict(prompt.labels).values() if prompt else ()
    return (*range(highest, lowest - 1, -1), *([CONTRADICTS] if CONTRADICTS in labels else ()))


def default_min_grade(config: GraderConfig) -> int:
    """Return the threshold that the prompt states.

    Every screen, form, command and file takes its default from here. Unknown prompts, which came with a file,
    have 4 if they rate, and 1 if they label or verify.
    """
    if config.prompt_class in SCALES:
        return SCALES[config.prompt_class][1]
    prompt = _prompt(config)
    if prompt and prompt.min_grade is not None:
        return prompt.min_grade
    return USUAL_MIN_GRADE if config.purpose == Purpose.RATE else MIN_RATING + 1


def threshold_note(config: GraderConfig) -> str:
    """Return a sentence beside the default threshold of an unknown prompt; else empty."""
    if config.prompt_class in SCALES or _prompt(config):
        return ""
    graded = "grades" if config.purpose == Purpose.RATE else "labels"
    least = default_min_grade(config)
    return f"The prompt {config.prompt_class} is not known here: its {graded} count from {least} by default."


def within_scale(config: GraderConfig, min_grade: int | None) -> int:
    """Limit the threshold to the grader's highest rating."""
    if min_grade is None:
        return default_min_grade(config)
    return min(min_grade, scale_of(config)[1])


def name_of(config: GraderConfig, rating: int | None) -> str:
    """Return the prompt's name of the rating; empty if it has only the number."""
    prompt = _prompt(config)
    name = prompt.label_of(rating) if prompt and rating is not None else ""
    return "" if name == str(rating) else name.replace("_", " ")


def _prompt(config: GraderConfig) -> Prompt | None:
    try:
        return spec_of(config).prompt
    except (UnknownPrompt, BadPrompt):
        return None
