"""As much of a passage as a prompt has room for, cut between sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from grading.in_context import parts_of, without_start

_CLOSER = r"[\"')\]\u201d\u2019]"
_SENTENCE_BREAK = re.compile(rf"(?:(?<=[.!?])|(?<=[.!?]{_CLOSER})|(?<=[.!?]{_CLOSER}{_CLOSER}))\s+|\n\s*")
_WORD_BREAK = re.compile(r"(?<=\S)(?=\s)")


@lru_cache(maxsize=1024)
def sentence_breaks(text: str) -> tuple[tuple[int, int], ...]:
    """Return where each gap between sentences begins and ends, in characters. A line break is one too."""
    return tuple(match.span() for match in _SENTENCE_BREAK.finditer(text))


def longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest start of `text` that fits.

    It ends with a sentence, else a word, else a character; else it is empty.

    `fits` must hold for every start of a text that fits. It is called a few dozen times at most.
    """
    if fits(text):
        return text
    sentences = [start for start, _ in sentence_breaks(text)]
    word_breaks = [match.start() for match in _WORD_BREAK.finditer(text)]
    for cuts in (sentences, word_breaks, range(1, len(text))):
        if kept := _longest(cuts, lambda end: text[:end], fits):
            return kept
    return ""


def longest_seen(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of a passage as fits: its longest start.

    In context it is all that is to be rated, with as much as fits of what comes directly before; "" if even
    the part to rate does not fit.
    """
    parts = parts_of(text)
    if parts is None or fits(text):
        return longest_start(text, fits)
    sentences = [end for _, end in sentence_breaks(parts.before)]
    spaces = [match.end() for match in re.finditer(r"\s+", parts.before)]
    for cuts in (sentences, spaces, [len(parts.before)]):
        if kept := _longest(cuts[::-1], partial(without_start, parts), fits):
            return kept
    return ""


def _longest(cuts: Sequence[int], keep: Callable[[int], str], fits: Callable[[str], bool]) -> str:
    """Return the longest of what `keep` leaves at these cuts, given from the shortest on, that fits."""
    low, high = 0, len(cuts)  # cuts[:low] fit, cuts[high:] do not
    while low < high:
        middle = (low + high) // 2
        if fits(keep(cuts[middle])):
            low = middle + 1
        else:
            high = middle
    return keep(cuts[low - 1]) if low else ""
