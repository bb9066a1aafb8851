"""The scale of a grader's ratings: what its prompt asks for, from where on it counts, and its names."""

from __future__ import annotations

from grading.errors import BadPrompt, UnknownPrompt
from grading.prompts import Prompt, usual_min_grade
from grading.types import MAX_RATING, MIN_RATING, Purpose
from rubricweb.grades.configs import spec_of
from rubricweb.grades.models import GraderConfig

Scale = tuple[int, int]

WHOLE_SCALE: Scale = (MIN_RATING, MAX_RATING)
PAPERS_MIN_GRADE = usual_min_grade(Purpose.RATE, WHOLE_SCALE)
"""4 of the scale 0 to 5 (TREMA-UNH at TREC RAG, 6.3.1), for prompts that are not known here."""


def scale_of(config: GraderConfig) -> Scale:
    """Lowest and highest rating; of a prompt that is not known here, the whole scale."""
    prompt = _prompt(config)
    return prompt.scale if prompt and prompt.scale else WHOLE_SCALE


def default_min_grade(config: GraderConfig) -> int:
    """The lowest rating that covers, or is relevant, where nobody chose another: as the prompt states it.

    Every screen, form, command and file takes its default from here. Prompts that are not known here, which
    came with a file, count from 4 where they rate, and from 1 where they label or verify.
    """
    prompt = _prompt(config)
    if prompt and prompt.min_grade is not None:
        return prompt.min_grade
    return PAPERS_MIN_GRADE if config.purpose == Purpose.RATE else MIN_RATING + 1


def threshold_note(config: GraderConfig) -> str:
    """A sentence to stand beside the default threshold of a prompt that is not known here; else nothing."""
    if _prompt(config):
        return ""
    graded = "grades" if config.purpose == Purpose.RATE else "labels"
    least = default_min_grade(config)
    return f"The prompt {config.prompt_class} is not known here: its {graded} count from {least} by default."


def within_scale(config: GraderConfig, min_grade: int | None) -> int:
    """A threshold that this grader can reach: of one that is beyond its scale, the highest rating."""
    if min_grade is None:
        return default_min_grade(config)
    return min(min_grade, scale_of(config)[1])


def name_of(config: GraderConfig, rating: int | None) -> str:
    """What the prompt calls the rating; empty where that is only its number."""
    prompt = _prompt(config)
    name = prompt.label_of(rating) if prompt and rating is not None else ""
    return "" if name == str(rating) else name.replace("_", " ")


def _prompt(config: GraderConfig) -> Prompt | None:
    try:
        return spec_of(config).prompt
    except (UnknownPrompt, BadPrompt):
        return None
