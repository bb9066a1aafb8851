"""JSON documents, one a line, read without loss and decoded with their types.

JSON documents, one a line, decoded with their types; a wrong type names the line and the path inside the
JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grading.errors import BadFormat
from grading.formats.reading import encoded_lines, refuse_escaped_nul

Number = int | float | str

MAX_WHOLE = 2**31 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(value: Number | bool | None, *, what: str) -> int:
    """Return a whole number of at most 31 bits. Raises `BadFormat`, without a place, that begins with `what`.

    >>> whole("3", what="rank"), whole(2.0, what="rank")
    (3, 2)
    """
    number = value if type(value) is int else _as_whole(value)
    if number is None or abs(number) > MAX_WHOLE:
        raise BadFormat(f"{what} is {_as_json(value)}, expected a whole number")
    return number


def real(value: Number, *, what: str) -> float:
    """Return a finite number. Raises `BadFormat`, without a place, that begins with `what`.

    >>> real("3.5", what="score"), real(2, what="score")
    (3.5, 2.0)
    """
    number = float("nan")
    if not isinstance(value, str) or _REAL.fullmatch(value.strip()):
        with suppress(OverflowError):
            number = float(value)
    if number - number != 0:
        raise BadFormat(f"{what} is {_as_json(value)}, expected a finite number")
    return number


def is_whole(text: str) -> bool:
    """Return whether a column of a file is a whole number.

    >>> is_whole("-3"), is_whole("3.0"), is_whole("Q0")
    (True, False, False)
    """
    return _WHOLE.fullmatch(text.strip()) is not None


def is_real(text: str) -> bool:
    """Return whether a column of a file is a finite number.

    >>> is_real("3.5e-2"), is_real("nan")
    (True, False)
    """
    return _REAL.fullmatch(text.strip()) is not None


def _as_whole(value: Number | bool | None) -> int | None:
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value.strip()) else None
    return int(value) if isinstance(value, float) and value.is_integer() else None


def _as_json(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 40 else f"{text[:40]}..."


MAX_DEPTH = 64
"""Lists and objects inside each other."""

JsonDict = dict[str, Any]  # Any: a JSON value, whose type its reader checks

_TOO_DEEP = f"more than {MAX_DEPTH} lists and objects inside each other, expected fewer"
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list"}


def json_value(text: str, *, shape: str, nan: object = None) -> object:
    """Decode one JSON document. `shape` says in words what it should be, `nan` what a bare NaN becomes.

    Without `nan` that is refused. Raises `BadFormat`, with the line in `text` where that is known, for blank
    or malformed text, a key that occurs twice in an object, numbers that are not finite, half a surrogate
    pair, NUL characters, and more than MAX_DEPTH levels.
    """
    if not text or text.isspace():
        raise BadFormat(f"blank line, expected {shape}")
    refuse_escaped_nul(text)

    def constant(name: str) -> object:
        if nan is None or name != "NaN":
            raise BadFormat(f"{name}, expected a finite number")
        return nan

    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=constant)
    except json.JSONDecodeError as error:
        problem = f"malformed JSON ({error.msg}, column {error.colno}), expected {shape}"
        raise BadFormat(problem, line=error.lineno) from error
    except RecursionError as error:
        raise BadFormat(_TOO_DEEP) from error
    except ValueError as error:
        raise BadFormat(f"a number of too many digits, expected {shape}") from error
    _refuse_depth(value)
    if "\\u" in text:
        try:
            encode_json(value)
        except UnicodeEncodeError as error:
            raise BadFormat("half a surrogate pair, expected whole characters") from error
    return value


def json_object(text: str, *, shape: str, nan: object = None) -> JsonDict:
    """Decode one JSON object. Raises `BadFormat` as `json_value` does, and for other values."""
    value = json_value(text, shape=shape, nan=nan)
    if not isinstance(value, dict):
        raise BadFormat(f"{in_words(value)}, expected {shape}")
    return value


def encode_json(value: object) -> bytes:
    """Encode on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def in_words(value: object) -> str:
    """Name the type of a JSON value, for messages.

    >>> in_words(None), in_words([1])
    ('null', 'a list')
    """
    return "null" if value is None else _WORDS.get(type(value), "an object")


def _object(pairs: list[tuple[str, object]]) -> JsonDict:
    content = dict(pairs)
    if len(content) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadFormat(f"the key {twice!r} occurs twice in an object, expected it once")
    return content


def is_json(text: str) -> bool:
    """Return whether a text is one JSON document."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise BadFormat(f"the number {digits} is too large, expected a finite number")
    return number


def _refuse_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        children: list[object] = []
        for parent in level:
            children += (
                parent.values() if isinstance(parent, dict) else parent if isinstance(parent, list) else ()
            )
        level = children
        if not level:
            return
    raise BadFormat(_TOO_DEEP)


Raw = TypeVar("Raw")
Record = TypeVar("Record")


def records(
    path: Path,
    decoder: msgspec.json.Decoder[Raw],
    convert: Callable[[Raw, int], Record],
    *,
    shape: str,
    numbered: Iterable[tuple[int, str | bytes]] | None = None,
) -> Iterator[Record]:
    """Decode each line of `path`, or of `numbered` lines made of it, and yield `convert(raw, line number)`.

    `shape` says in words what a line should be. `convert` raises `BadFormat` without a place; file and line
    are added here. A blank line is an error.
    """
    for number, text in numbered if numbered is not None else encoded_lines(path):
        try:
            record = convert(decode(text, decoder, shape=shape), number)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
        del text
        yield record
        del record  # which may be large, like its line, and is gone when the next one is read


def decode(
    text: str | bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Raw], *, shape: str, at: str = "$"
) -> Raw:
    """Return a JSON document as its type, or as `msgspec.Raw` the part of it at the path `at`.

    Raises `BadFormat` (without a place in the file).
    """
    if not isinstance(text, msgspec.Raw):
        if not text or text.isspace():
            raise BadFormat(f"blank line, expected {shape}")
        refuse_escaped_nul(text)
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at ")
        place = path.strip("`").replace("$", at, 1) or at
        raise BadFormat(f"{problem} at {place}; a line is {shape}") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadFormat(f"malformed JSON ({error}), expected {shape}") from error
