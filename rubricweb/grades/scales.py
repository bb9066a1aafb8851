"""The scale of a grader's ratings: what its prompt asks for, and what the ratings are called."""

from __future__ import annotations

import math

from grading.errors import BadPrompt, UnknownPrompt
from grading.prompts import Prompt
from grading.types import MAX_RATING, MIN_RATING, Purpose
from rubricweb.grades.configs import spec_of
from rubricweb.grades.models import GraderConfig

Scale = tuple[int, int]

WHOLE_SCALE: Scale = (MIN_RATING, MAX_RATING)
HIGH_SHARE = 0.8
"""From here on a rating covers an item: 4 of the scale 0 to 5 (TREMA-UNH at TREC RAG, 6.3.1)."""


def scale_of(config: GraderConfig) -> Scale:
    """Lowest and highest rating; of a prompt that is not known here, the whole scale."""
    prompt = _prompt(config)
    return prompt.scale if prompt and prompt.scale else WHOLE_SCALE


def default_min_grade(config: GraderConfig) -> int:
    """The first rating that covers where nobody chose another: 4 of 0 to 5, 3 of 0 to 3, 2 of 0 to 2.

    Of direct labels and of verified answers it is 1.
    """
    if config.purpose != Purpose.RATE:
        return 1
    lowest, highest = scale_of(config)
    return lowest + math.ceil(HIGH_SHARE * (highest - lowest))


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
