"""The number that a reply says (Farzi and Dietz 2024: EXAM++ 4.2.2, RUBRIC 4.2.1).

1. NUMERIC: the reply says one integer of the scale, as itself ("4", "**4**"), at its start
   ("5: The answer ..."), in a sentence that rates ("Rating: 4", "I would rate this a 4"; prose.py), out of
   the whole scale ("4/5"), on a line of its own, or as JSON.
2. UNANSWERABLE, rating 0: it is empty or ill-formed, or one of the papers' expressions.
3. DEFAULTED, rating 1: anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from grading.errors import ParseFailure
from grading.parsing.prose import NUMBER, Scale, in_prose, in_scale
from grading.parsing.words import bare, is_unanswerable, plain
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

OnUnparsable = Literal["default", "fail"]

_SHORT = 48
"""Replies up to this many characters are cached: models repeat the same few."""
_MAX_BRACES = 20
"""Opening braces that are tried as the start of a JSON object."""
_JSON_KEYS = ("grade", "rating", "score")

# What may stand between a leading number and its text; "3-year-old", "4 people" and "3: 5" are no ratings.
_CLOSERS = r"[*_`\"')\]}]"
_SEPARATOR = re.compile(
    rf"{_CLOSERS}*(?:\s*[:;=\u2014)\]}}]|[.,]\s|\s+[-\u2013]|[-\u2013]\s|[ \t]*\n)\W*(?![0-9])\w"
)
_CLOSED = re.compile(rf"{_CLOSERS}+\s\W*(?![0-9])\w")
# A number that is explained at once, as in "4 because it names the cause" or "4 (mostly relevant)".
_EXPLAINED = re.compile(
    rf"{_CLOSERS}*\s+(?:because|since|based\s+on|due\s+to|on\s+(?:a|the|this)\s+(?:\S+\s+)?scale)\b"
    r"|\s*\([^()0-9\n]{1,80}\)\s*(?:[.,;:!\n]|$)",
    re.IGNORECASE,
)


def parse_rating(
    reply: str,
    *,
    scale: Scale = (MIN_RATING, MAX_RATING),
    on_unparsable: OnUnparsable = "default",
) -> ParsedRating:
    """Parse a raw reply as a rating in `scale` (both ends included), with its outcome.

    With on_unparsable="fail" a reply without a rating raises ParseFailure instead of counting as 1.
    """
    parsed = _remembered(reply, scale) if len(reply) <= _SHORT else _parse(reply, scale)
    if parsed.outcome is Outcome.DEFAULTED and on_unparsable == "fail":
        raise ParseFailure(f"the reply holds no rating from {scale[0]} to {scale[1]}")
    return parsed


def _parse(reply: str, scale: Scale) -> ParsedRating:
    text = plain(reply)
    for reading in (_in_json, _in_the_open, in_prose):
        rating = reading(text, scale)
        if rating is not None:
            return ParsedRating(rating, Outcome.NUMERIC)
    if is_unanswerable(text):
        return ParsedRating(scale[0], Outcome.UNANSWERABLE)
    return ParsedRating(min(scale[0] + 1, scale[1]), Outcome.DEFAULTED)


_remembered = lru_cache(maxsize=4096)(_parse)


def _in_the_open(text: str, scale: Scale) -> int | None:
    """A number that is the whole text, or begins it and is set off from what follows."""
    match = NUMBER.search(text)
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    is_first = not bare(before)
    is_set_off = _SEPARATOR.match(after) or _EXPLAINED.match(after) or (before and _CLOSED.match(after))
    if is_first and (not bare(after) or is_set_off):
        return in_scale(match, scale)
    return None


def _in_json(text: str, scale: Scale) -> int | None:
    """From the first JSON object that has a grade, rating or score."""
    for entry in json_objects(text):
        by_key = {key.lower(): value for key, value in entry.items()}
        for key in _JSON_KEYS:
            if key in by_key:
                return _integer_in_scale(by_key[key], scale)
    return None


def json_objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the JSON objects in the text, whatever surrounds them; stop after some tries."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    for _ in range(_MAX_BRACES):
        if start < 0:
            return
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield value
        start = text.find("{", start + 1)


def _integer_in_scale(value: object, scale: Scale) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,3}\s*", value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and scale[0] <= value <= scale[1]:
        return value
    return None
