"""What a reply was read as."""

from __future__ import annotations

from typing import NamedTuple

from grading.types import Outcome


class ParsedRating(NamedTuple):
    """A rating in its scale, and how it was found: only NUMERIC was said as a number (or yes/no)."""

    rating: int
    outcome: Outcome
