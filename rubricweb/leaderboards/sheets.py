"""Tables whose one list of columns is printed for people and written to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from grading.formats.tables import PrintedTable, TextCell, Value, from_mappings, number, row
from rubricweb.core.formatting import rank_span

R = TypeVar("R")
Stated = Sequence[tuple[str, str]]
Possible = tuple[int, int] | None
"""The first and the last rank that the topics leave open; None where nothing is tested."""


@dataclass(frozen=True, slots=True)
class SheetColumn(Generic[R]):
    """A column; without a head it is in files alone, without a name it is printed alone."""

    head: str
    name: str
    value: Callable[[R], Value]
    cell: Callable[[R], TextCell] | None = None
    """How it is printed; by default as the value, with three decimals."""

    def printed(self, row: R) -> TextCell:
        return self.cell(row) if self.cell else TextCell(number(self.value(row)))


def possible_ranks(head: str, name: str, of: Callable[[R], Possible]) -> list[SheetColumn[R]]:
    """Return the columns of possible ranks: printed as a range "2-5", in files by both ends."""
    return [
        SheetColumn(head, "", lambda row: rank_span(*ranks) if (ranks := of(row)) else None),
        SheetColumn("", f"{name}_first", lambda row: (of(row) or (None, None))[0]),
        SheetColumn("", f"{name}_last", lambda row: (of(row) or (None, None))[1]),
    ]


def sheet(
    title: str,
    columns: Sequence[SheetColumn[R]],
    rows: Sequence[R],
    stated: Stated,
    *,
    in_files: Sequence[R] | None = None,
    **printed: Any,  # further fields of PrintedTable
) -> PrintedTable:
    """Return the rows by these columns; `in_files` are the rows of files, by default the same."""
    heads = [column for column in columns if column.head]
    named = [column for column in columns if column.name]
    written = rows if in_files is None else in_files
    lines = [{column.name: column.value(row) for column in named} for row in written]
    return PrintedTable(
        title,
        tuple(column.head for column in heads),
        tuple(tuple(column.printed(row) for column in heads) for row in rows),
        data=from_mappings(lines, stated),
        **printed,
    )


def plain_sheet(
    title: str, heads: Sequence[str], lines: Sequence[Mapping[str, Value]], stated: Stated, **printed: Any
) -> PrintedTable:
    """Return lines that are printed as files have them, with three decimals, below `heads`."""
    rows = tuple(row(*line.values()) for line in lines)
    return PrintedTable(title, tuple(heads), rows, data=from_mappings(lines, stated), **printed)
