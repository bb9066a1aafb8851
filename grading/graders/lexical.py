"""A baseline without a model: how much of an item's wording stands together in the passage.

It knows no meaning: a paraphrase gets 0, a passage that only repeats the question gets 5. The rule uses
nothing but the item and the passage (no statistics of a pool), so a configuration means the same for ever:

1. Words are case-folded runs of letters and digits, their plural taken off (the S-stemmer of Harman 1991).
2. A word weighs log(1 + r) / log(1 + N) for its rank r = 0, 1, ... among N common English words, any other
   word 1: by Zipf's law that is proportional to its inverse frequency. Question words weigh nothing.
3. Coverage is the weighted share of the item's distinct words in the passage's best window of WINDOW words
   (or as many as the item has, if more).
4. The rating is the number of THRESHOLDS that the coverage reaches; the answer is the window, widened to
   whole sentences where they are short.

A changed rule or word list is a new version of the prompt class LexicalBaseline.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import resources
from typing import NamedTuple

from grading.graders.backend_options import Options
from grading.graders.base import GraderSpec, misfit
from grading.segmentation import sentence_breaks
from grading.types import CellToGrade, Grade, GradeFailure, Outcome, Trace

WINDOW = 30
"""Words that count as standing together."""
THRESHOLDS = (0.25, 0.40, 0.55, 0.70, 0.85)
"""Coverage for a rating of 1, 2, 3, 4 and 5."""
LONGEST_ANSWER = 60
"""Words; an answer of whole sentences that would be longer is cut to the window's words."""
_EQUAL = 1e-9
"""Weights closer than this are the same."""
QUESTION_WORDS = """
what which who whom whose when where why how do does did is are was were be been can could would should will
may might must has have had there
"""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_POSSESSIVE = re.compile(r"['\u2019]s$")


class LexicalGrader:
    """Rates questions and nuggets by coverage; fast for many pairs of one passage."""

    device = "cpu, no model"

    def __init__(self, spec: GraderSpec) -> None:
        Options.of(spec)
        self.spec = spec
        self._prompt = spec.prompt

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def grade(self, pairs: Iterable[CellToGrade]) -> Iterator[Grade | GradeFailure]:
        """Yield a result for each pair, in their order."""
        for pair in pairs:
            yield misfit(self._prompt, pair) or self._grade(pair)

    def _grade(self, pair: CellToGrade) -> Grade | GradeFailure:
        item_id, passage_id, text = pair.item.item_id, pair.passage.passage_id, pair.passage.text
        question = _question_words(pair.item.text)
        if not question.weights:
            return GradeFailure(item_id, passage_id, "the item has no word that could be matched")
        passage = _passage_words(text)
        match = _best_window(question, passage)
        coverage = round(match.weight / question.total, 6)
        rating = bisect_right(THRESHOLDS, coverage)
        return Grade(
            item_id=item_id,
            passage_id=passage_id,
            rating=rating,
            outcome=Outcome.NUMERIC,
            answer=_answer(text, passage, match) if rating else "",
            trace=_trace(self._prompt.template, f"coverage {coverage:z.2f}"),
        )


class _QuestionWords(NamedTuple):
    """The distinct words of an item that have a weight."""

    weights: tuple[tuple[str, float], ...]
    total: float
    window: int


class _Words(NamedTuple):
    """The positions of each word of a passage, in words and in characters."""

    positions: dict[str, list[int]]
    starts: list[int]
    ends: list[int]


class _Match(NamedTuple):
    """The covered weight, and the first and last word of it."""

    weight: float
    first: int
    last: int


def weight(word: str) -> float:
    """Return 0 for "the" and for question words, 1 where `word`, a stem, is not among the common ones."""
    if word in _weightless():
        return 0.0
    ranks = _ranks()
    return math.log1p(ranks.get(word, len(ranks))) / math.log1p(len(ranks))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Fold the case, then take off a possessive 's and the English plural (Harman 1991, the S-stemmer)."""
    word = _POSSESSIVE.sub("", word.casefold())
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


@cache
def _weightless() -> frozenset[str]:
    return frozenset(stem(word) for word in QUESTION_WORDS.split())


@cache
def _ranks() -> dict[str, int]:
    listed = (resources.files(__package__) / "common_english.txt").read_text(encoding="utf-8").split()
    distinct = dict.fromkeys(stem(word) for word in listed)
    return {word: rank for rank, word in enumerate(distinct)}


@lru_cache(maxsize=4096)
def _question_words(item_text: str) -> _QuestionWords:
    stems = [stem(word) for word in _WORD.findall(item_text)]
    weights = tuple((word, value) for word in dict.fromkeys(stems) if (value := weight(word)) > 0)
    return _QuestionWords(weights, sum(value for _, value in weights), max(WINDOW, len(stems)))


@lru_cache(maxsize=1024)
def _passage_words(passage_text: str) -> _Words:
    positions: dict[str, list[int]] = {}
    starts, ends = [], []
    for position, word in enumerate(_WORD.finditer(passage_text)):
        positions.setdefault(stem(word[0]), []).append(position)
        starts.append(word.start())
        ends.append(word.end())
    return _Words(positions, starts, ends)


def _best_window(question: _QuestionWords, passage: _Words) -> _Match:
    """Return the window with the most weight of distinct item words.

    Ties go to the tightest, then the first.
    """
    hits = sorted(
        (position, word, value)
        for word, value in question.weights
        for position in passage.positions.get(word, ())
    )
    best = _Match(0.0, 0, 0)
    inside: dict[str, int] = {}
    total, left = 0.0, 0
    for last, word, value in hits:
        total += 0.0 if inside.get(word) else value
        inside[word] = inside.get(word, 0) + 1
        while inside[hits[left][1]] > 1 or last - hits[left][0] >= question.window:
            _, leaving, lost = hits[left]
            inside[leaving] -= 1
            total -= 0.0 if inside[leaving] else lost
            left += 1
        first = hits[left][0]
        gain = total - best.weight
        if gain > _EQUAL or (gain > -_EQUAL and last - first < best.last - best.first):
            best = _Match(total, first, last)
    return best


def _answer(text: str, passage: _Words, match: _Match) -> str:
    """Return the text around a match: its sentences if short, else as many words as a window has."""
    start, end = passage.starts[match.first], passage.ends[match.last]
    breaks = sentence_breaks(text)
    place = bisect_right(breaks, (start, len(text)))
    sentence_start = breaks[place - 1][1] if place else 0
    place = bisect_left(breaks, (end,))
    sentence_end = breaks[place][0] if place < len(breaks) else len(text)
    if (
        bisect_left(passage.starts, sentence_end) - bisect_left(passage.starts, sentence_start)
        > LONGEST_ANSWER
    ):
        last = min(max(match.last, match.first + WINDOW - 1), len(passage.ends) - 1)
        return text[start : passage.ends[last]]
    return text[sentence_start:sentence_end].strip()


@lru_cache(maxsize=1024)
def _trace(prompt: str, reply: str) -> Trace:
    return Trace(prompt, reply)
