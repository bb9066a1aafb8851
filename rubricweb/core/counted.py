"""Numbers as people read them, and counts of things with their names."""

from __future__ import annotations

from django.utils import formats


def number(value: float | None, digits: int | None = None) -> str:
    """Write a number with its thousands apart; empty for None.

    >>> number(1_234), number(0.25, 1), number(None)
    ('1,234', '0.2', '')
    """
    return "" if value is None else str(formats.number_format(value, digits, force_grouping=True))


def counted(count: int, what: str) -> str:
    """Write a count with the name of what is counted, which takes an s in the plural.

    Every page counts things this way, so that thousands stand apart everywhere.

    >>> counted(1, "passage"), counted(1_234, "pair")
    ('1 passage', '1,234 pairs')
    """
    return f"{number(count)} {what if count == 1 else f'{what}s'}"
