"""What people and models write around a rating or a yes, in the languages of languages.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib import resources

with resources.files(__package__).joinpath("languages.toml").open("rb") as _file:
    _TABLE = tomllib.load(_file).values()

# Scripts that write no space between words.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")


def _entries(*fields: str) -> frozenset[str]:
    return frozenset(
        word for language in _TABLE for field in fields for word in language.get(field, "").split()
    )


def any_of(words: Iterable[str]) -> str:
    """A pattern of one of the words, as a whole word where its script puts spaces between words."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    unspaced = [re.escape(word) for word in longest_first if _IS_UNSPACED.search(word)]
    spaced = [re.escape(word) for word in longest_first if not _IS_UNSPACED.search(word)]
    return "|".join([rf"(?<![^\W_])(?:{'|'.join(spaced)})(?![^\W_])", *unspaced])


def _phrases(field: str) -> str:
    """The phrases of a field, each of which is a whole entry: "out of", "van de"."""
    phrases = [phrase for language in _TABLE for phrase in language.get(field, [])]
    return "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)


LABELS = any_of(_entries("labels"))
UNITS = any_of(_entries("units"))
OUT_OF = _phrases("out_of")
TOP_OF = _phrases("top_of")
YES = _entries("yes")
NO = _entries("no")
AROUND = _entries("labels", "words", "units")
AROUND_UNSPACED = re.compile(
    "|".join(re.escape(word) for word in sorted(AROUND, key=len, reverse=True) if _IS_UNSPACED.search(word))
)
