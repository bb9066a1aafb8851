"""Parse raw model text to a rating or a label, or report that it holds none."""

from grading.parsing.rating import OnUnparsable, parse_final_score, parse_label, parse_rating, parse_yes_no
from grading.parsing.words import is_stated_unanswerable, is_unanswerable
from grading.types import Parsed, ParsedRating

__all__ = [
    "OnUnparsable",
    "Parsed",
    "ParsedRating",
    "is_stated_unanswerable",
    "is_unanswerable",
    "parse_final_score",
    "parse_label",
    "parse_rating",
    "parse_yes_no",
]
