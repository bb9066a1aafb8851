"""The scale of a grader's ratings: its range, its threshold and its names, as the prompt states them."""

from __future__ import annotations

from grading.errors import BadPrompt, UnknownPrompt
from grading.formats.nugget_grades import SCALES
from grading.prompts import Prompt, usual_min_grade
from grading.types import MAX_RATING, MIN_RATING, Purpose
from rubricweb.grades.configs import spec_of
from rubricweb.grades.models import GraderConfig

Scale = tuple[int, int]

WHOLE_SCALE: Scale = (MIN_RATING, MAX_RATING)
PAPERS_MIN_GRADE = usual_min_grade(Purpose.RATE, WHOLE_SCALE)
"""4 of the scale 0 to 5 (TREMA-UNH at TREC RAG, 6.3.1), for unknown prompts."""


def scale_of(config: GraderConfig) -> Scale:
    """Lowest and highest rating; the whole scale for an unknown prompt."""
    if config.prompt_class in SCALES:
        return SCALES[config.prompt_class][0]
    prompt = _prompt(config)
    return prompt.scale if prompt and prompt.scale else WHOLE_SCALE


def default_min_grade(config: GraderConfig) -> int:
    """The threshold that the prompt states.

    Every screen, form, command and file takes its default from here. Unknown prompts, which came with a file,
    have 4 if they rate, and 1 if they label or verify.
    """
    if config.prompt_class in SCALES:
        return SCALES[config.prompt_class][1]
    prompt = _prompt(config)
    if prompt and prompt.min_grade is not None:
        return prompt.min_grade
    return PAPERS_MIN_GRADE if config.purpose == Purpose.RATE else MIN_RATING + 1


def threshold_note(config: GraderConfig) -> str:
    """A sentence beside the default threshold of an unknown prompt; else empty."""
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
    """The prompt's name of the rating; empty if it has only the number."""
    prompt = _prompt(config)
    name = prompt.label_of(rating) if prompt and rating is not None else ""
    return "" if name == str(rating) else name.replace("_", " ")


def _prompt(config: GraderConfig) -> Prompt | None:
    try:
        return spec_of(config).prompt
    except (UnknownPrompt, BadPrompt):
        return None
