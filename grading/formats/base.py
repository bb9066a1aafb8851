"""What a file format is, and how a file's format is known: by its first lines, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat
from grading.formats.dictionary import read_document
from grading.formats.envelopes import unwrapped
from grading.formats.reading import MAX_LINE_BYTES, lines

NAMED_FORMATS = 10
"""A message that names more is not read."""
SAMPLE_LINES = 50
SAMPLE_CHARACTERS = 1_000_000
"""A sample ends with the line that exceeds this, which may be the first."""
SAMPLE_BYTES = 2 * MAX_LINE_BYTES
"""Of files that begin with blank lines no more is read."""


class Content(StrEnum):
    """What the lines of a file are about."""

    TOPICS = "topics"
    PASSAGES = "passages"
    GRADED = "graded passages"
    BANK = "bank"
    RUN = "run"
    RESPONSES = "responses"
    QRELS = "qrels"
    LEADERBOARD = "leaderboard"
    LABELS = "labels of a grader"
    GRADES = "grades of nuggets"
    RATINGS = "ratings of people"
    LISTING = "listing"


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file, from which its format is recognised."""

    path: Path
    lines: tuple[str, ...]
    """The first lines that are not blank."""
    documents: tuple[object, ...] = ()
    """The JSON values of the lines, or the one of the whole file; empty where the file is no JSON."""
    problem: str = ""
    """What is wrong with JSON that cannot be read."""

    @property
    def objects(self) -> tuple[dict[str, Any], ...]:
        """The JSON objects; empty where any of the values is something else."""
        objects = tuple(document for document in self.documents if isinstance(document, dict))
        return objects if len(objects) == len(self.documents) else ()

    @property
    def first_object(self) -> dict[str, Any]:
        """The first JSON value, or the first record of an envelope; empty where it is no object."""
        first = next(iter(unwrapped(self.documents[0])), None) if self.documents else None
        return first if isinstance(first, dict) else {}

    @property
    def is_json(self) -> bool:
        return bool(self.documents)

    @property
    def is_one_object(self) -> bool:
        """Whether the file has one JSON object, be it on one line or on many."""
        return len(self.objects) == 1

    def words(self) -> list[list[str]]:
        """The columns of each line, parted by white space."""
        return [line.split() for line in self.lines]

    def cells(self) -> list[list[str]]:
        """The columns of each line, parted by tabs."""
        return [line.split("\t") for line in self.lines]

    def all_words(self) -> Iterator[list[str]]:
        """The columns of every line of the file, for formats that their first lines do not tell apart."""
        return (text.split() for _, text in lines(self.path) if text.strip())


@dataclass(frozen=True, slots=True)
class Format:
    """A file format, with its reader and its writer."""

    name: str
    """What commands and pages name it by."""
    label: str
    content: Content
    recognises: Callable[[Sample], bool]
    """Whether the beginning of a file is of this format; what is wrong in it, the reader says."""
    read: Callable[[Path], Iterable[Any]]
    """Raises `BadFormat` with file, line and what was expected."""
    write: Callable[[Path, Any], None] | None
    """Takes what `read` returns."""
    is_lossless: bool
    """Whether a written file says all that the file said that was read; layout and order of keys aside."""
    source: str
    """Where the format is described."""

    @property
    def is_read(self) -> bool:
        """Whether files of it can be read at all."""
        return self.read is not only_written


def only_written(path: Path) -> Iterable[Any]:
    """The reader of formats that are written for people. Raises `BadFormat`."""
    raise BadFormat("a listing that is only written, expected a file of data", file=path.name, line=1)


def read_sample(path: Path) -> Sample:
    """Read the beginning of a file. Raises `BadFormat` for one that is empty or no text."""
    return sample_of(path, (text for _, text in lines(path, max_bytes=SAMPLE_BYTES)))


def sample_of(path: Path, texts: Iterable[str]) -> Sample:
    """Take the sample from the lines of a file, which has one that is not blank."""
    sampled: list[str] = []
    size = 0
    for text in islice((text for text in texts if text.strip()), SAMPLE_LINES):
        sampled.append(text)
        size += len(text)
        if size > SAMPLE_CHARACTERS:
            break
    if not sampled[0].lstrip().startswith(("{", "[")):
        return Sample(path, tuple(sampled))
    documents, problem = _json_lines(sampled)
    if problem:
        documents, problem = _json_document(path, problem)
    return Sample(path, tuple(sampled), documents, problem)


def candidates(path: Path, formats: Sequence[Format]) -> list[Format]:
    """Return those of `formats` that the file may have."""
    sample = read_sample(path)
    return [one for one in formats if one.recognises(sample)]


def recognise_among(path: Path, formats: Sequence[Format]) -> Format:
    """Return the one of `formats` that the file has. Raises `BadFormat` where none or several fit."""
    fitting = candidates(path, formats)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        problem = f"the content may be {_listed(fitting)}, expected one of them to be named"
        raise BadFormat(problem, file=path.name, line=1)
    problem = read_sample(path).problem or "no known format"
    raise BadFormat(f"{problem}, expected {_expected(formats)}", file=path.name, line=1)


def _expected(formats: Sequence[Format]) -> str:
    """Name the formats or, of many, what their files are about."""
    read = [one for one in formats if one.is_read]
    if len(read) <= NAMED_FORMATS:
        return _listed(read)
    contents = dict.fromkeys(str(one.content) for one in read)
    return f"{', '.join(contents)}, in a format that File formats lists"


def _json_lines(sampled: list[str]) -> tuple[tuple[object, ...], str]:
    """The values of the lines that are JSON; the first must be."""
    documents: list[object] = []
    for position, text in enumerate(sampled):
        try:
            documents.append(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            if position == 0:
                return (), f"malformed JSON ({error})"
    return tuple(documents), ""


def _json_document(path: Path, problem: str) -> tuple[tuple[object, ...], str]:
    """The value of a file that is one JSON document on many lines."""
    try:
        text = "\n".join(text for _, text in read_document(path, shape="one JSON document").lines)
        return (msgspec.json.decode(text),), ""
    except (msgspec.DecodeError, BadFormat, RecursionError):
        return (), problem


def _listed(formats: Sequence[Format]) -> str:
    return " or ".join(f"{one.label} ({one.name})" for one in formats)
