"""What all importers share: positions in files, texts that fit the database, and counts of what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.ids import is_one_word
from grading.formats.reading import lines

LOWEST, HIGHEST = -32_768, 32_767
"""The range of a judgment, a small integer of the database."""


@dataclass(slots=True)
class Counts:
    new: int = 0
    changed: int = 0
    unchanged: int = 0


@dataclass(slots=True)
class Tally:
    """Counts by kind, and notes for the person who imports."""

    counts: dict[str, Counts] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reordered: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 would order differently from the ranks."""
    close: dict[str, int] = field(default_factory=dict)
    """Run tag -> topics that trec_eval 9 and 10 order differently."""

    def of(self, kind: str) -> Counts:
        return self.counts.setdefault(kind, Counts())

    def has_changed(self, kinds: Iterable[str]) -> bool:
        return any(counts.new or counts.changed for kind in kinds if (counts := self.counts.get(kind)))

    @property
    def all_notes(self) -> tuple[str, ...]:
        if not self.close:
            return tuple(self.notes)
        topics = {tag: "1 topic" if n == 1 else f"{n} topics" for tag, n in self.close.items()}
        runs = some(f"{run_tag} ({counted})" for run_tag, counted in topics.items())
        return (*self.notes, f"trec_eval 9 and 10 order passages with close scores differently in {runs}")

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)


def some(names: Iterable[str], *, most: int = 5) -> str:
    """Join the first few for a sentence, with how many more there are."""
    listed = list(names)
    rest = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + rest


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A line of a file, or a file if the line is unknown."""

    path: Path
    line: int | None = None

    def error(self, problem: str) -> BadFormat:
        return BadFormat(problem, file=self.path.name, line=self.line)

    def with_columns(self, *columns: str) -> FilePosition:
        """Find the first line with these columns: TREC readers give no lines, and only errors need them."""
        return self if self.line else self._first(lambda text: set(columns) <= set(text.split()))

    def with_key(self, key: str) -> FilePosition:
        """Find the first line with `key` in quotation marks, or as its first TSV column."""
        return self._first(lambda text: f'"{key}"' in text or text.split("\t")[0].strip() == key)

    def _first(self, is_it: Callable[[str], bool]) -> FilePosition:
        return FilePosition(
            self.path, next((number for number, text in lines(self.path) if is_it(text)), None)
        )

    def __str__(self) -> str:
        return self.path.name if self.line is None else f"{self.path.name}:{self.line}"


def fitting(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if its column can hold it. Raises BadFormat that begins with `what`."""
    if len(text) > limit:
        raise at.error(f"{what} has {len(text):,} characters, expected at most {limit}")
    return text


def fitting_id(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if it can be an id in TREC files: one word that its column can hold. Raises BadFormat."""
    fitting(text, what=what, at=at, limit=limit)
    if not is_one_word(text):
        raise at.error(f"{what} is {text!r}, expected one word without white space or control characters")
    return text


def fitting_name(text: str, *, what: str, at: FilePosition, limit: int) -> str:
    """Return `text` if it can be a name, such as a model's: spaces are allowed. Raises BadFormat."""
    fitting(text, what=what, at=at, limit=limit)
    if not all(map(is_one_word, text.split(" "))):
        raise at.error(
            f"{what} is {text!r}, expected words parted by single spaces, without control characters"
        )
    return text


def fitting_judgment(relevance: int, *, at: FilePosition) -> int:
    if not LOWEST <= relevance <= HIGHEST:
        raise at.error(f"the relevance is {relevance}, expected {LOWEST} to {HIGHEST}")
    return relevance
