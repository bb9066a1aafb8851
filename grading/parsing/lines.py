"""Numbered lines in replies to a prompt that asks about several items in one call.

A line begins with the number of its item: "3: 4", "3. 4", "**3)** support", "Question 3: 4", "| 3 | 4 |".
JSON is read as well: an object by number, a list of objects that each have a number, or a list of as many
values as items. The lines of a reply may come in any order. What a line repeats of its item is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_NAME = r"(?:(?:item|question|nugget|key\s+fact|fact|q|n|no)\.?\s*+)?"
_SEPARATOR = r"(?:[:\uff1a=|)\]]|\.(?![0-9])|->|\u2192|[-\u2013\u2014](?=\s)|\t)"
_LINE = re.compile(
    rf"[\s>*_`|\u2022+-]*+[(\[]?{_NAME}#?\s*+(?P<number>[0-9]{{1,3}})(?P<close>[*_`\])]*)\s*"
    rf"(?:{_SEPARATOR})(?P<text>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AROUND = " \t*_`|\"'"
_AFTER_ECHO = f"{_AROUND}:.?!=>\u2192\u2013\u2014-"
_FENCE = re.compile(r"\s*```\w*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_NUMBER_KEYS = frozenset({"item", "number", "no", "id", "index", "question", "nugget", "n"})
_NUMBER = re.compile(rf"\s*+{_NAME}#?\s*+([0-9]{{1,3}})\s*", re.IGNORECASE)


class Line(NamedTuple):
    """What a reply says of one item."""

    number: int
    """The item's, from 1."""
    text: str
    """What is to be read; empty where only the number stands there."""
    raw: str
    """The line as it came, with lines after it that have no number."""


class NumberedReply(NamedTuple):
    """A reply in lines; `rest` and what is raw in the lines are all of it."""

    lines: tuple[Line, ...]
    rest: str
    """What stands before the first line, or all of a reply in JSON."""


def numbered_lines(reply: str, items: Sequence[str]) -> NumberedReply:
    r"""Return the lines of a reply about these items, in the order of the reply.

    A number that is no item's, or comes twice, is for whoever asked to judge. About one item alone the reply
    need not have its number.

    >>> [line[:2] for line in numbered_lines("2: 0\n1: 4", ["Why?", "When?"]).lines]
    [(2, '0'), (1, '4')]
    """
    read = _read(reply, items)
    if len(items) == 1 and all(line.number != 1 for line in read.lines):
        return NumberedReply((Line(1, reply.strip(), reply),), "")
    return read


def _read(reply: str, items: Sequence[str]) -> NumberedReply:
    if (in_json := _in_json(reply, len(items))) is not None:
        return NumberedReply(tuple(in_json), reply)
    rest: list[str] = []
    blocks: list[tuple[int, str, list[str]]] = []
    for text in re.findall(r"[^\n]*\n|[^\n]+", reply):
        if match := _LINE.match(text):
            blocks.append((int(match["number"]), match["text"], [text]))
        else:
            (blocks[-1][2] if blocks else rest).append(text)
    lines = (Line(number, _stated(number, text, raw, items), "".join(raw)) for number, text, raw in blocks)
    return NumberedReply(tuple(lines), "".join(rest))


def _stated(number: int, text: str, raw: Sequence[str], items: Sequence[str]) -> str:
    """Return the line without its item's own words; the lines after it where nothing else is left."""
    item = " ".join(items[number - 1].split()) if 0 < number <= len(items) else ""
    stated = " ".join(text.split()).strip(_AROUND)
    if item and stated[: len(item)].casefold() == item.casefold():
        stated = stated[len(item) :].lstrip(_AFTER_ECHO)
    return stated or "".join(raw[1:]).strip()


def _in_json(reply: str, items: int) -> list[Line] | None:
    """Return the lines of a reply in JSON, also of one with an object a line; None for any other reply."""
    fenced = _FENCE.fullmatch(reply)
    text = (fenced[1] if fenced else reply).strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return _of_value(json.loads(text, object_pairs_hook=_Object), items)
    except (ValueError, RecursionError):
        pass
    try:
        values = [json.loads(line, object_pairs_hook=_Object) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
    return list(_of_objects(values))


class _Object(list[tuple[str, object]]):
    """A JSON object as it came: a name may come twice."""


def _of_value(value: object, items: int) -> list[Line] | None:
    if isinstance(value, _Object):
        by_number = [(match, each) for key, each in value if (match := _NUMBER.fullmatch(key))]
        if by_number:
            return [_line(int(match[1]), each) for match, each in by_number]
        inner = [each for _, each in value if isinstance(each, list)]
        return _of_value(inner[0], items) if len(inner) == 1 else list(_of_objects([value]))
    if not isinstance(value, list):
        return None
    if numbered := list(_of_objects(value)):
        return numbered
    return [_line(number, each) for number, each in enumerate(value, 1)] if len(value) == items else []


def _of_objects(values: Iterable[object]) -> Iterator[Line]:
    """Yield what objects with the number of an item say."""
    for value in values:
        if not isinstance(value, _Object):
            continue
        for key, number in value:
            match = _NUMBER.fullmatch(str(number)) if key.casefold() in _NUMBER_KEYS else None
            if match:
                yield _line(int(match[1]), _Object(pair for pair in value if pair[0] != key))
                break


def _line(number: int, value: object) -> Line:
    text = value if isinstance(value, str) else json.dumps(_plain(value), ensure_ascii=False)
    return Line(number, text.strip(), json.dumps({str(number): _plain(value)}, ensure_ascii=False))


def _plain(value: object) -> object:
    if isinstance(value, _Object):
        return {key: _plain(each) for key, each in value}
    return [_plain(each) for each in value] if isinstance(value, list) else value
