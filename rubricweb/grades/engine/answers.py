"""What a verifying prompt asks about: the answers that its model extracted before, with another prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from grading.errors import BadPrompt, UnknownPrompt
from grading.graders.base import ANSWERS_BY
from grading.graders.registry import IMPORTED
from grading.prompts import ParseRule, Prompt
from grading.types import Outcome
from rubricweb.grades.configs import spec_of
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.querysets import GradeQuerySet

Cell = tuple[int, int]
"""(revision pk, passage pk)."""


def prompt_of(config: GraderConfig) -> Prompt | None:
    """What the config asks; None of one that came in a file, or whose words are not known any more."""
    if config.backend == IMPORTED:
        return None
    try:
        return spec_of(config).prompt
    except (UnknownPrompt, BadPrompt):
        return None


def reads_answers(config: GraderConfig) -> bool:
    """Does it ask about extracted answers? A cell without one cannot be graded yet."""
    prompt = prompt_of(config)
    return prompt is not None and prompt.needs_answer


def asks_with_key(config: GraderConfig) -> bool:
    """Are accepted answers among the words that the model reads? Its grades then hold for these only."""
    prompt = prompt_of(config)
    return prompt is not None and prompt.needs_key and prompt.rule is not ParseRule.ANSWER_KEY


def answers_for(config: GraderConfig, revisions: Iterable[int], passages: Iterable[int]) -> dict[Cell, str]:
    """The extracted answers to these wordings in these passages that `config` verifies."""
    if not reads_answers(config):
        return {}
    rows = _extracted(config).filter(revision__in=set(revisions), passage__in=set(passages))
    found = rows.values_list("revision_id", "passage_id", "answer")
    return {(revision, passage): answer for revision, passage, answer in found}


def answered_cells(config: GraderConfig, topic_ids: Iterable[int]) -> dict[int, set[Cell]]:
    """By topic: the cells that have an answer to verify."""
    rows = _extracted(config).for_topics(list(topic_ids))
    cells: dict[int, set[Cell]] = defaultdict(set)
    for topic_id, revision, passage in rows.values_list("topic_id", "revision_id", "passage_id").iterator(
        10_000
    ):
        cells[topic_id].add((revision, passage))
    return cells


def source_of(config: GraderConfig) -> GraderConfig | None:
    """The config that extracts what `config` verifies."""
    saved = GraderConfig.objects.filter(fingerprint=config.options.get(ANSWERS_BY, "")).first()
    return saved or config.extraction


def _extracted(config: GraderConfig) -> GradeQuerySet:
    source = GraderConfig.objects.filter(fingerprint=config.options.get(ANSWERS_BY, ""))
    return Grade.objects.filter(config__in=source, outcome=Outcome.EXTRACTED)
