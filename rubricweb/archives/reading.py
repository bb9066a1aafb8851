"""Read an archive: who signed it, then every size, digest and key, and its rows as rows of the database."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import (
    BigIntegerField,
    BinaryField,
    BooleanField,
    DateTimeField,
    Field,
    FloatField,
    IntegerField,
    JSONField,
    Model,
    PositiveBigIntegerField,
    PositiveSmallIntegerField,
    SmallIntegerField,
)

from grading.errors import BadFormat, GradingError
from grading.formats.reading import MAX_LINE_BYTES
from rubricweb.archives import layout, shapes, tables
from rubricweb.archives.layout import FORMAT, MANIFEST, SIGNATURE, VERSION, Manifest, Part
from rubricweb.imports import staging

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
class ArchiveFile:
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
            while chunk := stream.read(staging.CHUNK_BYTES):
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
def opened(path: Path, *, is_trusted: bool = False, max_bytes: int = MAX_BYTES) -> Iterator[ArchiveFile]:
    """Open the archive at `path`.

    Raises BadFormat if it is none, damaged, of a newer version, unpacks to more than `max_bytes`, or, unless
    `is_trusted`, was signed by nobody who is known.
    """
    name = path.name
    if not path.is_file():
        raise BadFormat("is not there, expected an archive", file=name)
    entries = set(staging.zip_entries(path, name=name, max_bytes=max_bytes))
    if MANIFEST not in entries:
        raise BadFormat(f"has no {MANIFEST}, expected a file that `rubricweb archive` wrote", file=name)
    with ZipFile(path) as source:
        text = _read_small(source, MANIFEST, name)
        signed = _read_small(source, SIGNATURE, name) if SIGNATURE in entries else b""
        signed_as = signed.decode("ascii", "replace").strip()
        is_own = layout.is_own(text, signed_as)
        if not (is_own or is_trusted or layout.is_known(text, signed_as)):
            raise NotSigned(NOT_SIGNED, file=name)
        manifest = _manifest(text, f"{name}: {MANIFEST}")
        parts = [*manifest.tables.values(), *manifest.files.values()]
        if {part.name for part in parts} != (entries - {MANIFEST, SIGNATURE}):
            raise BadFormat("has other files than its manifest says, expected it unchanged", file=name)
        for part in parts:
            if source.getinfo(part.name).file_size != part.bytes:
                problem = f"is not of {part.bytes:,} bytes, expected what the manifest says"
                raise BadFormat(problem, file=f"{name}: {part.name}")
        yield ArchiveFile(name, manifest, source, is_own)


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
    models = [*tables.SHARED, *(table.model for table in tables.archived())]
    expected = {model._meta.label: {column.name for column in tables.columns(model)} for model in models}
    for label, part in manifest.tables.items():
        if label not in expected:
            raise BadFormat(f"has the table {label}, which is not known here: {_NEWER}", file=file)
        if unknown := set(part.columns) - expected[label]:
            names = ", ".join(sorted(unknown))
            raise BadFormat(f"has columns of {label} that are not known here ({names}): {_NEWER}", file=file)
    return manifest


def _part(stated: Mapping[str, Any]) -> Part:
    columns = tuple(map(str, stated["columns"]))
    return Part(
        str(stated["name"]), int(stated["bytes"]), str(stated["sha256"]), columns, int(stated["rows"])
    )


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


Convert = Callable[[Any], Any]  # Any: what JSON holds, and what the database takes
IDS = re.compile(r"(query|doc|facet)_ids?|references|run_tag|team|username|slug|token|.*_md5")
"""Columns whose texts become columns of files."""
LINE_END = re.compile(r"[\t\n\v\f\r]")
YEARS = range(1900, 2200)
"""Others cannot be moved to another time zone, or are no times of this project."""
WRONG = (
    ValidationError,
    GradingError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    KeyError,
    zlib.error,
)


class Keys:
    """The keys that the rows of an archive get."""

    def __init__(self, manifest: Manifest, first: Mapping[type[Model], int]) -> None:
        self._before = first
        self._rows = {model: manifest.tables[model._meta.label].rows for model in first}
        self.shared: dict[type[Model], list[int]] = {}

    def key(self, model: type[Model], number: object) -> int:
        """Return the key of the row with this number. Raises ValueError if the archive has no such row."""
        rows = len(self.shared[model]) if model in self.shared else self._rows.get(model, 0)
        if type(number) is not int or not 1 <= number <= rows:
            raise ValueError(f"refers to row {number} of {model._meta.label}, which has {rows:,}")
        return self.shared[model][number - 1] if model in self.shared else self._before[model] + number


def ready_rows(
    archive: ArchiveFile, table: tables.Table, keys: Keys, changed: Mapping[str, Any]
) -> Iterator[list[Any]]:
    """Yield the rows as the database takes them, their keys first.

    Columns that the archive lacks get defaults, and nobody is at work on any row. Raises BadFormat, with the
    table and the row.
    """
    part, model = archive.manifest.tables[table.label], table.model
    columns = [field for field in model._meta.concrete_fields if not field.primary_key]
    convert = {column.name: _converter(column, keys) for column in columns}
    stated_columns = [column for column in columns if column.name in part.columns]
    checks = [(column.name, checker(column, is_own=archive.is_own)) for column in stated_columns]
    inner, is_work = tables.replaced_in(table.label), tables.is_work(model)
    for number, row in archive.rows(table.label):
        try:
            stated = dict(zip(part.columns, row, strict=True))
            for name, check in checks:
                check(stated[name])
            stated |= changed
            values = {
                column.name: stated[column.name] if column.name in stated else column.get_default()
                for column in columns
            }
            if is_work:
                values = tables.ended(model, values)
            shapes.check_row(table.label, values)
            for name, replaced in inner.items():
                values[name] = replaced(values[name], values, keys.key)
            ready = [convert[name](value) for name, value in values.items()]
        except WRONG as error:
            place = f"{archive.name}: {part.name}"
            problem = f"{reason(error)}, expected a row of {table.label}"
            raise BadFormat(problem, file=place, line=number) from error
        yield [keys.key(model, number), *ready]


def reason(error: Exception) -> str:
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)


def checker(column: Field[Any, Any], *, is_own: bool = False) -> Callable[[Any], None]:
    """Return the check that a value of an archive fits the column. It raises one of `WRONG`.

    In an archive of this server ids may have what its readers let through.
    """
    types, label = _types(column), f"{column.model._meta.label}.{column.name}"
    allowed = {value for value, _ in column.flatchoices} if column.choices else None
    validators = [] if tables.target_of(column) else [*column.validators, *_range(column)]
    has_ids = not is_own and IDS.fullmatch(column.name)
    has_shape = shapes.has(label)

    def check(value: Any) -> None:
        if value is None:
            if not column.null:
                raise ValueError(f"{column.name} is empty")
            return
        if types and type(value) not in types:
            raise ValueError(f"{column.name} is a {type(value).__name__}")
        is_blank = value == "" and column.blank
        if allowed is not None and value not in allowed and not is_blank:
            raise ValueError(f"{column.name} is {value!r}, none of {', '.join(map(str, allowed))}")
        if has_shape:
            shapes.check(label, value)
        if has_ids and any(LINE_END.search(text) for text in (value if isinstance(value, list) else [value])):
            raise ValueError(f"{column.name} has a line end or a tab")
        for validator in () if is_blank else validators:
            validator(column.to_python(value))

    return check


def _range(column: Field[Any, Any]) -> list[Callable[[Any], None]]:
    """Return the range of whole numbers on PostgreSQL, which SQLite does not know."""
    for kind, bits in ((SmallIntegerField, 16), (PositiveSmallIntegerField, 16), (BigIntegerField, 64)):
        if isinstance(column, kind):
            return [MinValueValidator(-(2 ** (bits - 1))), MaxValueValidator(2 ** (bits - 1) - 1)]
    if isinstance(column, IntegerField) and not isinstance(column, PositiveBigIntegerField):
        return [MinValueValidator(-(2**31)), MaxValueValidator(2**31 - 1)]
    return []


def _types(column: Field[Any, Any]) -> tuple[type, ...]:
    """Return the types of JSON that the column takes; empty for any."""
    if tables.target_of(column) or isinstance(column, IntegerField):
        return (int,)
    if isinstance(column, BooleanField):
        return (bool,)
    if isinstance(column, FloatField):
        return (int, float)
    return () if isinstance(column, (JSONField, BinaryField)) else (str,)


def _converter(column: Field[Any, Any], keys: Keys) -> Convert:
    """Return what makes of a checked value one that the database takes."""
    target = tables.target_of(column)
    if target is not None:
        return lambda number: None if number is None else keys.key(target, number)
    database = connections[DEFAULT_DB_ALIAS]  # the proxy `connection` would be asked for each value
    save = partial(column.get_db_prep_save, connection=database)
    if isinstance(column, JSONField):
        return save
    if isinstance(column, DateTimeField):
        return lambda value: save(_moment(column.to_python(value)))
    return lambda value: save(column.to_python(value))


def _moment(value: datetime | None) -> datetime | None:
    if value is not None and (value.tzinfo is None or value.year not in YEARS):
        raise ValueError(f"{value.isoformat()} is no time of an archive, which are in UTC")
    return value
