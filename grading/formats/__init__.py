"""A reader and a writer for each file format, in pairs, and how the format of a file is recognised.

That is by its first lines, never by its name. Every reader raises `BadFormat` with file, line and what was
expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat, Unclear
from grading.formats.reading import (
    MAX_LINE_BYTES,
    MAX_TEXT_BYTES,
    lines,
    read_text_file,
    refuse_escaped_nul,
)

ENVELOPE = "castorini.cli.v1"


NAMED_FORMATS = 10
"""A message that names more is not read."""
TOPIC_COLUMNS = (
    frozenset({"qid", "query_id", "queryid", "topic_id", "topicid", "topic", "request_id", "narrative_id"}),
    frozenset({"query", "query_text", "text", "title", "topic", "question", "narrative", "request"}),
)
"""What a header of TSV calls the id and the text of a topic; either may call its id as `ID_COLUMNS` do."""
PASSAGE_COLUMNS = (
    frozenset({"docid", "doc_id", "document_id", "did", "pid", "passage_id", "paragraph_id", "segment_id"}),
    frozenset({"text", "passage", "paragraph", "document", "doc", "segment", "contents", "content", "body"}),
)
ID_COLUMNS = frozenset({"id", "_id", "number", "num"})
SAMPLE_LINES = 50
SAMPLE_CHARACTERS = 1_000_000
"""A sample ends with the line that exceeds this, which may be the first."""
SAMPLE_BYTES = 2 * MAX_LINE_BYTES
"""The most that is read of files that begin with blank lines."""


def unwrapped(value: Any) -> list[Any]:
    """Return the records of an envelope's artifacts, which may be none; anything else is a record itself."""
    if not isinstance(value, dict) or value.get("schema_version") != ENVELOPE:
        return [value]
    artifacts = value.get("artifacts")
    held: list[Any] = []
    for artifact in artifacts if isinstance(artifacts, list) else []:
        content = artifact.get("data", artifact.get("value")) if isinstance(artifact, dict) else None
        held += content if isinstance(content, list) else [content] if isinstance(content, dict) else []
    return held


