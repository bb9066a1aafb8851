"""CSV and TSV for spreadsheets, which take a cell that begins with = + - @ for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

FORMULA_SIGNS = ("=", "+", "-", "@")
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "tsv": "text/tab-separated-values; charset=utf-8"}


def safe_cell(value: object) -> str:
    """One line of text that no spreadsheet takes for a formula."""
    return without_formula(" ".join(str(value).split()))


def without_formula(text: str) -> str:
    """Text behind an apostrophe where a spreadsheet would compute it.

    >>> [without_formula(text) for text in ("=1+1", "d1")]
    ["'=1+1", 'd1']
    """
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def lines(rows: Iterable[Sequence[object]], form: str) -> Iterator[str]:
    """The rows as `csv` or `tsv`, each with its line break."""
    for row in rows:
        cells = [safe_cell(value) for value in row]
        if form == "tsv":
            yield "\t".join(cells) + "\n"
        else:
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerow(cells)
            yield written.getvalue()
