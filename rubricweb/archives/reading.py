"""Read an archive: who signed it, then every size, digest and key."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from grading.errors import BadFormat
from grading.formats.reading import MAX_LINE_BYTES
from rubricweb.archives import layout, tables
from rubricweb.archives.layout import FORMAT, MANIFEST, SIGNATURE, VERSION, Manifest, Part
from rubricweb.imports import zips

MAX_BYTES = 50_000_000_000
"""Maximum size of an unpacked archive (50 GB): about 200 million grades without replies."""
MAX_MANIFEST_BYTES = 10_000_000
NOT_SIGNED = (
    "is not signed by this server, nor by one whose key RUBRIC_ARCHIVE_KEYS lists: expected an archive that "
    "this server made, since it goes into the database as it is"
)
_BEYOND_JSON = re.compile(rb"\\u[dD][89a-fA-F]|NaN|Infinity|[eE]\+?\d{3}|\d{300}")
"""What a line may have that the database or a page cannot take, and nearly no line has."""
_NEWER = "it was made by a newer version of RubricWeb: update this one, then restore again"


class NotSigned(BadFormat):
    """No known server made the archive as it is."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive whose manifest fits this version, and whose entries are those of the manifest."""

    name: str
    manifest: Manifest
    _zip: ZipFile
    is_own: bool
    """This server signed it, so that its texts were in this database before."""

    def rows(self, label: str) -> Iterator[tuple[int, list[Any]]]:
        """Yield each row of a table with its number. Raises BadFormat, at the end for a wrong digest."""
        part = self.manifest.tables[label]
        place = f"{self.name}: {part.name}"
        digest, number = hashlib.sha256(), 0
        with self._opened(part) as stream:
            while line := stream.readline(MAX_LINE_BYTES):
                digest.update(line)
                number += 1
                yield number, _row(line, part, file=place, line=number)
        if number != part.rows or digest.hexdigest() != part.sha256:
            raise BadFormat(
                "does not have the rows and digest of the manifest, expected it unchanged", file=place
            )

    def chunks(self, part: Part) -> Iterator[bytes]:
        """Yield the bytes of an uploaded file. Raises BadFormat."""
        digest = hashlib.sha256()
        with self._opened(part) as stream:
            while chunk := stream.read(zips.CHUNK_BYTES):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != part.sha256:
            problem = "does not have the digest of the manifest, expected it unchanged"
            raise BadFormat(problem, file=f"{self.name}: {part.name}")

    @contextmanager
    def _opened(self, part: Part) -> Iterator[IO[bytes]]:
        try:
            with self._zip.open(part.name) as stream:
                yield stream
        except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            problem = f"cannot be unpacked ({error}), expected a whole zip file"
            raise BadFormat(problem, file=f"{self.name}: {part.name}") from error


@contextmanager
def opened(path: Path, *, is_trusted: bool = False, max_bytes: int = MAX_BYTES) -> Iterator[Archive]:
    """Open the archive at `path`.

    Raises BadFormat if it is none, damaged, of a newer version, unpacks to more than `max_bytes`, or, unless
    `is_trusted`, was signed by nobody who is known.
    """
    name = path.name
    if not path.is_file():
        raise BadFormat("is not there, expected an archive", file=name)
    entries = set(zips.entries(path, name=name, max_bytes=max_bytes))
    if MANIFEST not in entries:
        raise BadFormat(f"has no {MANIFEST}, expected a file that `manage.py archive` wrote", file=name)
    with ZipFile(path) as source:
        text = _read_small(source, MANIFEST, name)
        signed = _read_small(source, SIGNATURE, name) if SIGNATURE in entries else b""
        signed_as = signed.decode("ascii", "replace").strip()
        is_own = layout.is_own(text, signed_as)
        if not (is_own or is_trusted or layout.is_known(text, signed_as)):
            raise NotSigned(NOT_SIGNED, file=name)
        manifest = _manifest(text, f"{name}: {MANIFEST}")
        parts = [*manifest.tables.values(), *manifest.files.values()]
        _check_entries(source, parts, entries - {MANIFEST, SIGNATURE}, name)
        yield Archive(name, manifest, source, is_own)


def _read_small(source: ZipFile, entry: str, name: str) -> bytes:
    if source.getinfo(entry).file_size > MAX_MANIFEST_BYTES:
        problem = f"is too large, expected at most {MAX_MANIFEST_BYTES:,} bytes"
        raise BadFormat(problem, file=f"{name}: {entry}")
    try:
        return source.read(entry)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        problem = f"cannot be unpacked ({error}), expected a whole zip file"
        raise BadFormat(problem, file=f"{name}: {entry}") from error


def _manifest(text: bytes, file: str) -> Manifest:
    try:
        stated = json.loads(text)
        if stated["format"] != FORMAT:
            raise BadFormat(f"is of the format {stated['format']!r}, expected {FORMAT!r}", file=file)
        if int(stated["version"]) > VERSION:
            raise BadFormat(
                f"is of version {stated['version']}, expected at most {VERSION}: {_NEWER}", file=file
            )
        parts = {label: _part(part) for label, part in stated["tables"].items()}
        files = {row: _part(part) for row, part in stated["files"].items()}
        manifest = Manifest(str(stated["collection"]), parts, files, stated["migrations"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BadFormat(
            f"cannot be read ({error!r}), expected the manifest of an archive", file=file
        ) from error
    _check_columns(manifest.tables, file)
    return manifest


def _part(stated: Mapping[str, Any]) -> Part:
    columns = tuple(map(str, stated["columns"]))
    return Part(
        str(stated["name"]), int(stated["bytes"]), str(stated["sha256"]), columns, int(stated["rows"])
    )


def _check_columns(parts: Mapping[str, Part], file: str) -> None:
    models = [*tables.SHARED, *(table.model for table in tables.archived())]
    expected = {model._meta.label: {column.name for column in tables.columns(model)} for model in models}
    for label, part in parts.items():
        if label not in expected:
            raise BadFormat(f"has the table {label}, which is not known here: {_NEWER}", file=file)
        if unknown := set(part.columns) - expected[label]:
            names = ", ".join(sorted(unknown))
            raise BadFormat(f"has columns of {label} that are not known here ({names}): {_NEWER}", file=file)


def _check_entries(source: ZipFile, parts: list[Part], entries: set[str], name: str) -> None:
    if {part.name for part in parts} != entries:
        raise BadFormat("has other files than its manifest says, expected it unchanged", file=name)
    for part in parts:
        if source.getinfo(part.name).file_size != part.bytes:
            problem = f"is not of {part.bytes:,} bytes, expected what the manifest says"
            raise BadFormat(problem, file=f"{name}: {part.name}")


def _row(text: bytes, part: Part, *, file: str, line: int) -> list[Any]:
    try:
        row = json.loads(text.decode())
        if _BEYOND_JSON.search(text):
            _check_plain(row)
    except (ValueError, RecursionError) as error:
        raise BadFormat(f"is no JSON ({error}), expected a row", file=file, line=line) from error
    if not isinstance(row, list) or len(row) != len(part.columns):
        expected = f"expected a list of {len(part.columns)} values"
        raise BadFormat(f"is no row of the table, {expected}", file=file, line=line)
    return row


def _check_plain(value: object) -> None:
    """Raise ValueError for a number that is not finite, and for text that is no Unicode."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number")
    if isinstance(value, str):
        value.encode()
    for inner in value if isinstance(value, list) else ():
        _check_plain(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        _check_plain(name)
        _check_plain(inner)
