"""Formatting of numbers, counts and tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from django.utils import formats
from django.utils.text import Truncator

from grading.formats.tables import without_formula
from grading.types import CONTRADICTS


def number(value: float | None, digits: int | None = None) -> str:
    """Write a number with its thousands apart; empty for None.

    >>> number(1_234), number(0.25, 1), number(None)
    ('1,234', '0.2', '')
    """
    if isinstance(value, int) and digits is None:
        return f"{value:,}"  # what Django's formats say, too, at a tenth of the price
    return "" if value is None else str(formats.number_format(value, digits, force_grouping=True))


def counted(count: int, what: str) -> str:
    """Write a count with the name of what is counted, which takes an s in the plural.

    Every page counts things this way, so that thousands stand apart everywhere.

    >>> counted(1, "passage"), counted(1_234, "pair")
    ('1 passage', '1,234 pairs')
    """
    return f"{number(count)} {what if count == 1 else f'{what}s'}"


def clipped(text: str, most: int) -> str:
    """Return at most so many characters; the last is an ellipsis where some are left out.

    >>> clipped("Leaves turn", 11), clipped("Leaves turn red", 11)
    ('Leaves turn', 'Leaves tur…')
    """
    return text if len(text) <= most else Truncator(text).chars(most)


CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "tsv": "text/tab-separated-values; charset=utf-8"}


def safe_cell(value: object) -> str:
    r"""Return a number as it is, and anything else as one line of text that no spreadsheet computes.

    >>> [safe_cell(value) for value in (-0.5, "-0.5", "a\nb")]
    ['-0.5', "'-0.5", 'a b']
    """
    text = " ".join(str(value).split())
    return text if isinstance(value, int | float) else without_formula(text)


def lines(rows: Iterable[Sequence[object]], form: str) -> Iterator[str]:
    """Yield the rows as `csv` or `tsv`, each with its line break."""
    for row in rows:
        cells = [safe_cell(value) for value in row]
        if form == "tsv":
            yield "\t".join(cells) + "\n"
        else:
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerow(cells)
            yield written.getvalue()


def rating_sign(rating: int | None) -> str:
    """Return the rating as a key or cell has it: a digit, or one below 0 for what contradicts the item."""
    return "\N{MINUS SIGN}1" if rating == CONTRADICTS else str(rating)


def rating_words(rating: int | None) -> str:
    """Return the rating as a sentence has it; "none" without one.

    >>> [rating_words(rating) for rating in (2, -5, None)]
    ['2', 'contradicts', 'none']
    """
    return "none" if rating is None else "contradicts" if rating == CONTRADICTS else str(rating)


def rank_span(first: int, last: int) -> str:
    """Format a range of ranks for people.

    >>> rank_span(3, 3)
    '3'
    """
    return str(first) if first == last else f"{first}\N{EN DASH}{last}"
