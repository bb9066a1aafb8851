"""Where a passage says what a grader extracted from it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the passage; the extracted answer's stretches are marked."""

    text: str
    is_answer: bool


def highlighted(text: str, answer: str) -> tuple[Segment, ...]:
    """`text` cut where it holds `answer` as whole words, whatever the case and the white space."""
    words = answer.split()
    if not words:
        return (Segment(text, is_answer=False),)
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE)
    segments, end = [], 0
    for match in pattern.finditer(text):
        segments += [Segment(text[end : match.start()], is_answer=False), Segment(match[0], is_answer=True)]
        end = match.end()
    segments.append(Segment(text[end:], is_answer=False))
    return tuple(segment for segment in segments if segment.text)
