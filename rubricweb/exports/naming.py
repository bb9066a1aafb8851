"""Names of exported files."""

from __future__ import annotations

import re

from rubricweb.grades.human_matrices import Source
from rubricweb.leaderboards.board.types import BoardSpec

UNSAFE = re.compile(r"[^A-Za-z0-9.@_-]+")


def qrels_name(spec: BoardSpec) -> str:
    """`<collection>_<grader>_<bank>_<mode>.qrels`, with every option of `spec` that is not the default."""
    measure = spec.measure
    mode = str(measure.mode) if measure.mode == "max" else f"{measure.mode}{measure.min_grade}"
    by = f"m{measure.min_answers}" if measure.min_answers > 1 else ""
    source = "" if spec.source is Source.GRADER else str(spec.source)
    units = "subtopics" if spec.by_subtopic else ""
    definition = str(measure.definition) if measure.is_workbench else ""
    return joined(*_whose(spec), _version(spec), source, units, definition, mode, by) + ".qrels"


def leaderboard_name(spec: BoardSpec, form: str = "tsv") -> str:
    measure = f"{spec.measure.label}_t{spec.measure.min_grade}"
    topics = spec.topic_slice.token if spec.topic_slice else ""
    return joined(*_whose(spec), _version(spec), topics, spec.topic, spec.facet, measure) + f".{form}"


def _whose(spec: BoardSpec) -> tuple[str, ...]:
    config, bank = spec.config, spec.bank.name if spec.bank else ""
    return (
        spec.collection.slug,
        config.llm,
        config.prompt_class,
        config.of_answers,
        config.settings_words,
        bank,
    )


def _version(spec: BoardSpec) -> str:
    return f"version{spec.version.number}" if spec.version else ""


def joined(*parts: str) -> str:
    return "_".join(UNSAFE.sub("-", part).strip("-.") for part in parts if part)
