"""Official leaderboards of tracks that come with the product: facts, each with its source.

Each is a TSV file of `official_boards/`, read as any other, with the board's name, its measure and where its
numbers are from in comment lines above the header.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grading.formats.official import read_official
from grading.formats.reading import lines

FOLDER = Path(__file__).resolve().parent / "official_boards"


@dataclass(frozen=True, slots=True)
class ShippedBoard:
    """A track's leaderboard; `slug` names it in forms and commands."""

    slug: str
    name: str
    measure: str
    source: str
    run_tags: frozenset[str]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.slug}.tsv"


@cache
def shipped_boards() -> dict[str, ShippedBoard]:
    """Return the boards by slug, in the order of slugs."""
    return {path.stem: _board(path) for path in sorted(FOLDER.glob("*.tsv"))}


def shipped_at(path: Path) -> ShippedBoard | None:
    """Return the board whose file this is; None for a file of somebody's own."""
    return shipped_boards().get(path.stem) if path.parent == FOLDER else None


def board_file(name: str | Path) -> Path:
    """Return the path of that name; if there is no file, that of the shipped board with that slug."""
    path, board = Path(name), shipped_boards().get(str(name))
    return board.path if board and not path.exists() else path


def _board(path: Path) -> ShippedBoard:
    comments = [text for _, text in lines(path) if text.startswith("# ")]
    stated = dict(line[2:].split(": ", 1) for line in comments)
    run_tags = frozenset(read_official(path).values)
    return ShippedBoard(path.stem, stated["name"], stated["measure"], stated["source"], run_tags)
