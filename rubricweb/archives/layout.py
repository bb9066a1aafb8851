"""The layout of an archive, and its writer: table by table, a row at a time, in one state of the database.

The layout of an archive: a zip with a signed manifest, JSON lines for each table, and uploaded files.

`manifest.json` has the version of this layout, the newest migration of each app, and for each table its
columns, rows, bytes and SHA-256. A line of a table is the JSON list of one row's columns. Its number, from 1,
is its key: foreign keys hold these numbers. The same collection gives the same bytes on every database.

The manifest has a digest of every file and is signed with a key of the server. An archive is trusted as a
dump of the database is: whoever can make one decides what becomes rows. So the browser restores only what
this server signed, or one whose key an operator lists in RUBRIC_ARCHIVE_KEYS.

An archive that lacks a table or a column is read: its rows get the column's default. A change that defaults
cannot bridge needs another `VERSION`, and a step in `reading` that brings older archives up to it. Those of
version 1 are not signed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from grading.graders import ANSWERS_BY
from grading.graders.panel import members_of
from rubricweb.archives import tables
from rubricweb.archives.tables import replaced_in
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig

TAG = b"rubricweb.archives.key.1"
"""What the key is for: no other use of RUBRIC_SECRET_KEY makes the same."""

VERSION = 2
FORMAT = "rubricweb-archive"
MANIFEST = "manifest.json"
SIGNATURE = "signature.txt"
LARGEST_PLAIN_FLOAT = 1e16
"""From here on Python writes an exponent, where PostgreSQL's JSON has digits only."""


def own_key() -> str:
    """Return the key of this server, in hexadecimal: with it one signs in its name, so that it is a secret.

    It follows from RUBRIC_SECRET_KEY, which does not follow from it.
    """
    return hmac.new(settings.SECRET_KEY.encode(), TAG, hashlib.sha256).hexdigest()


def signature(manifest: bytes, key: str = "") -> str:
    """Return the HMAC-SHA256 of a manifest in hexadecimal, with the key of this server if none is given."""
    return hmac.new(bytes.fromhex(key or own_key()), manifest, hashlib.sha256).hexdigest()


def is_own(manifest: bytes, signed: str) -> bool:
    """Return whether the manifest was signed with the key of this server."""
    return _is_by(own_key(), manifest, signed)


def is_known(manifest: bytes, signed: str) -> bool:
    """Return whether it was signed with a key that an operator lists."""
    return any(_is_by(key, manifest, signed) for key in settings.ARCHIVE_KEYS)


def _is_by(key: str, manifest: bytes, signed: str) -> bool:
    return hmac.compare_digest(signature(manifest, key).encode(), signed.encode())


@dataclass(frozen=True, slots=True)
class Part:
    """One table of an archive, or one uploaded file (without columns and rows)."""

    name: str
    """Its path in the zip."""
    bytes: int
    sha256: str
    columns: tuple[str, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    collection: str
    """The slug."""
    tables: Mapping[str, Part]
    """Keyed by the label of the model, such as `corpus.Topic`."""
    files: Mapping[str, Part] = field(default_factory=dict)
    """Keyed by label and number of the row to which the file belongs: `imports.ImportFile/3`."""
    migrations: Mapping[str, str] = field(default_factory=dict)
    """The newest migration of each app, to identify the version that wrote an archive."""


def table_path(label: str) -> str:
    return f"tables/{label}.jsonl"


def line_of(values: list[Any]) -> str:
    r"""Return one row as JSON, the same for the same values on every database.

    >>> line_of([1, {"b": 1e20, "a": "\u00fc"}, None])
    '[1,{"a":"\\u00fc","b":100000000000000000000},null]\n'
    """
    text = _dumped(values)
    if "e+" in text or "-0.0" in text:
        text = _dumped(_plain_numbers(json.loads(text)))
    return f"{text}\n"


def _dumped(values: Any) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), default=_as_json)


