"""A plot in its frame: its finding as a title, what it stands on at its foot, and its numbers as a table."""

from __future__ import annotations

from dataclasses import dataclass

from grading.formats.tables import PrintedTable
from rubricweb.plots.svg import Plot


@dataclass(frozen=True, slots=True)
class Fact:
    """One number at the foot, such as how many runs there are."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What `plots/_picture.html` shows. Without a plot it says what is missing, and which page brings it."""

    name: str
    """In ids and in the names of files."""
    title: str
    """What the numbers say, by rules."""
    subtitle: str = ""
    """How to read the plot."""
    plot: Plot | None = None
    facts: tuple[Fact, ...] = ()
    sheet: PrintedTable | None = None
    href: str = ""
    """What fills an empty frame: a page, and what its button says."""
    button: str = ""
