"""Make a collection of an archive, all or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DEFAULT_DB_ALIAS, DataError, IntegrityError, connection, connections, transaction
from django.db.models import Field, JSONField, Model

from grading.errors import BadFormat
from rubricweb.accounts.models import User
from rubricweb.archives import reading, tables, uploads
from rubricweb.archives.inner_keys import replaced_in
from rubricweb.archives.inserting import insert_rows, reserve_keys
from rubricweb.archives.reading import Archive
from rubricweb.core import audit, copies
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig

INSERTED_AT_ONCE = 2_000
SLUG_CHARS = 80
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of an archive."""

    collection_id: int
    slug: str
    rows: dict[str, int]
    """By label of the model."""
    members: list[str]
    """People of the archive who have an account here of the same name."""
    strangers: list[str]
    """People who had none: accounts were made with which nobody can sign in."""


class Unwanted(Exception):
    """Nobody wants the collection any more; nothing is restored."""


@dataclass(slots=True)
class Progress:
    """How many rows of an archive are restored; another thread may read it, and ask for an end."""

    total: int = 0
    done: int = 0
    is_unwanted: bool = False

    def add(self, rows: int) -> None:
        """Raises Unwanted."""
        self.done += rows
        if self.is_unwanted:
            raise Unwanted


def restore_archive(
    path: Path,
    *,
    slug: str = "",
    max_bytes: int = reading.MAX_BYTES,
    progress: Progress | None = None,
    then: Callable[[Restored], object] = lambda restored: None,
) -> Restored:
    """Restore the collection at `path`, as `slug` if one is given.

    Raises BadFormat, and Unwanted where `progress` says so; then nothing is changed.

    `then` is called within the transaction. On SQLite the collection is made in a copy of the database and
    then taken over, so that others can write meanwhile. `max_bytes` limits what the archive unpacks to.
    """
    files: list[Path] = []
    with reading.opened(path, max_bytes=max_bytes) as archive:
        progress = progress or Progress()
        progress.total = sum(part.rows for part in archive.manifest.tables.values())
        named = slug or archive.manifest.collection
        _check_slug(named, archive.name)
        try:
            if not copies.are_possible():
                keys = _reserved(archive)
                with transaction.atomic():
                    restored = _restore(archive, named, keys, files, progress)
                    then(restored)
                    return restored
            work = partial(_restore_with_own_keys, archive, named, files, progress)
            with copies.changes_of(work) as (restored, changes), changes.taken_over():
                then(restored)
                return restored
        except BaseException:
            uploads.remove(files)
            raise


def _check_slug(slug: str, file: str) -> None:
    try:
        validate_slug(slug)
    except ValidationError as error:
        problem = f"{slug!r} is no slug, expected letters, digits, hyphens and underscores"
        raise BadFormat(problem, file=file) from error
    if len(slug) > SLUG_CHARS:
        raise BadFormat(f"the slug {slug} is too long, expected at most {SLUG_CHARS} characters", file=file)
    if Collection.objects.filter(slug=slug).exists():
        raise BadFormat(f"there is a collection {slug} already, expected another slug", file=file)


class _Keys:
    """The keys that the rows of an archive get."""

    def __init__(self, archive: Archive, first: Mapping[type[Model], int]) -> None:
        self._before = first
        self._rows = {table.model: archive.manifest.tables[table.label].rows for table in _present(archive)}
        self.shared: dict[type[Model], list[int]] = {}

    def key(self, model: type[Model], number: object) -> int:
        """The key of the row with this number. Raises ValueError if the archive has no such row."""
        rows = len(self.shared[model]) if model in self.shared else self._rows.get(model, 0)
        if not isinstance(number, int) or not 1 <= number <= rows:
            raise ValueError(f"refers to row {number} of {model._meta.label}, which has {rows:,}")
        return self.shared[model][number - 1] if model in self.shared else self._before[model] + number


def _reserved(archive: Archive) -> _Keys:
    parts = archive.manifest.tables
    return _Keys(archive, reserve_keys({table.model: parts[table.label].rows for table in _present(archive)}))


def _present(archive: Archive) -> list[tables.Table]:
    by_model = {table.model: table for table in tables.archived() if table.label in archive.manifest.tables}
    return [by_model[model] for model in copies.parents_first(by_model)]


def _restore_with_own_keys(archive: Archive, slug: str, files: list[Path], progress: Progress) -> Restored:
    return _restore(archive, slug, _reserved(archive), files, progress)


def _restore(archive: Archive, slug: str, keys: _Keys, files: list[Path], progress: Progress) -> Restored:
    names = [str(name) for name in _column(archive, User, "username")]
    known = set(User.objects.filter(username__in=names).values_list("username", flat=True))
    keys.shared = {User: _people(names), GraderConfig: _graders(archive)}
    for table in _present(archive):
        changed = {"slug": slug} if table.model is Collection else {}
        for count in _restore_table(archive, table, keys, changed):
            progress.add(count)
    _restore_files(archive, keys, files)
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None or archive.manifest.tables["corpus.Collection"].rows != 1:
        raise BadFormat("has not one collection, expected one", file=archive.name)
    audit.record("collection restored", collection, by=None, detail=slug)
    rows = {label: part.rows for label, part in archive.manifest.tables.items()}
    strangers = [name for name in names if name not in known]
    return Restored(collection.pk, slug, rows, sorted(known), strangers)


