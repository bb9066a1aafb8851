"""Make a collection of an archive, all or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Field, Model, UUIDField

from grading.errors import BadFormat
from rubricweb.accounts.invitations import invite_account
from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.archives import reading, tables
from rubricweb.archives.reading import WRONG, ArchiveFile, Keys, checker, ready_rows, reason
from rubricweb.core import audit
from rubricweb.core.models import copied_uid
from rubricweb.corpus.models import Collection
from rubricweb.grades.configs import require_genuine
from rubricweb.grades.models import GraderConfig

INSERTED_AT_ONCE = 2_000
SLUG_CHARS = 80
TOKEN_BYTES = 24


def reserve_keys(counts: Mapping[type[Model], int]) -> dict[type[Model], int]:
    """Return, for each model, the key after which as many keys are free as `counts` says, for good.

    Each table is locked for a moment, so that nobody draws a key at the same time.
    """
    reserve = _reserve_of_sqlite if connection.vendor == "sqlite" else _reserve_of_postgresql
    bases = {}
    for model, count in counts.items():
        with transaction.atomic(), connection.cursor() as cursor:
            bases[model] = reserve(cursor, model._meta.db_table, count)
    return bases


def _reserve_of_sqlite(cursor: Any, table: str, count: int) -> int:
    cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
    row = cursor.fetchone()
    last = row[0] if row else 0
    if row:
        cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [last + count, table])
    else:
        cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, count])
    return int(last)


def _reserve_of_postgresql(cursor: Any, table: str, count: int) -> int:
    quoted = connection.ops.quote_name(table)
    cursor.execute(f"LOCK TABLE {quoted} IN SHARE ROW EXCLUSIVE MODE")
    cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", [quoted])
    last = int(cursor.fetchone()[0])
    cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [quoted, last + count])
    return last


def insert_rows(model: type[Model], columns: list[Field[Any, Any]], rows: list[list[Any]]) -> None:
    """Insert rows of values as the database takes them, the key first.

    PostgreSQL copies them: a statement with a placeholder for each value takes several times as long.
    """
    names = [connection.ops.quote_name(str(column.column)) for column in columns]
    target = f'{connection.ops.quote_name(model._meta.db_table)} ("id", {", ".join(names)})'
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with connection.wrap_database_errors, cursor.copy(f"COPY {target} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            values = ", ".join(["%s"] * (len(columns) + 1))
            cursor.executemany(f"INSERT INTO {target} VALUES ({values})", rows)  # noqa: S608


@dataclass(frozen=True, slots=True)
class Terms:
    """How an archive is restored."""

    slug: str = ""
    """What the collection shall be called; empty for the slug that it had."""
    by: User | None = None
    """In whose name people are invited; None for the operator's command."""
    is_trusted: bool = False
    """Whoever made the archive is trusted as somebody who writes to the database: it need not be signed."""
    joins: bool = False
    """People of the archive become members at once, instead of being invited."""
    max_bytes: int = reading.MAX_BYTES
    """What the archive may unpack to."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What became of an archive."""

    collection_id: int
    slug: str
    rows: dict[str, int]
    """Keyed by label of the model."""
    members: list[str]
    """People of the archive who have an account here of the same name."""
    strangers: list[str]
    """People who had none: accounts were made with which nobody can sign in."""
    invited: list[Membership]
    """What people are to be invited to; not saved."""


class Unwanted(Exception):
    """Nobody wants the collection any more; nothing is restored."""


@dataclass(slots=True)
class RestoredRows:
    """How many rows of an archive are restored; another thread may read it, and ask for an end."""

    total: int = 0
    done: int = 0
    is_unwanted: bool = False

    def add(self, rows: int) -> None:
        """Count rows as restored. Raises Unwanted."""
        self.done += rows
        if self.is_unwanted:
            raise Unwanted


