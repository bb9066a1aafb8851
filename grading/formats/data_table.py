"""A table of results as TSV: comment lines with its provenance, a header, a row per line.

Programs read it, and people open it in spreadsheets: no text in it is a formula there. The formats of other
tools are for programs alone, and have every text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

UNDEFINED = "NaN"
Value = str | int | float | None
"""None, like a float that is NaN, is undefined."""

_FORMULA = re.compile("'*[=+\\-@\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet computes, by signs of any width, or that was made text."""
_BREAKS = re.compile("[\\x00\\t\\n\\v\\f\\r\\x1c-\\x1f\\x85\\u2028\\u2029]+")


@dataclass(frozen=True, slots=True)
class DataTable:
    """All rows of a table, with unrounded numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    stated: tuple[tuple[str, str], ...] = ()
    """Pairs of name and value that hold for all rows: collection, bank, grader, cutoff."""


def from_mappings(rows: Sequence[Mapping[str, Value]], stated: Sequence[tuple[str, str]] = ()) -> DataTable:
    """Make a table of rows that all have the same columns."""
    columns = tuple(rows[0]) if rows else ()
    return DataTable(columns, tuple(tuple(row[name] for name in columns) for row in rows), tuple(stated))


def tsv_lines(table: DataTable) -> list[str]:
    """A comment line for each statement, a header of column names, a line a row; without line breaks.

    Numbers have all their digits, an undefined one is NaN. No text can end its line or its column, or be a
    formula: see `without_formula`.

    >>> table = DataTable(("run_tag", "score"), (("bm25", 1 / 3), ("ql", None)), (("bank", "main\\n1"),))
    >>> [line.split("\\t") for line in tsv_lines(table)]
    [['# bank: main 1'], ['run_tag', 'score'], ['bm25', '0.3333333333333333'], ['ql', 'NaN']]
    """
    comments = [f"# {_plain(name)}: {_plain(value)}" for name, value in table.stated]
    rows = ("\t".join(_text(value) for value in row) for row in table.rows)
    return [*comments, "\t".join(without_formula(_plain(name)) for name in table.columns), *rows]


def without_formula(text: str) -> str:
    """Return the text behind an apostrophe where a spreadsheet would compute it.

    >>> [without_formula(text) for text in ("=1+1", "d1", "'=1", "\uff1d1")]
    ["'=1+1", 'd1', "''=1", "'\uff1d1"]
    """
    return f"'{text}" if _FORMULA.match(text) else text


def with_formula(text: str) -> str:
    """Return the text that `without_formula` made into this one.

    >>> [with_formula(without_formula(text)) for text in ("=1+1", "d1", "'=1", "'d1")]
    ['=1+1', 'd1', "'=1", "'d1"]
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _text(value: Value) -> str:
    if value is None or value != value:
        return UNDEFINED
    return without_formula(_plain(value)) if isinstance(value, str) else repr(value)


def _plain(text: str) -> str:
    return _BREAKS.sub(" ", text)
