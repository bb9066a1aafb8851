"""Drafts that say what another draft, or an item of the bank, says already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz import fuzz

from grading.verify.normal import normal

THRESHOLD = 0.85
"""Similarity from which two texts are near-duplicates. Among 400 questions and nuggets, eight of each kind a
topic and each about something else, it marks none; 0.8 marks six."""

_DECIDING = re.compile(
    r"\b(who|whom|whose|what|which|when|where|why|how|no|not|never)\b|n['\u2019]t\b", re.IGNORECASE
)
_SAME = {"whom": "who", "which": "what", "": "not"}


class NearDuplicate(NamedTuple):
    """`text` is much like `other`; of a draft like several, the most alike."""

    text: str
    other: str
    score: float
    """0..1, 1 where only the order, inflection or stop words differ."""


def near_duplicates(
    texts: Sequence[str], existing: Sequence[str] = (), *, threshold: float = THRESHOLD
) -> list[NearDuplicate]:
    """For each text that is much like an existing one, or like an earlier text, what it is like.

    Compared are the stemmed words without stop words, in alphabetical order, by their share of common
    characters (rapidfuzz's token sort ratio). Texts that ask with another question word, or of which one
    denies something, are never near-duplicates. It knows no synonyms.

    >>> near_duplicates(["How does rock begin?"], ["When did rock begin?", "How did the rock begin?"])
    [NearDuplicate(text='How does rock begin?', other='How did the rock begin?', score=1.0)]
    """
    seen = [(other, _form(other)) for other in existing]
    found = []
    for text in texts:
        form = _form(text)
        score, other = max(
            ((_score(form, known), other) for other, known in seen), key=lambda one: one[0], default=(0.0, "")
        )
        if score >= threshold:
            found.append(NearDuplicate(text, other, score))
        seen.append((text, form))
    return found


class _Form(NamedTuple):
    deciding: frozenset[str]
    words: str


def _form(text: str) -> _Form:
    found = (word.lower() for word in _DECIDING.findall(text))
    return _Form(frozenset(_SAME.get(word, word) for word in found), normal(text))


def _score(one: _Form, other: _Form) -> float:
    if one.deciding != other.deciding:
        return 0.0
    return round(fuzz.token_sort_ratio(one.words, other.words) / 100, 4)