def _column(archive: Archive, model: type[Model], name: str) -> list[Any]:
    part = archive.manifest.tables.get(model._meta.label)
    place = part.columns.index(name) if part and name in part.columns else None
    return [] if place is None else [row[place] for _, row in archive.rows(model._meta.label)]


def _people(names: list[str]) -> list[int]:
    """The accounts of these names; where there is none, one with which nobody can sign in."""
    return [_person(name).pk for name in names]


def _person(name: str) -> User:
    existing = User.objects.filter(username=name).first()
    if existing is not None:
        return existing
    person = User(username=name, is_active=False)
    person.set_unusable_password()
    person.save()
    return person


def _graders(archive: Archive) -> list[int]:
    label = GraderConfig._meta.label
    if label not in archive.manifest.tables:
        return []
    names = archive.manifest.tables[label].columns
    pks = []
    for _, row in archive.rows(label):
        values = dict(zip(names, row, strict=True))
        config, _ = GraderConfig.objects.get_or_create(fingerprint=values.pop("fingerprint"), defaults=values)
        pks.append(config.pk)
    return pks


def _restore_files(archive: Archive, keys: _Keys, written: list[Path]) -> None:
    models = {model._meta.label: model for model in uploads.PLACES}
    for name, part in archive.manifest.files.items():
        label, _, number = name.rpartition("/")
        if label not in models or not number.isdecimal():
            raise BadFormat(f"has a file of {name}, expected one of an upload", file=archive.name)
        model = models[label]
        path = uploads.PLACES[model](model._base_manager.get(pk=keys.key(model, int(number))))
        path.parent.mkdir(parents=True, exist_ok=True)
        written.append(path)
        with path.open("wb") as target:
            for chunk in archive.chunks(part):
                target.write(chunk)


def _restore_table(
    archive: Archive, table: tables.Table, keys: _Keys, changed: dict[str, Any]
) -> Iterator[int]:
    """Yield the number of rows of each batch once it is inserted."""
    part = archive.manifest.tables[table.label]
    columns = [field for field in table.model._meta.concrete_fields if not field.primary_key]
    ready = _ready_rows(archive, table, keys, changed)
    unique = [place for place, column in enumerate(columns, 1) if column.unique and not column.is_relation]
    try:
        while batch := list(islice(ready, INSERTED_AT_ONCE)):
            for place in unique:
                _renew(columns[place - 1], place, batch)
            insert_rows(table.model, columns, batch)
            yield len(batch)
    except (IntegrityError, DataError) as error:
        problem = f"has rows that the database refuses ({error}), expected those of a collection"
        raise BadFormat(problem, file=f"{archive.name}: {part.name}") from error


def _ready_rows(
    archive: Archive, table: tables.Table, keys: _Keys, changed: dict[str, Any]
) -> Iterator[list[Any]]:
    """The rows as the database takes them, their keys first; columns that the archive lacks get defaults."""
    part, model = archive.manifest.tables[table.label], table.model
    columns = [field for field in model._meta.concrete_fields if not field.primary_key]
    convert = {column.name: _converter(column, keys) for column in columns}
    inner = replaced_in(table.label)
    for number, row in archive.rows(table.label):
        try:
            values = dict(zip(part.columns, row, strict=True)) | changed
            for name in inner.keys() & values.keys():
                values[name] = inner[name](values[name], values, keys.key)
            ready = [
                convert[column.name](values[column.name] if column.name in values else column.get_default())
                for column in columns
            ]
        except (ValidationError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            place = f"{archive.name}: {part.name}"
            raise BadFormat(f"{error}, expected a row of {table.label}", file=place, line=number) from error
        yield [keys.key(model, number), *ready]


def _converter(column: Field[Any, Any], keys: _Keys) -> Callable[[Any], Any]:
    """From a value in JSON to one that the database takes."""
    target = tables.target_of(column)
    if target is not None:
        return lambda number: None if number is None else keys.key(target, number)
    database = connections[DEFAULT_DB_ALIAS]  # the proxy `connection` would be asked for each value
    save = partial(column.get_db_prep_save, connection=database)
    return save if isinstance(column, JSONField) else lambda value: save(column.to_python(value))


def _renew(column: Field[Any, Any], place: int, batch: list[list[Any]]) -> None:
    """Give new ids to the rows whose ids another collection has, as it does beside a restored copy."""
    rows = column.model._base_manager.filter(**{f"{column.name}__in": [row[place] for row in batch]})
    taken = {column.get_db_prep_save(value, connection) for value in rows.values_list(column.name, flat=True)}
    for row in batch:
        if row[place] in taken:
            new = column.get_default() if column.has_default() else secrets.token_urlsafe(TOKEN_BYTES)
            row[place] = column.get_db_prep_save(new, connection)
