"""The number that a reply says in words: "I would rate this passage a 4 out of 5.", "Rating: 4".

Three readings, the first that finds a rating decides; where it finds several, there is none:

1. After a lead-in: a noun ("rating", "grade", "score", "code", "answer"), a first person who rates ("I would
   rate ... a 4", "I'd give this a 4"), or a stated scale ("On a scale of 0 to 5, this is 4").
2. After "is a", "deserves a" and the like: "This is a solid 4."
3. Out of the whole scale ("4 out of 5"), or on a line of its own.

A number that counts something is no rating: "I would give 3 reasons", "4 out of 5 people".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

Scale = tuple[int, int]

_DIGITS = 3
"""A longer number is on no scale."""
_EITHER_END = 2000
"""Characters that are read at the beginning and at the end of a long reply."""

# An integer, perhaps out of another one; no sign, decimal, share or range: not -1, 4.5, 4%, 3-4, "3 or a 4".
NUMBER = re.compile(
    r"(?<![^\W_])(?<![.,/\u2212\u2013-])(?P<number>[0-9]+)"
    r"(?:\s*/\s*(?P<of>[0-9]+)|\s+out\s+of\s+(?:a\s+possible\s+)?(?P<out_of>[0-9]+))?"
    r"(?![^\W_]|%|[.,:/][0-9]|\s+out\s+of\b"
    r"|[ \t]*(?:[-\u2013\u2014/,]|\b(?:to|or|and)\b(?:\s+an?\b)?)[ \t]*[0-9])"
)
# What may follow a number that counts nothing: "4.", "4)", "4 because", "4 on a scale"; not "4 years".
_ALONE = re.compile(
    r"[\s\"'\u2019\u201d)\]}]*(?:$|[.,;:!?(\u2013\u2014-]|\n)"
    r"|\s+(?:because|as|since|for|based|due|given|with|which|meaning|indicating|overall|but|at\s+(?:best|most)"
    r"|to\s+(?:the|this|it)|in\s+(?:terms|relevance)|on\s+(?:a|the|this)\s+(?:\S+\s+)?scale|stars?\b|rating|grade|score)\b",
    re.IGNORECASE,
)
_LINE = re.compile(rf"^[ \t\"'(\[]*(?={NUMBER.pattern}[ \t\"')\].!]*$)", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|(?<![^\W_])_+|_+(?![^\W_])")

_AT_MOST = r"(?:(?!\b(?:out|not|never|than|least|between|from|above|below|over|under)\b)[^0-9\n.?!])"
_I_RATE = (
    r"\b(?:i|we)\b(?:(?!\b(?:not|never|cannot)\b|n['\u2019]t\b)[^0-9\n.?!]){0,40}?"
    r"\b(?:rate|rated|score|scored|grade|graded|give|gave|assign|assigned|choose|chose|select|pick|say)\b"
    + _AT_MOST
    + r"{0,60}?(?=[0-9])"
)
_IS_A = re.compile(
    r"(?<!not )(?<!not be )(?<!n't )(?<!n\u2019t )"
    r"(?:\b(?:is|be|was|rated|scored|graded|given|assigned"
    r"|gets?|receives?|deserves?|earns?|merits?|warrants?|scores?|rates?)\b|['\u2019]s\b)"
    r"(?:\s+(?:as|at))?\s+an?\s+(?:(?:solid|strong|clear|definite|perfect|weak|high|low)\s+)?(?=[0-9])",
    re.IGNORECASE,
)


def in_prose(text: str, scale: Scale) -> int | None:
    """Return the rating that the text states; None if it states none, or several that disagree."""
    if len(text) > 2 * _EITHER_END:
        text = text[:_EITHER_END] + "\n" + text[-_EITHER_END:]
    text = _EMPHASIS.sub("", text)
    readings: tuple[Callable[[str, Scale], set[int]], ...] = (_after_lead_in, _is_a, _whole_or_line)
    for reading in readings:
        if ratings := reading(text, scale):
            return ratings.pop() if len(ratings) == 1 else None
    return None


def in_scale(match: re.Match[str], scale: Scale) -> int | None:
    """Return the rating of a match of NUMBER, if it is on the scale, and "out of" the scale's top if out of
    anything.
    """
    low, high = scale
    whole = match["of"] or match["out_of"]
    if len(match["number"]) > _DIGITS or (whole and whole != str(high)):
        return None
    number = int(match["number"])
    return number if low <= number <= high else None


def _after_lead_in(text: str, scale: Scale) -> set[int]:
    patterns = _lead_ins(scale)
    ratings = {_at(text, match.end(), scale) for match in patterns.labels.finditer(text)}
    ratings |= {_alone_at(text, match.end(), scale) for match in patterns.words.finditer(text)}
    return ratings - {None}  # type: ignore[return-value]


def _is_a(text: str, scale: Scale) -> set[int]:
    ratings = {_alone_at(text, match.end(), scale) for match in _IS_A.finditer(text)}
    return ratings - {None}  # type: ignore[return-value]


def _whole_or_line(text: str, scale: Scale) -> set[int]:
    whole = (match for match in NUMBER.finditer(text) if match["of"] or match["out_of"])
    ratings = {in_scale(match, scale) for match in whole if _ALONE.match(text, match.end())}
    ratings |= {_at(text, line.end(), scale) for line in _LINE.finditer(text)}
    return ratings - {None}  # type: ignore[return-value]


def _at(text: str, place: int, scale: Scale) -> int | None:
    match = NUMBER.match(text, place)
    return in_scale(match, scale) if match else None


def _alone_at(text: str, place: int, scale: Scale) -> int | None:
    match = NUMBER.match(text, place)
    return in_scale(match, scale) if match and _ALONE.match(text, match.end()) else None


class _LeadIns(NamedTuple):
    labels: re.Pattern[str]
    """With a colon, whatever follows the number: "Rating: 4 The passage ..."."""
    words: re.Pattern[str]
    """In a sentence, where the number must not count something."""


@lru_cache(maxsize=32)
def _lead_ins(scale: Scale) -> _LeadIns:
    low, high = scale
    ends = rf"{low}\s*(?:[-\u2013]|to)\s*{high}"
    # "Grade (0-5):" states the scale first; "score for it would be" takes some words to come to the number.
    stated = rf"(?:\W*(?:{ends}|out\s+of\s+{high})\b)?"
    gap = r"(?:[^\w.?!,%/]|_)*(?=[0-9])"
    some = r"(?:(?!\bout\b)[^0-9\n.?!]){0,40}?"
    rating = r"(?<![a-z])(?:rating|grade|score|code)(?![a-z])"
    label = r"(?<![a-z])(?:rating|grade|score|code|rated?|relevance|overall|verdict)(?![a-z])"
    words = rf"(?:{some}(?:[:=]|\b(?:is|be|was)\b)|\s+of\b)?"
    on_scale = rf"\bscale\s*(?:of|from|:)?\W*(?:{ends})\b{_AT_MOST}{{0,60}}?(?=[0-9])"
    answer = rf"(?<![a-z])(?:answer|rated)(?![a-z]){stated}{words}{gap}"
    return _LeadIns(
        re.compile(rf"{label}{stated}{some}[:=]{gap}", re.IGNORECASE),
        re.compile(rf"{rating}{stated}{words}{gap}|{answer}|{_I_RATE}|{on_scale}", re.IGNORECASE),
    )
