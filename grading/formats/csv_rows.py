"""Rows of CSV files, with the line that each begins on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.reading import lines


def csv_rows(path: Path, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (line, cells by column) of each record below the header, in the file's order.

    A record may have line breaks in quotes; the line is its first. Raises `BadFormat` with file and line for
    a column of `required` that is missing, a column that is there twice, another number of cells than the
    header has, a blank line and what is no CSV.
    """
    records = _records(path)
    line, header = next(records)
    twice = [name for name in header if header.count(name) > 1]
    if missing := [name for name in required if name not in header]:
        problem = f"no column {missing[0]}, expected {', '.join(required)} and more"
        raise BadFormat(problem, file=path.name, line=line)
    if twice:
        raise BadFormat(f"the column {twice[0]!r} twice, expected it once", file=path.name, line=line)
    for number, cells in records:
        if len(cells) != len(header):
            problem = f"{len(cells)} columns, expected {len(header)}: {', '.join(header)}"
            raise BadFormat(problem, file=path.name, line=number)
        yield number, dict(zip(header, cells, strict=True))


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    texts = (f"{text}\n" for _, text in lines(path))
    reader, line = csv.reader(texts, strict=True), 1
    try:
        for cells in reader:
            if not cells:
                raise BadFormat("a blank line, expected a record", file=path.name, line=line)
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"no CSV ({error}), expected columns parted by commas"
        raise BadFormat(problem, file=path.name, line=line) from error


def csv_line(cells: Iterable[str]) -> str:
    """Return the cells as a line of CSV, without its end."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().removesuffix("\n")
