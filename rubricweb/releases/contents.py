"""What a release is made of: options, parts and their files, and the names of runs and teams."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.crypto import salted_hmac

from grading.formats.reading import write_lines
from rubricweb.core.formatting import safe_cell
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.board.types import Board

DIGITS = 8
"""Hex digits of a made-up name: two of a thousand runs share one with a probability of 0.0001."""


@dataclass(frozen=True, slots=True)
class Names:
    """Run tag or team -> its name in the release; empty if they keep their own."""

    runs: Mapping[str, str] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)

    @property
    def are_made_up(self) -> bool:
        return bool(self.runs)

    def run(self, run_tag: str) -> str:
        return self.runs[run_tag] if self.runs else run_tag

    def team(self, team: str) -> str:
        return self.teams[team] if self.runs and team else team

    def reading(self) -> AbstractContextManager[None]:
        """Read inside the block as everybody, from whom blind ratings are hidden; runs have these names."""
        return reading_as(Reader(run_names=self.runs))

    def found_in(self, path: Path) -> list[str]:
        """Return the own names that stand as whole words in a file, such as in the text of a passage."""
        own = [name for name in (*self.runs, *self.teams) if name]
        taken: set[str] = set()
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for line in file:
                there = (name for name in own if name not in taken and name.encode() in line)
                taken.update(name for name in there if _as_word(name).search(line))
        return sorted(taken)

    def lines(self) -> list[str]:
        """Return the mapping as TSV, with a header."""
        both = {"run": self.runs, "team": self.teams}
        rows = [(kind, *pair) for kind, names in both.items() for pair in names.items()]
        return ["kind\tname\tname_in_release", *("\t".join(map(safe_cell, row)) for row in rows)]


def _as_word(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w-])")


def made_up_names(collection: Collection) -> Names:
    """Return a made-up name for each run and team, the same in all releases of the collection.

    They come from the collection's secret salt, so that nobody who has a list of tags can try them.
    """
    tags = set(collection.runs.values_list("run_tag", flat=True))
    tags |= set(collection.official_scores.values_list("run_tag", flat=True))
    teams = set(collection.runs.exclude(team="").values_list("team", flat=True))
    return Names(_named(collection, "run", tags), _named(collection, "team", teams))


def _named(collection: Collection, kind: str, own: Iterable[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in sorted(own):
        digest = salted_hmac(
            f"rubricweb.releases.{kind}", name, secret=collection.name_salt, algorithm="sha256"
        ).hexdigest()
        lengths = range(DIGITS, len(digest) + 1)
        names[name] = next(made for n in lengths if (made := f"{kind}-{digest[:n]}") not in names.values())
    return names


@dataclass(frozen=True, slots=True)
class ReleaseOptions:
    """What an organizer chooses."""

    title: str = ""
    license: str = ""
    """Licence of the data, such as "CC BY 4.0"."""
    citation: str = ""
    contact: str = ""
    has_runs: bool = False
    """Whether it has the rankings and responses of the runs."""
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
    """Name with its folder: `qrels/main_max.qrels`."""
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
