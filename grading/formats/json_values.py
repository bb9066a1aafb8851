"""JSON that loses nothing when it is read: neither the value of a repeated key nor the digits of a number."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from grading.errors import BadFormat
from grading.formats.reading import refuse_escaped_nul

MAX_DEPTH = 64
"""Lists and objects inside each other."""

JsonDict = dict[str, Any]  # Any: a JSON value, whose type its reader checks

_TOO_DEEP = f"more than {MAX_DEPTH} lists and objects inside each other, expected fewer"
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list"}


def json_value(text: str, *, shape: str) -> object:
    """Decode one JSON document. `shape` says in words what it should be.

    Raises `BadFormat`, with the line in `text` where that is known, for blank or malformed text, a key that
    occurs twice in an object, numbers that are not finite, half a surrogate pair, NUL characters, and more
    than MAX_DEPTH levels.
    """
    if not text or text.isspace():
        raise BadFormat(f"blank line, expected {shape}")
    refuse_escaped_nul(text)
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        problem = f"malformed JSON ({error.msg}, column {error.colno}), expected {shape}"
        raise BadFormat(problem, line=error.lineno) from error
    except RecursionError as error:
        raise BadFormat(_TOO_DEEP) from error
    except ValueError as error:
        raise BadFormat(f"a number of too many digits, expected {shape}") from error
    _refuse_depth(value)
    if "\\u" in text:
        _refuse_half_characters(value)
    return value


def json_object(text: str, *, shape: str) -> JsonDict:
    """Decode one JSON object. Raises `BadFormat` as `json_value` does, and for other values."""
    value = json_value(text, shape=shape)
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


def _finite(digits: str) -> float:
    number = float(digits)
    if number - number != 0:
        raise BadFormat(f"the number {digits} is too large, expected a finite number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise BadFormat(f"{name}, expected a finite number")


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


def _refuse_half_characters(value: object) -> None:
    try:
        encode_json(value)
    except UnicodeEncodeError as error:
        raise BadFormat("half a surrogate pair, expected whole characters") from error