def restore_archive(
    path: Path,
    terms: Terms,
    *,
    progress: RestoredRows | None = None,
    then: Callable[[Restored], object] = lambda restored: None,
) -> Restored:
    """Restore the collection at `path`.

    Raises BadFormat, and Unwanted where `progress` says so; then nothing is changed.

    `then` is called within the transaction.
    """
    files: list[Path] = []
    with reading.opened(path, is_trusted=terms.is_trusted, max_bytes=terms.max_bytes) as archive:
        progress = progress or RestoredRows()
        progress.total = sum(part.rows for part in archive.manifest.tables.values())
        terms = replace(terms, slug=terms.slug or archive.manifest.collection)
        _check_slug(terms.slug, archive.name)
        try:
            parts = archive.manifest.tables
            keys = Keys(
                archive.manifest,
                reserve_keys({table.model: parts[table.label].rows for table in _present(archive)}),
            )
            with transaction.atomic():
                restored = _restore(archive, terms, keys, files, progress)
                _invite(restored, terms)
                then(restored)
                return restored
        except BaseException:
            tables.remove(files)
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


def _present(archive: ArchiveFile) -> list[tables.Table]:
    by_model = {table.model: table for table in tables.archived() if table.label in archive.manifest.tables}
    return [by_model[model] for model in parents_first(by_model)]


def parents_first(models: Iterable[type[Model]]) -> list[type[Model]]:
    """Return each model after those that its foreign keys lead to.

    In another order SQLite would look for the children of each new parent, as long as any foreign key leads
    nowhere yet; where a foreign key has no index, it reads the whole table of the children for each parent.
    """
    by_label = {model._meta.label: model for model in models}
    parents = {
        label: {
            field.related_model._meta.label for field in model._meta.concrete_fields if field.related_model
        }
        for label, model in sorted(by_label.items())
    }
    order = TopologicalSorter({label: to - {label} for label, to in parents.items()}).static_order()
    return [by_label[label] for label in order if label in by_label]


def _restore(
    archive: ArchiveFile, terms: Terms, keys: Keys, files: list[Path], progress: RestoredRows
) -> Restored:
    slug, names = terms.slug, [str(values["username"]) for values in _shared_rows(archive, User)]
    usernames = set(User.objects.filter(username__in=names).values_list("username", flat=True))
    keys.shared = {User: [_person(name).pk for name in names], GraderConfig: _graders(archive)}
    for table in _present(archive):
        changed = {"slug": slug} if table.model is Collection else {}
        for count in _inserted(archive, table, ready_rows(archive, table, keys, changed)):
            progress.add(count)
    _restore_files(archive, keys, files)
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None or archive.manifest.tables["corpus.Collection"].rows != 1:
        raise BadFormat("has not one collection, expected one", file=archive.name)
    audit.record("collection restored", collection, by=None, detail=slug)
    rows = {label: part.rows for label, part in archive.manifest.tables.items()}
    strangers = [name for name in names if name not in usernames]
    members = [] if terms.joins else _taken_out(collection)
    return Restored(collection.pk, slug, rows, sorted(usernames), strangers, members)


def _taken_out(collection: Collection) -> list[Membership]:
    """Delete the memberships, which the database has checked, and return them."""
    members = list(collection.memberships.select_related("user").order_by("pk"))
    collection.memberships.all().delete()
    return members


def _shared_rows(archive: ArchiveFile, model: type[Model]) -> Iterator[dict[str, Any]]:
    """Yield the checked rows of a model that belongs to no collection. Raises BadFormat."""
    label = model._meta.label
    if label not in archive.manifest.tables:
        return
    part = archive.manifest.tables[label]
    columns = {column.name: column for column in tables.columns(model)}
    checks = [checker(columns[name]) for name in part.columns]
    for number, row in archive.rows(label):
        try:
            for check, value in zip(checks, row, strict=True):
                check(value)
            values = dict(zip(part.columns, row, strict=True))
            if model is GraderConfig:
                # All collections share graders: each must be what its fingerprint says.
                config = GraderConfig(**values)
                require_genuine(config)
                present = GraderConfig.objects.filter(fingerprint=config.fingerprint).first()
                names = ("backend", "llm", "prompt_class", "purpose", "options")
                if present and any(getattr(present, name) != getattr(config, name) for name in names):
                    raise ValueError(f"is not the grader {present} that has its fingerprint here")
        except WRONG as error:
            problem = f"{reason(error)}, expected a row of {label}"
            raise BadFormat(problem, file=f"{archive.name}: {part.name}", line=number) from error
        yield values