def record_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, JSON) of a file's records: its lines, or where it is one envelope what that holds.

    Raises `BadFormat` as `reading.lines` does, and for an envelope without records.
    """
    if not _is_envelope(path):
        yield from lines(path)
        return
    numbered = list(lines(path, max_bytes=MAX_TEXT_BYTES))
    for number, text in numbered:
        try:
            refuse_escaped_nul(text)
        except BadFormat as error:
            raise BadFormat(error.problem, file=path.name, line=number) from error
    records = unwrapped(msgspec.json.decode("\n".join(text for _, text in numbered)))
    if not records:
        problem = f"no records in artifacts, expected data or value in the envelope {ENVELOPE}"
        raise BadFormat(problem, file=path.name, line=1)
    for record in records:
        yield 1, msgspec.json.encode(record).decode()


def _is_envelope(path: Path) -> bool:
    """Return whether the whole file is one; damaged JSON is none, and its reader reports what is wrong."""
    first = next((text for _, text in lines(path) if text.strip()), "")
    if ENVELOPE not in first and _is_json(first):
        return False
    try:
        whole = "\n".join(text for _, text in lines(path, max_bytes=MAX_TEXT_BYTES))
        value = msgspec.json.decode(whole)
    except (msgspec.DecodeError, BadFormat, RecursionError):
        return False
    return isinstance(value, dict) and value.get("schema_version") == ENVELOPE


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


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
    FLAGS = "flags and comments"
    VOTES = "votes on answers"
    BATTLES = "battles"
    SUPPORT = "labels of support"
    LABELLED_ANSWERS = "answers with labels of support"
    ASSESSMENTS = "assessments of reports"
    LISTING = "listing"


_HEADERS = {Content.TOPICS: TOPIC_COLUMNS, Content.PASSAGES: PASSAGE_COLUMNS}


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
        """Return the JSON objects; empty where any of the values is something else."""
        objects = tuple(document for document in self.documents if isinstance(document, dict))
        return objects if len(objects) == len(self.documents) else ()

    @property
    def first_object(self) -> dict[str, Any]:
        """Return the first JSON value, or the first record of an envelope; empty where it is no object."""
        first = next(iter(unwrapped(self.documents[0])), None) if self.documents else None
        return first if isinstance(first, dict) else {}

    @property
    def is_json(self) -> bool:
        return bool(self.documents)

    @property
    def is_one_object(self) -> bool:
        """Return whether the file has one JSON object, be it on one line or on many."""
        return len(self.objects) == 1

    def fields(self) -> list[list[str]]:
        """Return the columns of each line, parted by white space."""
        return [line.split() for line in self.lines]

    def cells(self) -> list[list[str]]:
        """Return the columns of each line, parted by tabs."""
        return [line.split("\t") for line in self.lines]

    def is_tsv_pair(self) -> bool:
        """Return whether the first line is two columns parted by a tab, as topics and passages are."""
        return not self.is_json and len(self.cells()[0]) == 2 and self.cells()[0][0] != "run_tag"

    def names_columns(self) -> frozenset[Content] | None:
        """Return of what the first line of a TSV is the header: topics, passages, or either.

        Empty where it is no header; None where only one of its columns may be a name.
        """
        identity, text = (cell.strip().casefold() for cell in self.cells()[0][:2])
        named = {
            content: (identity in ids or identity in ID_COLUMNS, text in texts)
            for content, (ids, texts) in _HEADERS.items()
        }
        certain = frozenset(content for content, (is_id, is_text) in named.items() if is_id and is_text)
        if certain or any(character.isdigit() for character in identity):
            return certain
        return None if any(is_id or is_text for is_id, is_text in named.values()) else certain

    def all_words(self) -> Iterator[list[str]]:
        """Return the columns of every line, for formats that their first lines do not tell apart."""
        return (text.split() for _, text in lines(self.path) if text.strip())


@dataclass(frozen=True, slots=True)
class Format:
    """A file format, with its reader and its writer."""

    name: str
    """The name in commands and on pages."""
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
    insist: Callable[[Path], Iterable[Any]] | None = None
    """Like `read`, for a file that is declared to be of the format; None where `read` doubts nothing."""
    plugin: str = ""
    """The name and version of the distribution that brings it; empty for ours."""

    @property
    def is_read(self) -> bool:
        """Return whether files of it can be read at all."""
        return self.read is not only_written

    def read_chosen(self, path: Path) -> Iterable[Any]:
        """Read a file that somebody has said to be of the format. Raises `BadFormat`."""
        return (self.insist or self.read)(path)


def only_written(path: Path) -> Iterable[Any]:
    """Return the reader of formats that are written for people. Raises `BadFormat`."""
    raise BadFormat("a listing that is only written, expected a file of data", file=path.name, line=1)


def read_sample(path: Path) -> Sample:
    """Read the beginning of a file. Raises `BadFormat` for one that is empty or no text."""
    return sample_of(path, (text for _, text in lines(path, max_bytes=SAMPLE_BYTES)))


def tsv_formats(
    name: str,
    label: str,
    content: Content,
    read_and_write: tuple[Callable[..., Iterable[Any]], Callable[..., None]],
    *,
    source: str,
) -> tuple[Format, Format]:
    """Return the format of a TSV of two columns, and that of one which begins with a header.

    Reader and writer are called with `has_header`.
    """
    read, write = read_and_write
    named = (
        (name, label, False, source),
        (f"{name}-header", f"{label} with a header", True, "spreadsheets, data frames"),
    )
    plain, with_header = (
        Format(
            own_name,
            own_label,
            content,
            partial(_fits_tsv, content=content, has_header=has_header),
            partial(read, has_header=has_header),
            partial(write, has_header=has_header),
            is_lossless=True,
            source=own_source,
        )
        for own_name, own_label, has_header, own_source in named
    )
    return plain, with_header


def _fits_tsv(sample: Sample, *, content: Content, has_header: bool) -> bool:
    """Return whether a TSV of two columns may be of this content, with a header or without one."""
    if not sample.is_tsv_pair():
        return False
    named = sample.names_columns()
    return True if named is None else content in named if has_header else not named


def header_note(path: Path) -> str:
    """Say that the first line was skipped, and what it is."""
    return (
        f"{path.name}: the first line ({', '.join(read_sample(path).cells()[0])}) is a header and was skipped"
    )


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
    return [each for each in formats if each.recognises(sample)]


def recognise_among(path: Path, formats: Sequence[Format]) -> Format:
    """Return the one of `formats` that the file has. Raises `BadFormat` where none or several fit."""
    fitting = candidates(path, formats)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise unclear(path, fitting)
    problem = read_sample(path).problem or "no known format"
    raise BadFormat(f"{problem}, expected {_expected(formats)}", file=path.name, line=1)


def unclear(path: Path, fitting: Sequence[Format]) -> Unclear:
    """Return the error of a file that may have several formats."""
    problem = f"the content may be {_listed(fitting)}, expected one of them to be named"
    return Unclear(problem, formats=[fit.name for fit in fitting], file=path.name, line=1)


def _expected(formats: Sequence[Format]) -> str:
    """Name the formats or, of many, what their files are about."""
    read = [each for each in formats if each.is_read]
    if len(read) <= NAMED_FORMATS:
        return _listed(read)
    contents = dict.fromkeys(str(each.content) for each in read)
    return f"{', '.join(contents)}, in a format that File formats lists"


def _json_lines(sampled: list[str]) -> tuple[tuple[object, ...], str]:
    """Return the values of the lines that are JSON; the first must be."""
    documents: list[object] = []
    for position, text in enumerate(sampled):
        try:
            documents.append(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            if position == 0:
                return (), f"malformed JSON ({error})"
    return tuple(documents), ""


def _json_document(path: Path, problem: str) -> tuple[tuple[object, ...], str]:
    """Return the value of a file that is one JSON document on many lines."""
    try:
        text = "\n".join(text for _, text in read_text_file(path, shape="one JSON document").lines)
        return (msgspec.json.decode(text),), ""
    except (msgspec.DecodeError, BadFormat, RecursionError):
        return (), problem


def _listed(formats: Sequence[Format]) -> str:
    return " or ".join(f"{each.label} ({each.name})" for each in formats)
