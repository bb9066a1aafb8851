"""The score that closes a reply which may reason first, as UMBRELA's does (Upadhyay et al. 2024)."""

from __future__ import annotations

import re

from grading.errors import ParseFailure
from grading.parsing.prose import NUMBER, Scale, in_scale
from grading.parsing.rating import OnUnparsable, in_digits, json_objects, json_rating, parse_rating
from grading.parsing.words import plain, unboxed
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

_GAP = r"(?:[^\w.\n%-]|_){0,20}\n?(?:[^\w.\n%-]|_){0,20}(?=-?[0-9])"
# "##final score: 2", "**Final Score** = 2/3", "The final score for this passage is 2".
_FINAL = re.compile(
    r"\bfinal[\s_]+(?:relevance\s+)?(?:score|rating)\b(?:\W{0,9}\([^()\n]{0,20}\))?"
    rf"(?:(?:\s+for\s+\w+\s+\w+)?\s+(?:is|would\s+be)\b)?{_GAP}",
    re.IGNORECASE,
)
# UMBRELA's steps: "M: 3, T: 1, O: 2", "overall (O): 2"
_OVERALL = re.compile(rf"(?<!\w)[Oo]\)?(?:\*\*)?(?:\s*\([a-z ]{{1,20}}\))?\s*[:=]{_GAP}")


def parse_final_score(
    reply: str, *, scale: Scale = (MIN_RATING, MAX_RATING), on_unparsable: OnUnparsable = "default"
) -> ParsedRating:
    """The last "final score: n" decides, else the last "O", else the rules of `parse_rating`.

    A last score that is not on the scale is no rating, whatever was said before it.
    """
    text = in_digits(unboxed(plain(reply)))
    in_json = [
        json_rating(entry[key], scale) for entry in json_objects(text) for key in ("O", "o") if key in entry
    ]
    for ratings in (_after(_FINAL, text, scale), in_json, _after(_OVERALL, text, scale)):
        if ratings:
            return _last(ratings[-1], scale, on_unparsable)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)


def _after(lead_in: re.Pattern[str], text: str, scale: Scale) -> list[int | None]:
    numbers = [NUMBER.match(text, match.end()) for match in lead_in.finditer(text)]
    return [in_scale(number, scale) if number else None for number in numbers]


def _last(rating: int | None, scale: Scale, on_unparsable: OnUnparsable) -> ParsedRating:
    low, high = scale
    if rating is not None:
        return ParsedRating(rating, Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure(f"the final score is not from {low} to {high}")
    return ParsedRating(min(low + 1, high), Outcome.DEFAULTED)
