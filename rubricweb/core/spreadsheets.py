"""CSV and TSV for spreadsheets, which compute a cell that begins as a formula does."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from grading.formats.tables import without_formula

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "tsv": "text/tab-separated-values; charset=utf-8"}


def safe_cell(value: object) -> str:
    """Return a number as it is, and anything else as one line of text that no spreadsheet computes.

    >>> [safe_cell(value) for value in (-0.5, "-0.5", "a\\nb")]
    ['-0.5', "'-0.5", 'a b']
    """
    text = " ".join(str(value).split())
    return text if isinstance(value, int | float) else without_formula(text)


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
