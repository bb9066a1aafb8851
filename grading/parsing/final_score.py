"""The score that closes a reply which may reason first, as UMBRELA's does (Upadhyay et al. 2024)."""

from __future__ import annotations

import re

from grading.errors import ParseFailure
from grading.parsing.prose import Scale
from grading.parsing.rating import OnUnparsable, json_objects, parse_rating
from grading.parsing.words import plain
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

# "##final score: 2", "**Final Score** = 2/3"; not "final score: 2.5", "final score: 20".
_FINAL = re.compile(
    r"\bfinal[\s_]+score\b(?:\W*\([^()\n]{0,20}\))?(?:\s+is\b)?[^\w.\n%-]*(?P<number>[0-9]+)(?!\w|[.,][0-9]|%)",
    re.IGNORECASE,
)


def parse_final_score(
    reply: str, *, scale: Scale = (MIN_RATING, MAX_RATING), on_unparsable: OnUnparsable = "default"
) -> ParsedRating:
    """The last "final score: n" decides, else the last JSON object's "O", else the rules of `parse_rating`.

    A last score out of the scale is no rating, whatever was said before it.
    """
    text = plain(reply)
    finals = [match["number"] for match in _FINAL.finditer(text)]
    overall = [str(entry[key]) for entry in json_objects(text) for key in ("O", "o") if key in entry]
    for stated in (finals, overall):
        if stated:
            return _last(stated[-1], scale, on_unparsable)
    return parse_rating(reply, scale=scale, on_unparsable=on_unparsable)


def _last(stated: str, scale: Scale, on_unparsable: OnUnparsable) -> ParsedRating:
    low, high = scale
    if re.fullmatch(r"[0-9]{1,3}", stated) and low <= int(stated) <= high:
        return ParsedRating(int(stated), Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure(f"the final score is not from {low} to {high}")
    return ParsedRating(min(low + 1, high), Outcome.DEFAULTED)
