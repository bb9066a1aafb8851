"""Marks on questions and nuggets that grade badly: by their words, and by the grades that they got.

No model is asked. A mark is a reason to look, with its evidence; it decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np

from grading.statistics.mean_intervals import wilson
from grading.types import MIN_RATING, ItemKind, Ratings
from grading.verify import STOP_WORDS, normal


class Fault(StrEnum):
    """What is wrong with an item, by one rule each."""

    COMPOUND = "compound"
    """It asks two things: a passage that answers one of them can be given no rating that is right."""
    VAGUE = "vague"
    """It points at what only its topic says ("it", "this"), or at nothing in particular ("some things").

    Who grades it sees the item and the passage, and not the topic.
    """
    BROAD = "too broad"
    """Without what the topic says already it asks nothing."""
    COMMON = "covered at random"
    """A passage drawn at random from the pool covers it more often than not (Farzi and Dietz 2024, 5.2)."""
    ALWAYS = "always covered"
    """Every graded passage covers it, so it tells no runs apart."""
    NEVER = "never covered"
    """No graded passage covers it, so it tells no runs apart."""
    UNANSWERABLE = "unanswerable"
    """The whole pool is graded, and each passage is rated 0."""


@dataclass(frozen=True, slots=True)
class LintMark:
    """A fault with what shows it: the words, or how many passages."""

    fault: Fault
    evidence: str


MIN_GRADED = 10
"""Graded passages from which coverage is judged: below, even 0 of n leaves a quarter open (95 %)."""
COMMON_SHARE = 0.5
"""Share of the pool from which an item is covered at random, at the lower end of its 95 % interval."""

STATEMENT_WORDS = 4
"""Words of a statement; a full stop before fewer ends an abbreviation."""

_ASKS = (
    "who|whom|whose|what|which|when|where|why|how|is|are|was|were|do|does|did|can|could|should|will|would|"
    "has|have|had"
)
_ASKING = re.compile(r"\b(who|whom|whose|what|which|when|where|why|how)\b", re.IGNORECASE)
_SECOND = re.compile(rf"[,;]?\s+(?:and|or|as well as)\s+(?:{_ASKS})\b|[,;]\s+(?:{_ASKS})\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?:who|whom|whose|which|that|when|where|what|how|why|if|whether)\b[^,;]*\Z", re.IGNORECASE
)
_BETWEEN = re.compile(r"[?!.]\s+(?=\S)")
_CLAUSE = re.compile(r";\s+\S|[,\s]\s*(?:and|but)\s+(?:it|they|he|she|this|these|there)\s", re.IGNORECASE)
_POINTING = re.compile(r"\b(it|its|they|them|their|he|she|his|her|this|these|those|such)\b", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"\bit\s+(?:\w+\s+){0,2}(?:to|that|for|when|if)\b|\b(?:does|did|will|can)\s+it\s+take\b", re.IGNORECASE
)
_NOTHING = re.compile(
    r"\b(some ?things?|anything|stuff|things like that|and so on|and so forth|etc|or similar)\b\.?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\A\W*\d{1,3}[.):]\s+")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_GENERIC = """
