"""Numbers as files write them: 3, 3.0 or "3"; never NaN, never too large to store."""

from __future__ import annotations

import re
from contextlib import suppress

import msgspec

from grading.errors import BadFormat

Number = int | float | str

MAX_WHOLE = 2**31 - 1
_WHOLE = re.compile(r"[+-]?[0-9]{1,12}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(value: Number | bool | None, *, what: str) -> int:
    """A whole number of at most 31 bits. Raises `BadFormat`, without a place, that begins with `what`.

    >>> whole("3", what="rank"), whole(2.0, what="rank")
    (3, 2)
    """
    number = value if type(value) is int else _as_whole(value)
    if number is None or abs(number) > MAX_WHOLE:
        raise BadFormat(f"{what} is {_as_json(value)}, expected a whole number")
    return number


def real(value: Number, *, what: str) -> float:
    """A finite number. Raises `BadFormat`, without a place, that begins with `what`.

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
    """Whether a column of a file is a whole number.

    >>> is_whole("-3"), is_whole("3.0"), is_whole("Q0")
    (True, False, False)
    """
    return _WHOLE.fullmatch(text.strip()) is not None


def is_real(text: str) -> bool:
    """Whether a column of a file is a finite number.

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
