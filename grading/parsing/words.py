"""Replies in words: "no answer", "yes"."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from grading.errors import ParseFailure
from grading.types import Outcome, ParsedRating

UNANSWERABLE = frozenset(
    {
        "unanswerable",
        "no",
        "no answer",
        "not enough information",
        "unknown",
        "it is not possible to tell",
        "it does not say",
        "no relevant information",
    }
)
"""Farzi and Dietz 2024, EXAM++, 4.2.1."""

_YES = frozenset({"yes", "correct", "true"})
_NO = frozenset({"no", "incorrect", "wrong", "false"})

# A letter or small roman numeral that labels a choice: "a.", "(iii)", "B)", "d".
_CHOICE_LABEL = re.compile(r"[(\[]?(?:[a-d]|i{1,3}|iv)[)\].:]*", re.IGNORECASE)
# A capital alone may well be the answer: vitamin C, group B.
_CAPITAL = re.compile(r"[A-D]")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,40}>")
_KEYCAP = re.compile("[\ufe0f\u20e3]")
_FIRST_WORD = re.compile(r"[^\W\d_]+")


def plain(reply: str) -> str:
    """The reply in plain characters: full-width and circled digits become ordinary ones, tags go."""
    if not reply.isascii():
        reply = _KEYCAP.sub("", unicodedata.normalize("NFKC", reply))
    if "<" in reply:
        reply = _TAG.sub(" ", reply)
    return reply.strip()


def bare(reply: str) -> str:
    """The reply without the punctuation and mark-up around it."""
    start, end = 0, len(reply)
    while start < end and _is_punctuation(reply[start]):
        start += 1
    while end > start and _is_punctuation(reply[end - 1]):
        end -= 1
    return reply[start:end]


def is_unanswerable(reply: str) -> bool:
    """True for an empty or ill-formed reply ("a.", "(iii)") and for the papers' eight expressions.

    Case and the punctuation around the expression do not matter; any further word does. A capital alone ("C")
    is no ill-formed reply.
    """
    reply = plain(reply)
    if is_choice_label(reply):
        return not _CAPITAL.fullmatch(reply)
    words = " ".join(bare(reply).lower().split())
    return not words or words in UNANSWERABLE


def is_choice_label(text: str) -> bool:
    """True for the label of a choice and nothing else: "a.", "(iii)", "C"."""
    return bool(_CHOICE_LABEL.fullmatch(text))


def parse_yes_no(reply: str, *, on_unparsable: Literal["default", "fail"] = "default") -> ParsedRating:
    """1 where the first word is yes, correct or true; 0 where it is no, incorrect, wrong or false.

    Any other reply is 0 by default (outcome DEFAULTED), or raises ParseFailure with on_unparsable="fail".
    Yes and no that the model said are NUMERIC.
    """
    first = _FIRST_WORD.search(bare(plain(reply)))
    word = first[0].lower() if first and first.start() == 0 else ""
    if word in _YES or word in _NO:
        return ParsedRating(int(word in _YES), Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure("the reply says neither yes nor no")
    return ParsedRating(0, Outcome.DEFAULTED)


def _is_punctuation(character: str) -> bool:
    # '%' is punctuation to Unicode, but "4%" is a share; '`' is mark-up, though not punctuation to Unicode.
    if character.isspace() or character == "`":
        return True
    return unicodedata.category(character).startswith("P") and character not in "%‰"