about aspect basics call called characteristics concept concepts define defined definition describe
description detail details discuss explain explanation fact facts give idea important importance
information key know known main mean meaning overview refer role significance summary tell term topic
understand used uses work
"""
"""Words with which one asks about anything."""
_EMPTY = frozenset(STOP_WORDS.split()) | {"us"}


def word_marks(text: str, kind: ItemKind, about: Sequence[str]) -> list[LintMark]:
    """Return the faults that the words of an item show, one of a kind; `about` are its topic and subtopic.

    The rules are about English. A question is compound where "and", "or", a comma or a semicolon is
    followed by a second question, or where it has two question marks; a nugget where a semicolon, a full
    stop or "and it" joins two statements.

    >>> [mark.evidence for mark in word_marks("Who built it and why?", ItemKind.QUESTION, ["Forth Bridge"])]
    ['“Who built it” | “and why?”']
    >>> word_marks("When was it opened?", ItemKind.QUESTION, ["Forth Bridge"])
    [LintMark(fault=<Fault.VAGUE: 'vague'>, evidence='“it”')]
    >>> word_marks("What is the Forth Bridge?", ItemKind.QUESTION, ["Forth Bridge"])
    [LintMark(fault=<Fault.BROAD: 'too broad'>, evidence='asks nothing beyond “Forth Bridge”')]
    >>> word_marks("Which company built the Forth Bridge?", ItemKind.QUESTION, ["Forth Bridge"])
    []
    """
    text = _NUMBER.sub("", " ".join(text.split()))
    marks: list[LintMark] = []
    cut = _second_question(text) if kind is ItemKind.QUESTION else _second_statement(text)
    if cut:
        first, second = text[:cut].strip(" ,;"), text[cut:].strip(" ,;")
        marks.append(LintMark(Fault.COMPOUND, f"{_quoted(first)} | {_quoted(second)}"))
    if word := _vague_word(text):
        marks.append(LintMark(Fault.VAGUE, _quoted(word)))
    if (repeated := _repeated_topic(text, about)) is not None:
        marks.append(LintMark(Fault.BROAD, repeated))
    return marks


def _second_question(text: str) -> int:
    """Return where a second question begins, or 0."""
    between = _BETWEEN.search(text)
    if between and (_ASKING.search(text[between.end() :]) or text.count("?") > 1):
        return between.end()
    match = _SECOND.search(text)
    if match is None or not _ASKING.search(text[: match.start()]):
        return 0
    first = _ASKING.search(before := text[: match.start()])
    is_inside = first and _RELATIVE.search(before[first.end() :])
    if is_inside and not _ASKING.fullmatch(match[0].split()[-1]):
        return 0  # "people who are old or have asthma": the second verb is of the relative clause
    return match.start()


def _second_statement(text: str) -> int:
    """Return where a second statement begins, or 0."""
    between = _BETWEEN.search(text)
    if between and all(
        len(_WORD.findall(part)) >= STATEMENT_WORDS
        for part in (text[: between.start()], text[between.end() :])
    ):
        return between.end()
    match = _CLAUSE.search(text)
    return match.start() if match else 0


def _vague_word(text: str) -> str:
    """Return the word that points at nothing in the item, or ""."""
    if match := _NOTHING.search(text):
        return match[0]
    without = _EXPLETIVE.sub(lambda hit: " " * len(hit[0]), text)
    match = _POINTING.search(without)
    return match[0] if match and not _content(without[: match.start()]) else ""


def _content(text: str) -> dict[str, str]:
    """Return the words that say what an item is about, by their stems."""
    terms = (word for word in _WORD.findall(text) if word.lower() not in _EMPTY)
    return {form: word for word in terms if (form := normal(word)) not in _generic()}


@cache
def _generic() -> frozenset[str]:
    return frozenset(map(normal, _GENERIC.split()))


def _repeated_topic(text: str, about: Sequence[str]) -> str | None:
    """Return the evidence that an item has no word of its own, or None."""
    own, topic = _content(text), {form for each in about for form in normal(each).split()}
    if not topic or own.keys() - topic:
        return None
    if not own:
        return "has no word that says what it asks about"
    return f"asks nothing beyond {_quoted(' '.join(own.values()))}"


def _quoted(text: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{text}\N{RIGHT DOUBLE QUOTATION MARK}"


def coverage_marks(ratings: Ratings, *, min_grade: int) -> list[LintMark]:
    """Return the fault that the grades of one item show, if any; `ratings` has shape (passages,).

    The passages are those of the topic's pool, MISSING where one has no grade. Fewer than MIN_GRADED grades
    show nothing. Of several faults the strongest is returned.

    >>> import numpy as np
    >>> coverage_marks(np.array([5] * 9 + [4, -1], dtype=np.int8), min_grade=4)
    [LintMark(fault=<Fault.ALWAYS: 'always covered'>, evidence='10 of 10 graded passages')]
    >>> [mark.evidence for mark in coverage_marks(np.array([5] * 9 + [0], dtype=np.int8), min_grade=4)]
    ['9 of 10 graded passages: a random one covers it with a probability of 60 % to 98 %']
    """
    graded = ratings[ratings >= MIN_RATING]
    return marks_of_counts(np.bincount(graded).tolist(), len(ratings), min_grade=min_grade)


def marks_of_counts(counts: Sequence[int], passages: int, *, min_grade: int) -> list[LintMark]:
    """Return what `coverage_marks` does, of the number of passages by rating, from 0.

    >>> marks_of_counts([0, 0, 0, 0, 1, 9], 11, min_grade=4)
    [LintMark(fault=<Fault.ALWAYS: 'always covered'>, evidence='10 of 10 graded passages')]
    """
    n, covered = sum(counts), sum(counts[min_grade:])
    if n < MIN_GRADED:
        return []
    counted = f"{covered} of {n} graded passages"
    if not covered:
        best = max(rating for rating, count in enumerate(counts) if count)
        if n == passages and best == MIN_RATING:
            return [LintMark(Fault.UNANSWERABLE, f"each of the pool's {n} passages is rated {MIN_RATING}")]
        return [LintMark(Fault.NEVER, f"{counted}; the best is rated {best}")]
    if covered == n:
        return [LintMark(Fault.ALWAYS, counted)]
    interval = wilson(covered, n)
    low, high = float(interval.low), float(interval.high)
    if low <= COMMON_SHARE:
        return []
    return [
        LintMark(
            Fault.COMMON,
            f"{counted}: a random one covers it with a probability of {low:.0%} to {high:.0%}".replace(
                "%", " %"
            ),
        )
    ]
