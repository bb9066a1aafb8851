"""What a reply was read as."""

from __future__ import annotations

from typing import NamedTuple

from grading.types import Outcome


class ParsedRating(NamedTuple):
    """A rating in its scale, and how it was found: only NUMERIC was said: a number, yes, no or a label."""

    rating: int
    outcome: Outcome


class Parsed(NamedTuple):
    """All that a reply says: a rating, an answer, or both."""

    rating: int | None
    outcome: Outcome
    answer: str = ""
