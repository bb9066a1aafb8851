"""Raw model text to a rating, or to an honest statement that it holds none."""

from grading.parsing.parsed import ParsedRating
from grading.parsing.rating import parse_rating
from grading.parsing.words import is_unanswerable, parse_yes_no

__all__ = ["ParsedRating", "is_unanswerable", "parse_rating", "parse_yes_no"]
