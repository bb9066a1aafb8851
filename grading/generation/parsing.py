"""Parse a model's reply into the drafted texts, whatever surrounds them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from grading.formats.reading import text_lines
from grading.parsing.rating import json_objects

LONGEST = 400
"""Characters; a longer text is prose around the drafts, not one of them."""

_LONGEST_LITERAL = 20_000
_KEYS = ("questions", "nuggets", "question_set", "nugget_set", "key_facts", "facts", "items")
_TEXT_KEYS = ("text", "question", "nugget", "question_text", "nugget_text", "key_fact", "fact")
# Blanks of one line, never given back: a long run of them costs no more than its length.
_BLANKS = r"[^\S\n]*+"
_QUOTED = re.compile(rf'"((?:[^"\\\n]|\\.)++)"{_BLANKS}(?=[,\]\n]|$)')
_MARK = r"(?:[(\[]?\d{1,3}[.):\]]|(?:[QqNn]|Question\s+|Nugget\s+|Fact\s+)\d{1,3}[.):]|[-*\u2022\u2013])"
_MARKED = re.compile(rf"^{_BLANKS}\**{_MARK}\**\s*+(\S.*)$", re.MULTILINE)
_QUOTED_LINE = re.compile(rf'^{_BLANKS}(?:{_MARK}\s*+)?"([^"\n]+)"', re.MULTILINE)
_NUMBER = re.compile(rf"^\**{_MARK}\**\s+")
_NAMED = re.compile(r"^(?:questions?|nuggets?|(?:key )?facts?)(?: \d{1,3})?: *", re.IGNORECASE)
_PIECES = re.compile(r'\n+|(?<=[.?!])\s+|"\s*,\s*')
_REPEATED, _WORDS, _LETTERS = 3, 3, 16
"""Pieces of a reply in a row that were written before, and what makes a piece long enough to count."""
_AROUND = " \t\r\n\"'`,*_\u201c\u201d\u2018\u2019"


def parse_drafts(reply: str) -> list[str]:
    """Return the texts that a reply lists, each once, in order; empty if it lists none.

    Understands a JSON object with a list, a JSON or Python list, a list that was cut off (without its last,
    unfinished text), lines that begin with quotes, numbered or bulleted lines, and lines that end with "?".
    """
    for reading in (
        _in_object,
        _in_list,
        _in_broken_list,
        _in_quoted_lines,
        _in_marked_lines,
        _in_question_lines,
    ):
        if texts := _clean(reading(reply)):
            return texts
    return []


def _in_object(reply: str) -> Iterator[str]:
    for entry in json_objects(reply):
        by_key = {key.lower(): value for key, value in entry.items()}
        lists = [value for value in by_key.values() if isinstance(value, list)]
        for value in [by_key[key] for key in _KEYS if key in by_key] or lists[:1]:
            yield from _texts(value)
            return


def _texts(value: object) -> Iterator[str]:
    """The texts of a list of strings or of objects; a single string is read line by line."""
    if isinstance(value, str):
        yield from _in_marked_lines(value) if _MARKED.search(value) else text_lines(value)
    elif isinstance(value, dict):
        yield from (text for text in value.values() if isinstance(text, str))
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict):
                named = (entry[key] for key in _TEXT_KEYS if isinstance(entry.get(key), str))
                yield from (text for text in list(named)[:1])


def _in_list(reply: str) -> Iterator[str]:
    start = reply.find("[")
    if start < 0:
        return
    try:
        value, _ = json.JSONDecoder().raw_decode(reply, start)
    except (ValueError, RecursionError):
        value = _python_list(reply[start : reply.rfind("]") + 1])
    yield from _texts(value)


def _python_list(text: str) -> object:
    if "\\" in text or len(text) > _LONGEST_LITERAL:  # an unknown escape would warn
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _in_broken_list(reply: str) -> Iterator[str]:
    """The strings in quotes after the first bracket, each up to its closing quote."""
    start = reply.find("[")
    if start >= 0:
        for match in _QUOTED.finditer(reply, start):
            try:
                yield json.loads(f'"{match[1]}"')
            except ValueError:
                yield match[1]


def _in_quoted_lines(reply: str) -> Iterator[str]:
    yield from (match[1] for match in _QUOTED_LINE.finditer(reply))


def _in_marked_lines(reply: str) -> Iterator[str]:
    yield from (match[1] for match in _MARKED.finditer(reply))


def _in_question_lines(reply: str) -> Iterator[str]:
    yield from (line for line in text_lines(reply) if line.rstrip(_AROUND).endswith("?"))


def _clean(texts: Iterator[str]) -> list[str]:
    """Strip numbers, "Question:", quotes and commas; drop repeats, single characters and prose."""
    kept: dict[str, str] = {}
    for raw in texts:
        unnumbered = _NUMBER.sub("", raw.strip(_AROUND)).strip(_AROUND)
        text = " ".join(_NAMED.sub("", unnumbered).strip(_AROUND).split())
        if 1 < len(text) <= LONGEST and any(map(str.isalnum, text)):
            kept.setdefault(text.casefold(), text)
    return list(kept.values())


def repeats(reply: str) -> bool:
    """Tell whether the last three lines or sentences were all written before in the reply.

    Short ones do not count: a list of labels may well say "vital" ten times.

    >>> repeats("1. Who built the bridge?\\n2. Why was it built?\\n3. Who built the bridge?\\n")
    False
    >>> repeats("4. Who built the bridge?\\n" * 4)
    True
    """
    pieces = (re.findall(r"[^\W\d_]+", piece.lower()) for piece in _PIECES.split(reply)[:-1])
    long = [words for words in pieces if len(words) >= _WORDS or sum(map(len, words)) >= _LETTERS]
    places = range(len(long) - _REPEATED, len(long))
    return len(long) > _REPEATED and all(long[place] in long[:place] for place in places)
