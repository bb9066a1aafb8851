"""Submitted files: where they lie, and what is wrong with one, as its report stores and shows it."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from grading.errors import BadFormat
from grading.submissions import Finding, Severity, rules
from rubricweb.core.forms import write_chunks
from rubricweb.imports import staging
from rubricweb.submissions.models import Submission

INCOMING = "incoming-"

MOST_EACH = 50
"""Findings of one category that a report has in full."""
OWN_CATEGORIES = {
    "several_runs": "a submission is one run",
    "run_tag_taken": "another run of the collection has this run id",
    "too_many_runs": "the team has as many runs as it may have",
    "other_team": "the file names another team",
    "same_priority": "another run of the team has this priority",
    "replaces_accepted": "an accepted run is replaced: it counts again once this file is accepted",
    "not_imported": "what the collection cannot store",
}
"""Category -> what it means, for what the collection says beside the rules of the track."""
MEANINGS = rules.CATEGORIES | OWN_CATEGORIES


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file that belongs to no submission yet."""

    path: Path
    name: str
    """The name that its sender gave it, for people."""
    size: int
    """Bytes."""
    digest: str
    """SHA-256, in hexadecimal."""


@contextmanager
def incoming(name: str, chunks: Iterable[bytes]) -> Iterator[Incoming]:
    """Write a file, which goes with the block unless a submission keeps it."""
    folder = Path(settings.DATA_DIR) / "submissions"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=INCOMING) as own:
        path = Path(own) / "file"
        size, digest = write_chunks(path, chunks)
        yield Incoming(path, staging.shown_name(name), size, digest)


def keep(submission: Submission, file: Incoming) -> None:
    """Have the file be that of the submission, whose name is the file's."""
    path = submission.path
    path.parent.mkdir(parents=True, exist_ok=True)
    file.path.replace(path)


def remove(submission: Submission) -> None:
    """Delete the file; its row stays."""
    shutil.rmtree(submission.path.parent, ignore_errors=True)


@contextmanager
def unpacked(path: Path, *, name: str) -> Iterator[Path]:
    """Yield the file to read: that of a zip for as long as the block. Raises BadFormat for a bad zip."""
    if not staging.is_zip(path):
        yield path
        return
    entries = staging.zip_entries(path, name=name)
    if len(entries) != 1:
        raise BadFormat(f"the zip has {len(entries):,} files, expected one, the run")
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix="submission-") as folder:
        target = Path(folder) / staging.file_name(entries[0])
        with target.open("wb") as stream:
            stream.writelines(staging.zip_chunks(path, entries[0], name=name))
        yield target


def is_larger(path: Path, size: int) -> bool:
    """Return whether a file has more bytes than `size` once it is unpacked; False for one that is damaged."""
    with suppress(OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile):
        if staging.is_zip(path):
            with zipfile.ZipFile(path) as archive:
                return sum(entry.file_size for entry in archive.infolist()) > size
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == b"\x1f\x8b"
        if is_gzip:
            with gzip.open(path) as stream:
                return len(stream.read(size + 1)) > size
    return path.stat().st_size > size


@dataclass(frozen=True, slots=True)
class FilePlace:
    """One finding of a category."""

    problem: str
    expected: str
    line: int | None = None
    query_id: str = ""
    sentence: int | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """All findings of one category."""

    category: str
    severity: str
    number: int
    places: tuple[FilePlace, ...]
    """The first of them."""

    @property
    def meaning(self) -> str:
        return MEANINGS[self.category]

    @property
    def more(self) -> int:
        return self.number - len(self.places)

    @property
    def has_lines(self) -> bool:
        return any(place.line is not None for place in self.places)

    @property
    def has_topics(self) -> bool:
        return any(place.query_id for place in self.places)

    @property
    def has_sentences(self) -> bool:
        return any(place.sentence is not None for place in self.places)


def grouped(findings: Iterable[Finding], counts: Mapping[str, int]) -> list[FileGroup]:
    """Return the findings by category, errors first, each in the order of the file."""
    places: dict[str, list[FilePlace]] = {}
    severities: dict[str, Severity] = {}
    for finding in findings:
        severities[finding.category] = finding.severity
        place = FilePlace(finding.problem, finding.expected, finding.line, finding.query_id, finding.sentence)
        places.setdefault(finding.category, []).append(place)
    groups = [
        FileGroup(
            category, severities[category].value, counts.get(category, len(placed)), tuple(placed[:MOST_EACH])
        )
        for category, placed in places.items()
    ]
    return sorted(groups, key=lambda group: group.severity != Severity.ERROR)


def error(category: str, problem: str, expected: str, *, line: int | None = None) -> FileGroup:
    """Return a single finding of the collection's own, for which a file is refused."""
    return FileGroup(category, Severity.ERROR.value, 1, (FilePlace(problem, expected, line),))


def warning(category: str, problem: str, expected: str) -> FileGroup:
    return FileGroup(category, Severity.WARNING.value, 1, (FilePlace(problem, expected),))


def total(groups: Iterable[FileGroup], severity: Severity) -> int:
    return sum(group.number for group in groups if group.severity == severity)


def findings_as_json(groups: Iterable[FileGroup]) -> list[dict[str, object]]:
    return [asdict(group) for group in groups]


def findings_from_json(stored: Iterable[dict[str, object]]) -> list[FileGroup]:
    """Return the findings that `findings_as_json` stored."""
    return [_group(**group) for group in stored]  # type: ignore[arg-type]


def _group(category: str, severity: str, number: int, places: Iterable[dict[str, object]]) -> FileGroup:
    first = tuple(FilePlace(**place) for place in places)  # type: ignore[arg-type]
    return FileGroup(category, severity, number, first)
