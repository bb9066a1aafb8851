"""Ids in addresses and forms: the one place where text becomes the primary key or number of a row."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.exceptions import BadRequest

MAX_ID = 2**63 - 1
"""The largest number that a database column holds."""
MAX_DIGITS = len(str(MAX_ID))


def parse_id(text: object) -> int:
    """The number, or 0, which no row has, where the text is none. BadRequest (400) beyond `MAX_ID`.

    >>> parse_id("17"), parse_id(""), parse_id("-3"), parse_id("seven")
    (17, 0, 0, 0)
    """
    digits = str(text).strip()
    if not (digits.isascii() and digits.isdecimal()):
        return 0
    digits = digits.lstrip("0") or "0"
    if len(digits) > MAX_DIGITS or int(digits) > MAX_ID:
        raise BadRequest(f"No id is larger than {MAX_ID}; one of this address has {len(digits)} digits.")
    return int(digits)


def parse_ids(texts: Iterable[object]) -> frozenset[int]:
    """The numbers among the texts; BadRequest as in `parse_id`."""
    return frozenset(number for number in map(parse_id, texts) if number)
