"""Verification of extracted answers against answer keys."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from grading.parsing.words import bare, is_choice_label, is_unanswerable

STOP_WORDS = """
a an the this that these those such
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves who whom whose which what
am is are was were be been being have has had having do does did doing
will would shall should can could may might must
of at by for with about into to in on within
and but or if because as while than then so too very just also
there when where why how some
"""
"""Articles, pronouns, auxiliaries, conjunctions, and prepositions that decide no answer.

Unlike in longer lists, these are not among them: no, not, up, down, out, off, before, after, above, below,
over, under, from, more, most, few, all. "moves up" is not "moves down".
"""

_STOP_WORDS = frozenset(STOP_WORDS.split())
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")


SHORTEST_FUZZY = 4
"""Characters; shorter answers must be equal: "five" may have a typo, but "cat" and "bat" differ."""
FUZZY_PERCENT = 20
"""Edits must be fewer than this share of the longer string."""
_TRUTH = dict.fromkeys(("true", "yes", "correct", "right"), True) | dict.fromkeys(
    ("false", "no", "incorrect", "wrong"), False
)
_FIRST_WORD = re.compile(r"\W*([a-z]+)(?:\W*$|\s*[.,;:!)*\u2013\u2014]|\s+-)", re.IGNORECASE)
_CHOICES = r"\s+of\s+(?:the\s+above|these|those|them|the\s+(?:choices|answers|options))\W*"
_ALL_OF = re.compile(r"\W*(?:all|both)" + _CHOICES, re.IGNORECASE)
_NONE_OF = re.compile(r"\W*(?:none|neither)" + _CHOICES, re.IGNORECASE)


@lru_cache(maxsize=16384)
def normal(text: str) -> str:
    """Return the text lower-cased, without punctuation and stop words, stemmed by Porter's rules.

    A text of stop words only keeps them: "it" must not equal "the". Numbers keep their point: 1.5 is not 15.
    """
    text = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).lower())
    terms = _WORD.findall(text)
    kept = [word for word in terms if word not in _STOP_WORDS] or terms
    return " ".join(map(_stem(), kept))


@cache
def _stem() -> Callable[[str], str]:
    import snowballstemmer  # brings every language's, of which only answers need one

    stem: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stem


class AnswerCheck(NamedTuple):
    """`matched_key` is the accepted answer that matched, as in the key; None if the answer is wrong."""

    correct: bool
    matched_key: str | None


_WRONG = AnswerCheck(correct=False, matched_key=None)


def verify(answer: str, keys: Sequence[str], choices: Sequence[str] = ()) -> AnswerCheck:
    """Compare an answer with a key of one or several accepted answers.

    "All of the above" in a key also accepts an answer that names every one of the question's other `choices`,
    "none of the above" one that names them all after "none" or "neither".

    >>> verify("Rising!", ["falls", "rises"])
    AnswerCheck(correct=True, matched_key='rises')
    >>> verify("C", ["C"])
    AnswerCheck(correct=True, matched_key='C')
    >>> verify("The water table will be rising.", ["falls", "rises"])
    AnswerCheck(correct=False, matched_key=None)
    """
    for key in keys:
        if _says(answer, key, choices):
            return AnswerCheck(correct=True, matched_key=key)
    return _WRONG


def closeness(answer: str, keys: Sequence[str]) -> float:
    """Return how near an answer is to the nearest accepted one: 0 to 1, 0 for one that says there is none.

    The larger of two shares, over normal forms: characters that need no edit, and words of the accepted
    answer that the answer has. A near answer that is judged wrong is worth a look: the key may lack this way
    to say it.

    >>> closeness("The water table will be rising.", ["falls", "rises"])
    1.0
    >>> round(closeness("anthocyanin pigments", ["anthocyanins"]), 2)
    1.0
    >>> closeness("carotene", ["anthocyanins"]) < 0.5, closeness("unanswerable", ["anthocyanins"])
    (True, 0.0)
    """
    if is_unanswerable(answer):
        return 0.0
    return max((_share(normal(answer), normal(key)) for key in keys), default=0.0)


def _share(answer: str, key: str) -> float:
    from rapidfuzz.distance import Levenshtein

    terms, has = key.split(), set(answer.split())
    kept = sum(word in has for word in terms) / len(terms) if terms else 0.0
    return max(kept, Levenshtein.normalized_similarity(answer, key))


def _says(answer: str, key: str, choices: Sequence[str]) -> bool:
    is_true = _TRUTH.get(bare(key).lower())
    if is_true is not None:
        # An answer may begin with a word for true or false ('Yes, it does').
        match = _FIRST_WORD.match(answer)
        return (_TRUTH.get(match[1].lower()) if match else None) is is_true
    # "(c)" says nothing, except where the key is such a label itself.
    if is_unanswerable(answer) and not (is_choice_label(key.strip()) and is_choice_label(answer.strip())):
        return False
    return _is_close(normal(answer), normal(key)) or _names_choices(answer, key, choices)


def _is_close(answer: str, key: str) -> bool:
    if answer == key or min(len(answer), len(key)) < SHORTEST_FUZZY:
        return bool(key) and answer == key
    from rapidfuzz.distance import Levenshtein  # here: every process knows the prompts, few compare answers

    longer = max(len(answer), len(key))
    return Levenshtein.distance(answer, key) * 100 < FUZZY_PERCENT * longer


def _names_choices(answer: str, key: str, choices: Sequence[str]) -> bool:
    """Return whether the answer names "all of these", or each of the choices; the same for none."""
    named = [choice for choice in choices if not (_ALL_OF.fullmatch(choice) or _NONE_OF.fullmatch(choice))]
    if _ALL_OF.fullmatch(key):
        return bool(_ALL_OF.fullmatch(answer)) or _names_each(answer, named)
    if _NONE_OF.fullmatch(key):
        is_denial = re.match(r"\W*(?:none|neither|no)\b", answer, re.IGNORECASE)
        return bool(_NONE_OF.fullmatch(answer)) or (bool(is_denial) and _names_each(answer, named))
    return False


def _names_each(answer: str, choices: Sequence[str]) -> bool:
    padded = f" {normal(answer)} "
    return bool(choices) and all(f" {normal(choice)} " in padded for choice in choices)
