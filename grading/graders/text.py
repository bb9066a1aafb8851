"""Where a passage can be cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

_CLOSER = r"[\"')\]\u201d\u2019]"
_SENTENCE_BREAK = re.compile(rf"(?:(?<=[.!?])|(?<=[.!?]{_CLOSER})|(?<=[.!?]{_CLOSER}{_CLOSER}))\s+|\n\s*")
_WORD_BREAK = re.compile(r"(?<=\S)(?=\s)")


@lru_cache(maxsize=1024)
def sentence_breaks(text: str) -> tuple[tuple[int, int], ...]:
    """The gaps between sentences: where each begins and ends, in characters. A line break is one too."""
    return tuple(match.span() for match in _SENTENCE_BREAK.finditer(text))


def longest_start(text: str, fits: Callable[[str], bool]) -> str:
    """The longest start of `text` that fits: in sentences, else in words, else in characters, else nothing.

    `fits` must hold for every start of a text that fits. It is called a few dozen times at most.
    """
    if fits(text):
        return text
    sentences = [start for start, _ in sentence_breaks(text)]
    words = [match.start() for match in _WORD_BREAK.finditer(text)]
    for cuts in (sentences, words, range(1, len(text))):
        if kept := _longest(text, cuts, fits):
            return kept
    return ""


def _longest(text: str, cuts: Sequence[int], fits: Callable[[str], bool]) -> str:
    low, high = 0, len(cuts)  # cuts[:low] fit, cuts[high:] do not
    while low < high:
        middle = (low + high) // 2
        if fits(text[: cuts[middle]]):
            low = middle + 1
        else:
            high = middle
    return text[: cuts[low - 1]] if low else ""
