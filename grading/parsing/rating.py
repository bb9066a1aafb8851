"""The number that a reply says (Farzi and Dietz 2024: EXAM++ 4.2.2, RUBRIC 4.2.1).

1. NUMERIC: the reply says one integer of the scale, as itself ("4", "**4**", "4.0", "four"), at its start
   ("5: The answer ..."), in a sentence that rates ("Rating: 4", "I would rate this a 4"; prose.py), out of
   the whole scale ("4/5"), on a line of its own, in a \\boxed, as stars or as JSON.
2. UNANSWERABLE, rating 0: it is empty or ill-formed, or one of the papers' expressions.
3. DEFAULTED, rating 1: anything else. A decimal between two ratings (3.5) is rounded to neither.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from grading.errors import ParseFailure
from grading.parsing.prose import NUMBER, Scale, in_prose, in_scale, without_denied
from grading.parsing.words import LABELS, bare, boxed, is_unanswerable, plain
from grading.types import MAX_RATING, MIN_RATING, Outcome, ParsedRating

OnUnparsable = Literal["default", "fail"]

_SHORT = 48
"""Replies up to this many characters are cached: models repeat the same few."""
_MAX_BRACES = 20
"""Opening braces that are tried as the start of a JSON object."""
# "rating", "Final Rating", "relevance_score", "selfRating"; not "max_score", "confidence_score".
_RATING_KEY = re.compile(r"(?!max|min|conf)[a-z_ -]{0,30}(?:grade|rating|score)|level", re.IGNORECASE)
_REPLY_KEY = re.compile(rf"answer|label|response|{LABELS}", re.IGNORECASE)

# What may stand between a leading number and its text; "3-year-old", "4 people" and "3: 5" are no ratings.
_CLOSERS = r"[*_`\"')\]}]"
_SEPARATOR = re.compile(
    rf"{_CLOSERS}*(?:\s*[:;=\u2014)\]}}]|[.,]{{1,3}}\s|\s+[-\u2013]|[-\u2013]\s|[ \t]*\n)\W*(?![0-9])\w"
)
_CLOSED = re.compile(rf"{_CLOSERS}+\s\W*(?![0-9])\w")
# A number that is explained at once, as in "4 because it names the cause" or "4 (mostly relevant)".
_EXPLAINED = re.compile(
    rf"{_CLOSERS}*\s+(?:because|since|based\s+on|due\s+to|on\s+(?:a|the|this)\s+(?:\S+\s+)?scale)\b"
    r"|\s+(?:The|This|It)\s"
    r"|\s*\([^()0-9\n]{1,80}\)\s*(?:[.,;:!\n]|$)",
    re.IGNORECASE,
)
_NEXT_ENTRY = re.compile(r"(?:^|[\n,;])\W*([0-9]{1,3})\s*[.:=)]\s*[^\W\d]")

_DIGIT_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
# "one" is a pronoun, too.
_DIGIT_WORD = re.compile(
    r"\b(?:zero|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"|(?:(?<=[:=] )|(?<=[:=])|^)one\b|\bone(?=\s+(?:stars?|points?|out\s+of))",
    re.IGNORECASE,
)
_WORD_AND_DIGIT = re.compile(r"\b([a-z]+)\s*\(\s*([0-9]{1,2})\s*\)", re.IGNORECASE)
_CJK_NUMERAL = re.compile("[零〇一二三四五六七八九十]")
_STARS = re.compile(r"([★⭐]{1,10})([☆]{0,9})")


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
    for stated in (boxed(text), text):
        rating = _stated(stated, scale) if stated else None
        if rating is not None:
            return ParsedRating(rating, Outcome.NUMERIC)
    if is_unanswerable(text):
        return ParsedRating(scale[0], Outcome.UNANSWERABLE)
    return ParsedRating(min(scale[0] + 1, scale[1]), Outcome.DEFAULTED)


_remembered = lru_cache(maxsize=4096)(_parse)


def _stated(text: str, scale: Scale) -> int | None:
    """Return the rating that plain text states."""
    if in_json := _in_json(text, scale):
        return in_json.pop()
    if stars := _STARS.fullmatch(text):
        full, empty = map(len, stars.groups())
        return full if full <= scale[1] and (not empty or full + empty == scale[1]) else None
    text = without_denied(in_digits(text))
    rating = _in_the_open(text, scale)
    return in_prose(text, scale) if rating is None else rating


def _in_the_open(text: str, scale: Scale) -> int | None:
    """A number that is the whole text, or begins it and is set off from what follows."""
    match = NUMBER.search(text)
    if match is None or match["among"]:
        return None
    before, after = text[: match.start()], text[match.end() :]
    is_first = not bare(before)
    is_set_off = _SEPARATOR.match(after) or _EXPLAINED.match(after) or (before and _CLOSED.match(after))
    if is_first and (not bare(after) or (is_set_off and not _is_listed(match, after))):
        return in_scale(match, scale)
    return None


def _is_listed(match: re.Match[str], after: str) -> bool:
    """Return whether a number is the first of a list, or of a scale that the model repeats."""
    following = _NEXT_ENTRY.search(after)
    return following is not None and abs(int(following[1]) - int(match["number"][:4])) == 1


def in_digits(text: str) -> str:
    """Return text whose number words are digits: "four (4)" is 4, and "four" is 4 where no digit is."""

    def _digit(match: re.Match[str]) -> str:
        return str(_DIGIT_WORDS.index(match[0].lower()))

    def _only_digit(match: re.Match[str]) -> str:
        word, digits = match[1].lower(), match[2]
        return digits if word in _DIGIT_WORDS and _DIGIT_WORDS.index(word) == int(digits) else match[0]

    if re.search("[0-9]", text):
        return _WORD_AND_DIGIT.sub(_only_digit, text)
    if len(_CJK_NUMERAL.findall(text)) == 1:
        return _CJK_NUMERAL.sub(lambda match: f" {unicodedata.numeric(match[0]):.0f} ", text)
    return _DIGIT_WORD.sub(_digit, text)


def _in_json(text: str, scale: Scale) -> set[int | None]:
    """Return the value of the first JSON object that has a grade, rating or score; nothing where none has."""
    for entry in json_objects(text):
        values = [(key, value) for key, value in entry.items() if not isinstance(value, dict)]
        for key, value in values:
            if _RATING_KEY.fullmatch(key):
                return {json_rating(value, scale)}
        replies = (json_rating(value, scale) for key, value in values if _REPLY_KEY.fullmatch(key))
        if ratings := set(replies) - {None}:
            return {ratings.pop()} if len(ratings) == 1 else {None}
    return set()


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


def json_rating(value: object, scale: Scale) -> int | None:
    """Return the rating that a JSON value is ("4", 4.0) or states ("4 - mostly relevant")."""
    if isinstance(value, str):
        text = in_digits(value)
        rating = _in_the_open(text, scale)
        return in_prose(text, scale) if rating is None else rating
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and scale[0] <= value <= scale[1]:
        return value
    return None