def _person(name: str) -> User:
    """Return the account of this name; where there is none, one with which nobody can sign in."""
    existing = User.objects.filter(username=name).first()
    if existing is not None:
        return existing
    person = User(username=name, is_active=False)
    person.set_unusable_password()
    person.save()
    return person


def _graders(archive: ArchiveFile) -> list[int]:
    pks = []
    for values in _shared_rows(archive, GraderConfig):
        config, _ = GraderConfig.objects.get_or_create(fingerprint=values.pop("fingerprint"), defaults=values)
        pks.append(config.pk)
    return pks


def _invite(restored: Restored, terms: Terms) -> None:
    """Invite the members of the archive: nobody becomes a member unasked."""
    collection = Collection.objects.get(pk=restored.collection_id)
    for member in restored.invited:
        name = member.user.username
        if terms.by is None or name != terms.by.username:
            invite_account(collection, name, role=Role(member.role), team=member.team, by=terms.by)


def _restore_files(archive: ArchiveFile, keys: Keys, written: list[Path]) -> None:
    models = {model._meta.label: model for model in tables.PLACES}
    for name, part in archive.manifest.files.items():
        label, _, number = name.rpartition("/")
        if label not in models or not number.isdecimal():
            raise BadFormat(f"has a file of {name}, expected one of an upload", file=archive.name)
        model = models[label]
        path = tables.PLACES[model](model._base_manager.get(pk=keys.key(model, int(number))))
        path.parent.mkdir(parents=True, exist_ok=True)
        written.append(path)
        with path.open("wb") as target:
            for chunk in archive.chunks(part):
                target.write(chunk)


def _inserted(archive: ArchiveFile, table: tables.Table, ready: Iterator[list[Any]]) -> Iterator[int]:
    """Yield the number of rows of each batch once it is inserted. Raises BadFormat."""
    part = archive.manifest.tables[table.label]
    columns = [field for field in table.model._meta.concrete_fields if not field.primary_key]
    unique = [place for place, column in enumerate(columns, 1) if column.unique and not column.is_relation]
    done = 0
    while batch := list(islice(ready, INSERTED_AT_ONCE)):
        for place in unique:
            _renew(columns[place - 1], place, batch)
        try:
            with transaction.atomic():
                insert_rows(table.model, columns, batch)
        except (IntegrityError, DataError) as error:
            line = done + _refused(table.model, columns, batch)
            problem = f"the database refuses it ({error}), expected a row of {table.label}"
            raise BadFormat(problem, file=f"{archive.name}: {part.name}", line=line) from error
        done += len(batch)
        yield len(batch)


def _refused(model: type[Model], columns: list[Field[Any, Any]], batch: list[list[Any]]) -> int:
    """Return the place, from 1, of the first row of a batch that the database refuses."""
    for place, row in enumerate(batch, 1):
        try:
            with transaction.atomic():
                insert_rows(model, columns, [row])
        except (IntegrityError, DataError):
            return place
    return len(batch)


def _renew(column: Field[Any, Any], place: int, batch: list[list[Any]]) -> None:
    """Give new ids to the rows whose ids another collection has, as it does beside a restored copy.

    A UUID becomes its `copied_uid`, so that what names the row finds its copy once the row is deleted.
    """
    left = batch
    while left:
        rows = column.model._base_manager.filter(**{f"{column.name}__in": [row[place] for row in left]})
        values = rows.values_list(column.name, flat=True)
        taken = {column.get_db_prep_save(value, connection) for value in values}
        left = [row for row in left if row[place] in taken]
        for row in left:
            if isinstance(column, UUIDField):
                new: object = copied_uid(column.to_python(row[place]))
            else:
                new = column.get_default() if column.has_default() else secrets.token_urlsafe(TOKEN_BYTES)
            row[place] = column.get_db_prep_save(new, connection)
