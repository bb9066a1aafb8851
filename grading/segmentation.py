"""Documents cut into overlapping windows of sentences, as MS MARCO V2.1 is (TREC RAG 2024, section 4).

A sentence ends after `.`, `!` or `?` (with the quotes and brackets that close there) before white space and
something that is no small letter, after a Chinese or Japanese full stop, and at a blank line. Abbreviations,
initials and numbers of lists end none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

WINDOW = 10
STRIDE = 5
_CLOSING = "\"'\u201d\u2019\u300d\u300f)\\]"
_FULL_STOPS = "\u3002\uff01\uff1f"
"""Of Chinese and Japanese, which put no white space behind them."""
_END = re.compile(
    rf"(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s++[^\sa-z])|[{_FULL_STOPS}]++[{_CLOSING}]*+|\n[ \t\r]*+\n"
)
_ABBREVIATIONS = re.compile(
    "mrs?|ms|dr|prof|[sj]r|st|mt|rev|hon|gen|col|lt|sgt|capt|gov|sen|pres|vs|etc|eg|ie|cf|al|figs?|eq|nos|vol"
    "|pp|eds?|inc|ltd|corp?|dept|univ|approx|feb|apr|aug|sept|oct|nov|dec"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive sentences of a document; `start` and `end` are positions in its text."""

    doc_id: str
    """`<document>#<number>_<start>`."""
    text: str
    start: int
    end: int


def segments(doc_id: str, text: str, *, window: int = WINDOW, stride: int = STRIDE) -> Iterator[Segment]:
    """Cut a document; the last window ends with it, and no window lies within the one before.

    >>> text = " ".join(f"Sentence {n} is here." for n in range(1, 13))
    >>> [(one.doc_id, one.text[:10], one.end) for one in segments("d1", text)]
    [('d1#0_0', 'Sentence 1', 200), ('d1#1_100', 'Sentence 6', 242)]
    """
    spans = sentence_spans(text)
    for number, first in enumerate(range(0, len(spans), stride)):
        start, end = spans[first][0], spans[min(first + window, len(spans)) - 1][1]
        yield Segment(f"{doc_id}#{number}_{start}", text[start:end], start, end)
        if first + window >= len(spans):
            break


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, without the white space between them.

    >>> text = "Dr. Ada Lovelace wrote it in 1843. Did J. S. Mill read it? Nobody knows"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Ada Lovelace wrote it in 1843.', 'Did J. S. Mill read it?', 'Nobody knows']
    """
    ends = [match.end() for match in _END.finditer(text) if not _is_abbreviation(text, match)]
    spans = []
    start = 0
    for end in [*ends, len(text)]:
        part = text[start:end]
        if part.strip():
            left = start + len(part) - len(part.lstrip())
            spans.append((left, left + len(part.strip())))
        start = end
    return spans


def _is_abbreviation(text: str, end: re.Match[str]) -> bool:
    """Whether the full stop belongs to an abbreviation, an initial, or a number that begins a line."""
    if end[0] != ".":
        return False
    word = re.search(r"(\S+)$", text[max(0, end.start() - 30) : end.start()])
    if word is None:
        return False
    letters = word[1].lstrip("([\"'\u201c\u2018").replace(".", "")
    is_initial = len(letters) == 1 and letters.isalpha() and letters != "I"
    line = text.rfind("\n", 0, end.start()) + 1
    is_list_number = letters.isdigit() and text[line : end.start()].strip() == letters
    has_points = "." in word[1] and letters.isalpha()
    return bool(_ABBREVIATIONS.fullmatch(letters.lower())) or is_initial or is_list_number or has_points
