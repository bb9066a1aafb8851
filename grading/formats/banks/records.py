"""The JSON objects of a bank file: a line each, one document, or a list; envelopes of castorini unwrapped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec

from grading.errors import BadFormat
from grading.formats.banks.types import Json
from grading.formats.envelopes import ENVELOPE, unwrapped
from grading.formats.reading import MAX_HELD_BYTES, lines, refuse_escaped_nul

MAX_DEPTH = 60
"""How deeply the objects and lists of a bank may be nested."""
_SHAPE = "a bank as JSON: one object a line, one object, or a list of objects"


class Record(NamedTuple):
    line: int
    value: Json


def read_records(path: Path) -> list[Record]:
    """Every record of the file with its line; those of one document have the line on which it begins.

    Raises `BadFormat` with file and line for what is no JSON object, a key that one object has twice, a blank
    line between records, and nesting deeper than `MAX_DEPTH`.
    """
    numbered = list(lines(path, max_bytes=MAX_HELD_BYTES))
    return [record for line, text in _documents(numbered) for record in _records(path.name, line, text)]


def _documents(numbered: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """(line, JSON text): each line, unless the first is only the beginning of a document."""
    first = next(place for place, (_, text) in enumerate(numbered) if text.strip())
    number, text = numbered[first]
    if _is_whole(text) or text.rstrip().endswith("}"):
        return numbered
    return [(number, "\n".join(text for _, text in numbered[first:]))]


def _is_whole(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _records(file: str, line: int, text: str) -> Iterator[Record]:
    try:
        value = _decode(text)
        for found in value if isinstance(value, list) else [value]:
            if not (records := unwrapped(found)):
                raise BadFormat(f"no records in artifacts, expected data or value in the envelope {ENVELOPE}")
            for record in records:
                if not isinstance(record, dict):
                    raise BadFormat(f"{type(record).__name__} in place of an object, expected {_SHAPE}")
                yield Record(line, record)
    except BadFormat as error:
        raise BadFormat(error.problem, file=file, line=line + (error.line or 0)) from error


def _decode(text: str) -> Any:
    if not text.strip():
        raise BadFormat(f"blank line, expected {_SHAPE}")
    refuse_escaped_nul(text)
    try:
        value = msgspec.json.decode(text)
        json.loads(text, object_pairs_hook=_refuse_repeated)
    except (msgspec.DecodeError, RecursionError) as error:
        _malformed(text, error)
    _refuse_deep(value)
    return value


def _malformed(text: str, problem: Exception) -> NoReturn:
    line = 0
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno - 1
    except (ValueError, RecursionError):
        pass
    raise BadFormat(f"malformed JSON ({problem}), expected {_SHAPE}", line=line) from problem


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> Json:
    found: Json = {}
    for key, value in pairs:
        if key in found:
            raise BadFormat(f"the key {key[:80]!r} occurs twice in one object, expected it once")
        found[key] = value
    return found


def _refuse_deep(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return
    raise BadFormat(f"nested too deeply, expected at most {MAX_DEPTH} levels")
