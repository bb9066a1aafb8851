"""Lines to a file: gzip when the name ends in `.gz`, and the same bytes every time."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def spreadsheet_cell(text: str) -> str:
    """Text for a TSV that people open in a spreadsheet: nothing that it would compute.

    >>> [spreadsheet_cell(text) for text in ("=1+1", "-0.5", "d1")]
    ["'=1+1", '-0.5', 'd1']
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def write_lines(path: Path, rows: Iterable[bytes]) -> None:
    """Write each row and a line feed. Gzip output carries no time and no name, so equal rows make equal
    files.
    """
    with path.open("wb") as file:
        if path.suffix != ".gz":
            file.writelines(row + b"\n" for row in rows)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            zipped.writelines(row + b"\n" for row in rows)
