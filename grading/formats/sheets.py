"""A table of results for people: on a page, in a terminal, in LaTeX with the best marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from grading.formats.data_table import DataTable


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


_TEX = {
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
_SIGNS = {Mark.BEST: "*", Mark.TIED: "+", Mark.NONE: ""}
_STYLES = {Mark.BEST: "bold italic", Mark.TIED: "bold"}
_MARKED = {Mark.BEST: r"\textbf{\textit{%s}}", Mark.TIED: r"\textbf{%s}", Mark.NONE: "%s"}


def row(*values: object) -> tuple[TextCell, ...]:
    """Cells without marks; None is void.

    >>> [cell.text for cell in row("bm25", 0.51234, 7)]
    ['bm25', '0.512', '7']
    """
    return tuple(value if isinstance(value, TextCell) else TextCell(number(value)) for value in values)


def number(value: object) -> str:
    """Three decimals as in the papers' tables; a dash for what is undefined."""
    if value is None or value != value:
        return "\N{EN DASH}"
    return f"{value:z.3f}" if isinstance(value, float) else str(value)


def text_lines(sheet: PrintedTable) -> list[str]:
    """Columns side by side, for a terminal; the best of a column has a star, what is as good a plus sign.

    >>> text_lines(PrintedTable("T", ("run", "S"), (row("bm25", 0.5), row("ql", 0.25))))
    ['T', '', 'run       S', 'bm25  0.500', 'ql    0.250']
    """
    body = [[_plain(cell.text) + _SIGNS[cell.mark] for cell in cells] for cells in sheet.rows]
    lines = [[_plain(name) for name in sheet.columns], *body]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(
            text.rjust(width) if sheet.is_number(place) else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    comments = (sheet.title, *sheet.comments, _legend(sheet, _SIGNS))
    return [*(_plain(line) for line in comments if line), "", *padded]


def tex_lines(sheet: PrintedTable) -> list[str]:
    r"""A `tabular` in booktabs style.

    >>> tex_lines(PrintedTable("", ("run_tag", "S"), ((TextCell("50%"), TextCell("0.9", Mark.TIED)),)))[3:6]
    ['run\\_tag & S \\\\', '\\midrule', '50\\% & \\textbf{0.9} \\\\']
    """
    align = "".join("r" if sheet.is_number(place) else "l" for place in range(len(sheet.columns)))
    comments = [
        f"% {_plain(line)}" for line in (sheet.title, *sheet.comments, _legend(sheet, _STYLES)) if line
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
    """Text with LaTeX's own characters escaped."""
    return "".join(_TEX.get(character, character) for character in _plain(text))


def _legend(sheet: PrintedTable, words: Mapping[Mark, str]) -> str:
    return ", ".join(f"{words[mark]}: {meaning}" for mark, meaning in sheet.legend)


def _tex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _plain(text: str) -> str:
    return " ".join(text.split())


def marked(
    values: Sequence[float | None], as_good: Sequence[bool], titles: Sequence[str] | None = None
) -> list[TextCell]:
    """A column of numbers: the best marked, and those that are as good as it.

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
