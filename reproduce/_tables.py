"""What a table is: the files that it needs, the numbers that are printed, and ours beside them."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
"""Where files of others are put; git does not keep it."""
Files = Mapping[str, Path]
"""The files of a table by their names."""


class Lacking(Exception):
    """A file is not there, or is another one. The text says where it comes from."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """A public file that cannot be shipped, because it is large or another's."""

    file: str
    source: str
    """The public repository, with the commit and the path in it."""
    md5: str
    """Of the file, unpacked."""

    def found_in(self, folders: Sequence[Path]) -> Path:
        """Return the file, plain or as gzip. Raises Lacking."""
        for path in (folder / f"{self.file}{ending}" for folder in folders for ending in ("", ".gz")):
            if path.is_file():
                digest = hashlib.md5(content_of(path), usedforsecurity=False).hexdigest()
                if digest != self.md5:
                    raise Lacking(f"{path} is another file: its md5 is {digest}, expected {self.md5}")
                return path
        places = " or ".join(str(folder) for folder in folders)
        raise Lacking(f"{self.file} is not in {places}: get it from {self.source} (md5 {self.md5})")


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a table: what is printed, and what comes out here."""

    quantity: str
    printed: float
    ours: float
    digits: int = 0
    """Digits after the point in print."""
    tolerance: float | None = None
    """How far ours may be off; half of the last printed digit where it is None."""

    @property
    def difference(self) -> float:
        return self.ours - self.printed

    @property
    def most(self) -> float:
        half = 0.5 * 10**-self.digits if self.digits else 0.0
        return half if self.tolerance is None else self.tolerance

    @property
    def agrees(self) -> bool:
        return abs(self.difference) <= self.most + 1e-9

    @property
    def cells(self) -> tuple[str, ...]:
        """Quantity, printed, ours, difference and tolerance as text."""
        more = self.digits + 2 if self.digits else 0
        numbers = (
            f"{self.printed:,.{self.digits}f}",
            f"{self.ours:,.{more}f}",
            f"{self.difference:+,.{more}f}",
        )
        return self.quantity, *numbers, f"{self.most:g}"


@dataclass(frozen=True, slots=True)
class Table:
    """A published table."""

    title: str
    source: str
    """The paper or document, and where in it the numbers stand."""
    figures: Callable[[Files], Iterable[Figure]]
    artefacts: tuple[Artefact, ...] = ()
    note: str = ""
    """What a reader has to know of the comparison."""

    def computed(self, folders: Sequence[Path] = (DATA,)) -> list[Figure]:
        """Return the figures. Raises Lacking where a file is not there."""
        files = {artefact.file: artefact.found_in(folders) for artefact in self.artefacts}
        return list(self.figures(files))


def content_of(path: Path) -> bytes:
    """Return the content of a file, unpacked where it is gzip."""
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank."""
    return [line for line in content_of(path).decode().split("\n") if line.strip()]