def _as_json(value: object) -> str:
    """Return dates in UTC, and UUIDs and decimals as their own text."""
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)


def _plain_numbers(value: Any) -> Any:
    """Return the value as PostgreSQL gives JSON back: large floats as whole numbers, and no negative zero."""
    if isinstance(value, dict):
        return {key: _plain_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    if isinstance(value, float) and abs(value) >= LARGEST_PLAIN_FLOAT and value - value == 0:
        return int(Decimal(repr(value)))
    return value + 0.0 if isinstance(value, float) else value


READ_AT_ONCE = 2_000
"""Rows in memory."""
CHUNK_BYTES = 1_048_576
_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every file in the zip; the time of archiving would change the bytes."""


@contextmanager
def snapshot() -> Iterator[None]:
    """Yield all queries of the block see the database as it is now; in a transaction, as that sees it.

    SQLite's own transactions here begin with the write lock, which this one never takes.
    """
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield


class Numbers:
    """Numbers by key. Keys are read when they are first needed, and take eight bytes each."""

    def __init__(self, collection: Collection) -> None:
        self._tables = {table.model: table for table in tables.archived()}
        self._collection = collection
        self._keys: dict[type[Model], array[int]] = {}
        self._shared = {
            model: {row.pk: number for number, row in enumerate(shared_rows(collection, model), 1)}
            for model in tables.SHARED
        }

    def number(self, model: type[Model], key: int) -> int | None:
        """Return the number of the row, or None if it is not in the archive."""
        if model in self._shared:
            return self._shared[model].get(key)
        if model not in self._keys:
            rows = self._tables[model].archived_rows(self._collection)
            self._keys[model] = array("q", rows.values_list("pk", flat=True).iterator())
        keys = self._keys[model]
        place = bisect_left(keys, key)
        return place + 1 if place < len(keys) and keys[place] == key else None


def shared_rows(collection: Collection, model: type[Model]) -> list[Any]:
    """Return the people or graders to whom the collection's tables refer, by what tells them apart."""
    keys: set[int] = set()
    for table in tables.archived():
        for column in table.columns:
            if tables.target_of(column) is model:
                rows = table.archived_rows(collection).order_by().exclude(**{column.attname: None})
                keys.update(rows.values_list(column.attname, flat=True).distinct())
    named: list[Any] = list(model._base_manager.filter(pk__in=keys))
    if model is GraderConfig:
        named = _with_sources(collection, named)
    return sorted(named, key=lambda row: str(getattr(row, tables.SHARED[model])))


def _with_sources(collection: Collection, configs: list[GraderConfig]) -> list[GraderConfig]:
    """Add graders that are named by fingerprint: in settings, by verifiers of answers, and by panels."""
    rows = {config.fingerprint: config for config in configs}
    looked_up = set(rows)
    while (
        missing := (
            {collection.default_grader, collection.answers_by}
            | {str(config.options[ANSWERS_BY]) for config in rows.values() if config.options.get(ANSWERS_BY)}
            | {member for config in rows.values() for member in members_of(config.options)}
        )
        - looked_up
    ):
        looked_up |= missing
        rows |= {
            config.fingerprint: config for config in GraderConfig.objects.filter(fingerprint__in=missing)
        }
    return list(rows.values())


class CannotArchive(Exception):
    """The text says why."""


def write_archive(collection: Collection, path: Path) -> Manifest:
    """Write the collection to `path`, as it is at one moment. Raises OSError and CannotArchive.

    The file is there whole or not at all. Work that is under way is archived as cancelled, so that nothing
    begins when it is restored. A collection in cold storage is not archived.
    """
    if collection.cold_at:
        raise CannotArchive(f"Its grades are in cold storage. First: rubricweb thaw {collection.slug}")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        written = Path(folder) / path.name
        with snapshot(), ZipFile(written, "w", ZIP_DEFLATED) as target:
            manifest = _write(collection, target)
        written.replace(path)
    return manifest


def _write(collection: Collection, target: ZipFile) -> Manifest:
    numbers = Numbers(collection)
    parts = {}
    for model in tables.SHARED:
        names = [column.attname for column in tables.columns(model)]
        parts[model._meta.label] = _write_table(
            target, model, ([getattr(row, name) for name in names] for row in shared_rows(collection, model))
        )
    for table in tables.archived():
        parts[table.label] = _write_table(target, table.model, _values(table, collection, numbers))
    files = dict(_write_files(target, collection, numbers))
    applied = MigrationRecorder(connection).applied_migrations()
    ours = {table.model._meta.app_label for table in tables.owned()}
    newest = {app: name for app, name in sorted(applied) if app in ours}
    manifest = Manifest(collection.slug, parts, files, newest)
    stated = {"format": FORMAT, "version": VERSION} | asdict(manifest)
    text = f"{json.dumps(stated, indent=1, sort_keys=True)}\n".encode()
    for name, content in ((MANIFEST, text), (SIGNATURE, f"{signature(text)}\n".encode())):
        with _entry(target, name) as stream:
            stream.write(content)
    return manifest


def _write_table(target: ZipFile, model: type[Model], values: Iterator[list[Any]]) -> Part:
    label, digest, size, rows = model._meta.label, hashlib.sha256(), 0, 0
    with _entry(target, table_path(label)) as stream:
        while batch := [line_of(row) for row in islice(values, READ_AT_ONCE)]:
            data = "".join(batch).encode("ascii")
            stream.write(data)
            digest.update(data)
            size, rows = size + len(data), rows + len(batch)
    names = tuple(column.name for column in tables.columns(model))
    return Part(table_path(label), size, digest.hexdigest(), names, rows)


def _values(table: tables.Table, collection: Collection, numbers: Numbers) -> Iterator[list[Any]]:
    """Yield the rows with numbers for keys."""
    columns = table.columns
    names = [column.name for column in columns]
    foreign = [(place, column) for place, column in enumerate(columns) if tables.target_of(column)]
    inner = [(names.index(name), function) for name, function in replaced_in(table.label).items()]
    rows = table.archived_rows(collection).values_list(*(column.attname for column in columns))
    for row in rows.iterator(chunk_size=READ_AT_ONCE):
        values = list(row)
        for place, column in foreign:
            if values[place] is not None:
                values[place] = _number(column, values[place], numbers)
        for place, function in inner:
            values[place] = function(values[place], dict(zip(names, values, strict=True)), numbers.number)
        if tables.is_work(table.model):
            values = [*tables.ended(table.model, dict(zip(names, values, strict=True))).values()]
        yield values


def _number(column: Any, key: int, numbers: Numbers) -> int | None:
    """Return the number of a referenced row. Raises CannotArchive for a required one that is gone."""
    number = numbers.number(column.related_model, key)
    if number is None and not column.null:
        place = f"{column.model._meta.label}.{column.name}"
        raise CannotArchive(f"{place} refers to a row {key} that the collection does not have")
    return number


def _write_files(target: ZipFile, collection: Collection, numbers: Numbers) -> Iterator[tuple[str, Part]]:
    for row, path in tables.files_of(collection):
        number = numbers.number(type(row), row.pk)
        if number is None:
            continue
        digest, name = hashlib.sha256(), f"files/{row._meta.label}/{number}"
        with path.open("rb") as source, _entry(target, name) as stream:
            for chunk in iter(lambda: source.read(CHUNK_BYTES), b""):
                stream.write(chunk)
                digest.update(chunk)
        yield f"{row._meta.label}/{number}", Part(name, path.stat().st_size, digest.hexdigest())


def _entry(target: ZipFile, name: str) -> IO[bytes]:
    info = ZipInfo(name, _DATE)
    info.compress_type = ZIP_DEFLATED
    info.create_system, info.external_attr = 3, 0o600 << 16
    return target.open(info, "w", force_zip64=True)
