"""Find drafts that repeat another draft or an item of the bank."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from grading.graders.lexical import stem, weight
from grading.verify import normal

THRESHOLD = 0.85
"""Similarity from which two texts are near-duplicates. Among 400 questions and nuggets, eight of each kind a
topic and each about something else, it marks none; 0.8 marks six."""

_DECIDING = re.compile(
    r"\b(who|whom|whose|what|which|when|where|why|how|no|not|never)\b|n['\u2019]t\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SAME = {"whom": "who", "which": "what", "": "not"}


class SimilarText(NamedTuple):
    """`text` is similar to `other`, the most similar one."""

    text: str
    other: str
    score: float
    """0..1, 1 where only the order, inflection or stop words differ."""


def near_duplicates(
    texts: Sequence[str], existing: Sequence[str] = (), *, threshold: float = THRESHOLD
) -> list[SimilarText]:
    """Return the texts that are much like an existing one, or like an earlier text, with that text.

    Compared are the stemmed words without stop words, in alphabetical order, by their share of common
    characters (rapidfuzz's token sort ratio). Texts that ask with another question word, or of which one
    denies something, are never near-duplicates. It knows no synonyms.

    >>> near_duplicates(["How does rock begin?"], ["When did rock begin?", "How did the rock begin?"])
    [SimilarText(text='How does rock begin?', other='How did the rock begin?', score=1.0)]
    """
    seen = [(other, _form(other)) for other in existing]
    duplicates = []
    for text in texts:
        form = _form(text)
        score, other = max(
            ((_score(form, earlier_form), other) for other, earlier_form in seen),
            key=lambda hit: hit[0],
            default=(0.0, ""),
        )
        if score >= threshold:
            duplicates.append(SimilarText(text, other, score))
        seen.append((text, form))
    return duplicates


class _Form(NamedTuple):
    deciding: frozenset[str]
    terms: str


def _form(text: str) -> _Form:
    forms = (word.lower() for word in _DECIDING.findall(text))
    return _Form(frozenset(_SAME.get(word, word) for word in forms), normal(text))


def _score(form: _Form, other: _Form) -> float:
    from rapidfuzz import fuzz  # here: who reads a board compares no texts

    if form.deciding != other.deciding:
        return 0.0
    return round(fuzz.token_sort_ratio(form.terms, other.terms) / 100, 4)


class Nearest(NamedTuple):
    """A text by its place among those offered, and its similarity (0..1)."""

    place: int
    score: float


def nearest(text: str, others: Sequence[str], *, most: int = 5) -> list[Nearest]:
    """Return the `most` others that share rare words with `text`, most alike first.

    The cosine of their words, each of which weighs as in the lexical grader: nothing for "the", most for
    words that are not common. It knows no synonyms.

    >>> nearest("Frost dulls the leaves", ["When is the first frost?", "Which trees stay green?"])
    [Nearest(place=0, score=0.5252)]
    """
    rare = _rare_words(text)
    scored = [Nearest(place, _cosine(rare, _rare_words(other))) for place, other in enumerate(others)]
    alike = [hit for hit in scored if hit.score > 0]
    return sorted(alike, key=lambda hit: (-hit.score, hit.place))[:most]


def _rare_words(text: str) -> dict[str, float]:
    stems = dict.fromkeys(stem(word) for word in _WORD.findall(text))
    return {word: value for word in stems if (value := weight(word)) > 0}


def _cosine(first: dict[str, float], second: dict[str, float]) -> float:
    shared = sum(value * second[word] for word, value in first.items() if word in second)
    lengths = math.hypot(*first.values()) * math.hypot(*second.values())
    return round(shared / lengths, 4) if lengths else 0.0
