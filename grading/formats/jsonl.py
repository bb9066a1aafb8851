"""JSON documents, one a line, decoded with their types; a wrong type names the line and the path inside the
JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from grading.errors import BadFormat
from grading.formats.reading import lines

Raw = TypeVar("Raw")
Record = TypeVar("Record")

Number = int | float | str
"""A number as files write it; `whole` and `real` make it true."""


def records(
    path: Path, decoder: msgspec.json.Decoder[Raw], convert: Callable[[Raw, int], Record], *, shape: str
) -> Iterator[Record]:
    """Decode each line of `path` and yield `convert(raw, line number)`.

    `shape` says in words what a line should be. `convert` raises `BadFormat` without a place; file and line
    are added here. A blank line is an error.
    """
    for number, text in lines(path):
        try:
            yield convert(decode(text, decoder, shape=shape), number)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error


def decode(text: str, decoder: msgspec.json.Decoder[Raw], *, shape: str) -> Raw:
    """One JSON document as its type. Raises `BadFormat` (without a place in the file)."""
    if not text or text.isspace():
        raise BadFormat(f"blank line, expected {shape}")
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        raise BadFormat(f"{problem} at {path.strip('`') or '$'}; a line is {shape}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadFormat(f"malformed JSON ({error}), expected {shape}") from error


def whole(value: Number | bool | None, *, what: str) -> int:
    """A whole number from 3, 3.0 or "3". Raises `BadFormat` that begins with `what`.

    >>> whole("3", what="rank"), whole(2.0, what="rank")
    (3, 2)
    """
    if type(value) is int:
        return value
    try:
        if isinstance(value, str):
            return int(value)
        if isinstance(value, float) and value.is_integer():
            return int(value)
    except ValueError:
        pass
    raise BadFormat(f"{what} is {_as_json(value)}, expected a whole number")


def real(value: Number, *, what: str) -> float:
    """A finite number from 3, 3.5 or "3.5". Raises `BadFormat` that begins with `what`."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = float("nan")
    if number - number != 0:
        raise BadFormat(f"{what} is {_as_json(value)}, expected a finite number")
    return number


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
