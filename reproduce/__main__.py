"""Recompute the published tables: `python -m reproduce [TABLE ...] [--data FOLDER] [--write]`.

Exits with 1 where a number is further off than its tolerance. A table whose files are not there says where
they come from, and is no failure. `--write` rewrites the sections of docs/reproduce.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from reproduce._tables import DATA, Figure, Lacking, Table

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parent / "docs" / "reproduce.md"
NAMES = sorted(module.name for module in iter_modules([str(HERE)]) if not module.name.startswith("_"))
HEADS = ("Quantity", "Printed", "Ours", "Difference", "Tolerance")


def table_named(name: str) -> Table:
    """Return the table of the module of that name."""
    table: Table = import_module(f"reproduce.{name}").TABLE
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run the tables that are named, or all. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="reproduce", description="Recompute published tables.")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="files that are not shipped, beside ours")
    parser.add_argument("--write", action="store_true", help=f"rewrite the sections of {DOCUMENT.name}")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.tables if name not in NAMES]:
        parser.error(f"no table {unknown[0]}, expected of {', '.join(NAMES)}")
    folders = [folder for folder in (options.data, DATA) if folder]
    figures: dict[str, list[Figure]] = {}
    for name in options.tables or NAMES:
        table = table_named(name)
        print(f"== {name}: {table.title}\n   {table.source}")
        try:
            figures[name] = table.computed(folders)
        except Lacking as error:
            print(f"   not computed: {error}\n")
            continue
        print_figures(figures[name])
    if options.write:
        write_sections(figures)
    return report(figures)


def print_figures(figures: list[Figure]) -> None:
    """Print the figures in columns, those that do not agree with a mark."""
    rows = [HEADS, *(figure.cells for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    for row, mark in zip(rows, ["", *("" if each.agrees else "  <--" for each in figures)], strict=True):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(widths[n]) for n, cell in enumerate(row) if n)]
        print(f"   {'  '.join(cells)}{mark}")
    print()


def report(figures: dict[str, list[Figure]]) -> int:
    """Print how many tables and numbers agree, and return 1 where some do not."""
    apart = {name: [each for each in of if not each.agrees] for name, of in figures.items()}
    numbers = sum(map(len, figures.values()))
    print(f"{len(figures)} tables, {numbers} numbers, {sum(map(len, apart.values()))} beyond their tolerance")
    for name, wrong in apart.items():
        for figure in wrong:
            print(f"{name}: {' | '.join(figure.cells)}", file=sys.stderr)
    return int(any(apart.values()))


def section(name: str, figures: list[Figure]) -> str:
    """Return the section of a table in the document, between its markers."""
    table = table_named(name)
    lines = [f"## {table.title}", "", f"`reproduce/{name}.py`. {table.source}."]
    lines += ["", table.note] if table.note else []
    lines += ["", *(f"- `{a.file}`: {a.source}, md5 `{a.md5}`" for a in table.artefacts)]
    lines += ["" if table.artefacts else "Its numbers are in the script.", ""]
    lines += [f"| {' | '.join(HEADS)} |", "|---|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(figure.cells)} |" for figure in figures]
    return "\n".join(lines)


def write_sections(figures: dict[str, list[Figure]]) -> None:
    """Rewrite the sections of these tables; others stay, and a new one is put at the end."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, of_table in figures.items():
        marked = f"<!-- {name} -->\n{section(name, of_table)}\n<!-- /{name} -->"
        pattern = re.compile(rf"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
        if not pattern.search(text):
            text = f"{text.rstrip()}\n\n<!-- {name} -->\n<!-- /{name} -->\n"
        text = pattern.sub(lambda _, marked=marked: marked, text)  # type: ignore[misc]
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
