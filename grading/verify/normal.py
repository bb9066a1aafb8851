"""The normal form in which answers are compared: "The water tables rising!" -> "water tabl rise"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

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


@lru_cache(maxsize=16384)
def normal(text: str) -> str:
    """Lower-cased, without punctuation and English stop words, each word stemmed by Porter's rules.

    A text of stop words only keeps them: "it" must not equal "the". Numbers keep their point: 1.5 is not 15.
    """
    text = _APOSTROPHE.sub("", unicodedata.normalize("NFKC", text).lower())
    words = _WORD.findall(text)
    kept = [word for word in words if word not in _STOP_WORDS] or words
    return " ".join(map(_stem(), kept))


@cache
def _stem() -> Callable[[str], str]:
    import snowballstemmer  # brings every language's, of which only answers need one

    stem: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stem
