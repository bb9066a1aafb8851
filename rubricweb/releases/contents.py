"""What a release is made of: options, parts, and the files of each part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grading.formats.reading import write_lines
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.board.types import Board
from rubricweb.releases.names import Names, made_up_names


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What an organizer chooses."""

    title: str = ""
    license: str = ""
    """Of the data, such as "CC BY 4.0"."""
    citation: str = ""
    contact: str = ""
    has_runs: bool = False
    """With the rankings and responses of the runs."""
    is_anonymous: bool = False
    """Runs and teams have pseudonyms."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The collection that is released, and how."""

    collection: Collection
    options: ReleaseOptions
    names: Names
    computed: list[tuple[str, Board]] = field(default_factory=list, compare=False)
    """The boards, once some part has asked for them (`boards.boards`)."""

    @property
    def title(self) -> str:
        return self.options.title or self.collection.name


def contents_of(collection: Collection, options: ReleaseOptions) -> Contents:
    return Contents(collection, options, made_up_names(collection) if options.is_anonymous else Names())


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a release."""

    name: str
    """With its folder: `qrels/main_max.qrels`."""
    write: Callable[[Path], None]
    about: str
    """What it is, in a sentence for the README."""
    losses: tuple[str, ...] = field(default=())
    """What its format cannot say."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of every release: a folder."""

    name: str
    title: str
    how: str
    """How it is made, in a sentence for the README."""
    files: Callable[[Contents], Iterator[ReleaseFile]]
    size: Callable[[Contents], str]
    """How much is in it, for the preview: "25 topics"."""


def text_file(name: str, about: str, lines: Callable[[], Iterable[str]]) -> ReleaseFile:
    """Return a file of lines, which are made when it is written."""
    return ReleaseFile(name, lambda path: write_lines(path, (line.encode() for line in lines())), about)


def counted(number: int, noun: str) -> str:
    """Return "1 topic", "1,204 topics"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
