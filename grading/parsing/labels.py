"""The label that a reply names: "support", "**Partial support**", {"assignment": "not_support"}."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from grading.errors import ParseFailure
from grading.parsing.rating import json_objects
from grading.parsing.words import bare, boxed, plain
from grading.types import Outcome, ParsedRating

_JSON_KEYS = ("label", "assignment", "grade", "rating", "answer", "importance")
_GAP = re.compile(r"[\s_-]+")
# "does not fully support": where a reply denies something, a label elsewhere in it may be what it denies.
_DENIAL = re.compile(
    r"(?<![^\W_])(?:not|no|nor|never|neither|none|without|cannot)(?![^\W_])|n['\u2019]t(?![^\W_])"
)


def parse_label(reply: str, labels: Mapping[str, int]) -> ParsedRating:
    """The rating of the one label that the reply names; of several, the one after "label:" or the like.

    A longer label hides a shorter one in it: "not support" is no "support". A reply that names none, several,
    or one among denials raises ParseFailure: no published rule says what such a reply counts as.
    """
    ratings = {_joined(label): rating for label, rating in labels.items()}
    names, led_in = _patterns(tuple(ratings))
    reply = plain(reply)
    text = _joined(reply)
    stated = ratings.get(bare(_joined(boxed(reply) or reply)), _in_json(reply, ratings))
    if stated is None:
        stated = _only(ratings[match[1]] for match in led_in.finditer(text))
    if stated is None and not _DENIAL.search(names.sub(" ", text)):
        stated = _only(ratings[match] for match in names.findall(text))
    if stated is None:
        raise ParseFailure(f"the reply names no single label of {', '.join(labels)}")
    return ParsedRating(stated, Outcome.NUMERIC)


def _joined(text: str) -> str:
    return _GAP.sub("_", text.lower())


def _only(ratings: Iterable[int]) -> int | None:
    distinct = set(ratings)
    return distinct.pop() if len(distinct) == 1 else None


def _in_json(reply: str, ratings: Mapping[str, int]) -> int | None:
    for entry in json_objects(reply):
        for key in _JSON_KEYS:
            if isinstance(value := entry.get(key), str):
                return ratings.get(_joined(value.strip()))
    return None


@lru_cache(maxsize=32)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds a label, the longest first, and what finds one after a lead-in."""
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    lead_in = r"(?<![a-z])(?:label|assignment|answer|grade|verdict|importance)(?:_is)?[\W_]{0,20}"
    return (
        re.compile(rf"(?<![^\W_])(?:{label})(?![^\W_])"),
        re.compile(rf"{lead_in}({label})(?![^\W_])"),
    )
