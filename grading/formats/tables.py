"""Tables as TSV and LaTeX, and rows of CSV files.

A table of results is comment lines with its provenance, a header, a row per line. Programs read it, and
people open it in spreadsheets: no text in it is a formula there. The formats of other tools are for programs
alone, and have every text as it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.reading import lines

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
    r"""Return a comment line for each statement, a header of column names, a line a row; without line breaks.

    Numbers have all their digits, an undefined one is NaN. No text can end its line or its column, or be a
    formula: see `without_formula`.

    >>> table = DataTable(("run_tag", "score"), (("bm25", 1 / 3), ("ql", None)), (("bank", "main\n1"),))
    >>> [line.split("\t") for line in tsv_lines(table)]
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
    if isinstance(value, str):
        return without_formula(_plain(value))
    return UNDEFINED if value is None or value != value else repr(value)


def _plain(text: str) -> str:
    return _BREAKS.sub(" ", text)


class Mark(StrEnum):
    BEST = "best"
    """Bold and italic."""
    TIED = "tied"
    """Bold: as good as the best."""
    NONE = ""


@dataclass(frozen=True, slots=True)
class TextCell:
    """A number or void value as people read it."""

    text: str
    mark: Mark = Mark.NONE
    title: str = ""
    """The tooltip on a page."""
    href: str = ""
    links: tuple[tuple[str, str], ...] = ()
    """Pairs of text and address that a page shows instead of the text."""


NO_DATA = DataTable((), ())


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """The first `n_labels` and the last `n_notes` columns are text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TextCell, ...], ...]
    n_labels: int = 1
    comments: tuple[str, ...] = ()
    """The provenance of the numbers."""
    n_notes: int = 0
    legend: tuple[tuple[Mark, str], ...] = ()
    """The meaning of each mark; omitted without marks."""
    data: DataTable = NO_DATA
    """The same table for programs, with all rows."""

    def is_number(self, column: int) -> bool:
        return self.n_labels <= column < len(self.columns) - self.n_notes


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
        "\N{EN DASH}": "--",
        "\N{MINUS SIGN}": "$-$",
        "\N{MIDDLE DOT}": r"$\cdot$",
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
        "\N{GREEK SMALL LETTER KAPPA}": r"$\kappa$",
        "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
        "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
        "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
    }
)
_SIGNS = {Mark.BEST: "*", Mark.TIED: "+", Mark.NONE: ""}
_STYLES = {Mark.BEST: "bold italic", Mark.TIED: "bold"}
_MARKED = {Mark.BEST: r"\textbf{\textit{%s}}", Mark.TIED: r"\textbf{%s}", Mark.NONE: "%s"}


def row(*values: object) -> tuple[TextCell, ...]:
    """Return cells without marks; None is void.

    >>> [cell.text for cell in row("bm25", 0.51234, 7)]
    ['bm25', '0.512', '7']
    """
    return tuple(value if isinstance(value, TextCell) else TextCell(number(value)) for value in values)


def number(value: object) -> str:
    """Return three decimals as in the papers' tables; a dash for what is undefined."""
    if value is None or value != value:
        return "\N{EN DASH}"
    return f"{value:z.3f}" if isinstance(value, float) else str(value)


def text_lines(sheet: PrintedTable) -> list[str]:
    """Return the sheet for a terminal; the best of a column has a star, what is as good a plus sign.

    >>> text_lines(PrintedTable("T", ("run", "S"), (row("bm25", 0.5), row("ql", 0.25))))
    ['T', '', 'run       S', 'bm25  0.500', 'ql    0.250']
    """
    body = [[_unmarked(cell.text) + _SIGNS[cell.mark] for cell in cells] for cells in sheet.rows]
    lines = [[_unmarked(name) for name in sheet.columns], *body]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(
            text.rjust(width) if sheet.is_number(place) else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    comments = (sheet.title, *sheet.comments, _legend(sheet, _SIGNS))
    return [*(_unmarked(line) for line in comments if line), "", *padded]


def tex_lines(sheet: PrintedTable) -> list[str]:
    r"""Return a `tabular` in booktabs style.

    >>> tex_lines(PrintedTable("", ("run_tag", "S"), ((TextCell("50%"), TextCell("0.9", Mark.TIED)),)))[3:6]
    ['run\\_tag & S \\\\', '\\midrule', '50\\% & \\textbf{0.9} \\\\']
    """
    align = "".join("r" if sheet.is_number(place) else "l" for place in range(len(sheet.columns)))
    comments = [
        f"% {_unmarked(line)}" for line in (sheet.title, *sheet.comments, _legend(sheet, _STYLES)) if line
    ]
    body = [_tex_row(_MARKED[cell.mark] % tex(cell.text) for cell in cells) for cells in sheet.rows]
    return [
        *comments,
        "% needs \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{{align}}}",
        "\\toprule",
        _tex_row(tex(name) for name in sheet.columns),
        "\\midrule",
        *body,
        "\\bottomrule",
        "\\end{tabular}",
    ]


def tex(text: str) -> str:
    """Escape LaTeX's own characters."""
    return _unmarked(text).translate(_TEX)


def _legend(sheet: PrintedTable, labels: Mapping[Mark, str]) -> str:
    return ", ".join(f"{labels[mark]}: {meaning}" for mark, meaning in sheet.legend)


def _tex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _unmarked(text: str) -> str:
    return " ".join(text.split())


def marked(
    values: Sequence[float | None], as_good: Sequence[bool], titles: Sequence[str] | None = None
) -> list[TextCell]:
    """Return a column of numbers: the best marked, and those that are as good as it.

    >>> [cell.mark.value for cell in marked([0.95, 0.92, 0.5, None], [True, True, False, False])]
    ['best', 'tied', '', '']
    """
    texts = titles or [""] * len(values)
    best = max((value for value in values if value is not None), default=None)
    marks = (
        Mark.NONE if not good else Mark.BEST if value == best else Mark.TIED
        for value, good in zip(values, as_good, strict=True)
    )
    return [
        TextCell(number(value), mark, title) for value, mark, title in zip(values, marks, texts, strict=True)
    ]


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
