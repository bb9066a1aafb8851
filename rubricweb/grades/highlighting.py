"""Find an extracted answer in its passage."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the passage; the parts of the extracted answer are marked."""

    text: str
    is_answer: bool


def highlighted(text: str, answer: str) -> tuple[Segment, ...]:
    """Split `text` where it contains `answer` as whole words, ignoring case and white space."""
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
