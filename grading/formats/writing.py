"""Lines to a file: gzip when the name ends in `.gz`, and the same bytes every time."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path


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
