"""The ways to read a reply."""

from __future__ import annotations

from enum import StrEnum


class ParseRule(StrEnum):
    """How a reply is read."""

    RATING = "rating"
    """A number in the scale."""
    FINAL_SCORE = "final_score"
    """As RATING, after some reasoning: the last "final score: n" decides."""
    YES_NO = "yes_no"
    LABEL = "label"
    """One of the prompt's labels."""
    TEXT = "text"
    """An answer, kept as it is."""
    ANSWER_KEY = "answer_key"
    """An answer: 1 where the item's answer key has it, else 0."""
