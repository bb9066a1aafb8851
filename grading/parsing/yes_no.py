"""Replies that say yes or no."""

from __future__ import annotations

import re

from grading.errors import ParseFailure
from grading.parsing.languages import LABELS, NO, YES, any_of
from grading.parsing.prose import ALONE, only_rates, sentences
from grading.parsing.rating import OnUnparsable, json_objects
from grading.parsing.words import bare, boxed, plain
from grading.types import Outcome, ParsedRating

_WORD = re.compile(rf"(?:{any_of(YES | NO)})(?![^\W_]|-[^\W_])", re.IGNORECASE)
# What the prompt asked, or undecided.
_POLES = ("yes|true|correct", "no|false|incorrect")
_BOTH = re.compile(
    "|".join(rf"\b(?:{a})(?:\s*[/|\n]\s*|,?\s+(?:and|or)\s+)(?:{b})\b" for a, b in (_POLES, _POLES[::-1])),
    re.IGNORECASE,
)
_NOUN = r"(?:answer|verdict|label|response|output|judge?ment|decision|result|conclusion)"
_LEAD_IN = re.compile(
    rf"(?:\b{_NOUN}\b|{LABELS})(?:\W*\([^\w()]*\))?[\s*_\"'`]*(?:[:=]|\b(?:is|would\s+be)\b)[\s*_\"'`]*",
    re.IGNORECASE,
)
_KEY = re.compile(
    rf"(?:is_)?(?:{_NOUN}|relevant|correct|answered|equivalent|match(?:es)?|supported)", re.IGNORECASE
)
_NOT = re.compile(r"\bnot\b|n't\b", re.IGNORECASE)
_ENDS_IN_NOT = re.compile(r"(?:\bnot|n't)\W*$", re.IGNORECASE)
_LONGEST_SENTENCE = 160
_EITHER_END = 2000
"""Characters that are read at the beginning and at the end of a long reply."""


def parse_yes_no(reply: str, *, on_unparsable: OnUnparsable = "default") -> ParsedRating:
    """1 where the reply says yes, correct or true; 0 where it says no, incorrect, wrong or false.

    The first word decides, in the languages of languages.toml; else a JSON value, else "Answer: yes" and the
    like, else a sentence that says no more ("So, yes.", "It is not correct."). These are NUMERIC. Any other
    reply is 0 by default (DEFAULTED), or raises ParseFailure with on_unparsable="fail".
    """
    text = plain(reply)
    for stated in (boxed(text), text):
        is_yes = _stated(stated) if stated else None
        if is_yes is not None:
            return ParsedRating(int(is_yes), Outcome.NUMERIC)
    if on_unparsable == "fail":
        raise ParseFailure("the reply says neither yes nor no")
    return ParsedRating(0, Outcome.DEFAULTED)


def _stated(text: str) -> bool | None:
    """Return what plain text says: True for yes, False for no, None for neither or both."""
    if len(text) > 2 * _EITHER_END:
        text = text[:_EITHER_END] + "\n" + text[-_EITHER_END:]
    text = _BOTH.sub(" ", text)
    if first := _WORD.match(bare(text)):
        return _is_yes(first[0])
    for reading in (_in_json, _led_in, _in_sentences):
        if answers := reading(text):
            return answers.pop() if len(answers) == 1 else None
    return None


def _in_json(text: str) -> set[bool]:
    values = [value for entry in json_objects(text) for key, value in entry.items() if _KEY.fullmatch(key)]
    matches = (_WORD.match(bare(value)) for value in values if isinstance(value, str))
    return {_is_yes(match[0]) for match in matches if match} | {
        value for value in values if isinstance(value, bool)
    }


def _led_in(text: str) -> set[bool]:
    """Return what follows "answer:", or "the answer is" where the clause ends with it: not "is no longer"."""
    matches = ((lead_in[0], _WORD.match(text, lead_in.end())) for lead_in in _LEAD_IN.finditer(text))
    return {
        _is_yes(match[0])
        for lead_in, match in matches
        if match and (set(lead_in) & set(":=") or ALONE.match(text, match.end()))
    }


def _in_sentences(text: str) -> set[bool]:
    return {answer for sentence in sentences(text) if (answer := _of_sentence(sentence)) is not None}


def _of_sentence(sentence: str) -> bool | None:
    """Return what a sentence says that has only words of an answer: "It is not correct"."""
    if len(sentence) > _LONGEST_SENTENCE or not only_rates(_NOT.sub(" ", _WORD.sub(" ", sentence))):
        return None
    answers = {_is_yes(word) for word in _WORD.findall(sentence)}
    if len(answers) == 1:
        return answers.pop() is not bool(_NOT.search(sentence))
    return False if not answers and _ENDS_IN_NOT.search(sentence) else None


def _is_yes(word: str) -> bool:
    return word.lower() in YES
