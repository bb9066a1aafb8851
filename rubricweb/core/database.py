"""Differences between SQLite and PostgreSQL, and databases of development versions.

Many new rows go in by COPY on PostgreSQL, which takes several times as many a second as INSERT, and by INSERT
elsewhere: all or nothing, and with the same errors, either way.

Nothing was released before 0.1.0, whose migrations begin anew: no path leads there from a development
version's database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, TypeVar

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import OperationalError, connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

WAIT_SECONDS = 0.5

M = TypeVar("M", bound=Model)
T = TypeVar("T")
LOOKED_UP = 500
"""Ids per query: SQLite takes at most a thousand parameters."""
HINT = (
    "Export what you need with the version that made it. Then start with an empty database: set "
    "RUBRIC_DATA_DIR to another folder, or DATABASE_URL to another database."
)


def is_locked(error: BaseException | None) -> bool:
    return isinstance(error, OperationalError) and "locked" in str(error)


@contextmanager
def short_wait(seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Wait for SQLite's lock this long only, instead of the settings' minute. PostgreSQL has no such lock."""
    if connection.vendor != "sqlite":
        yield
        return
    usual = connection.settings_dict["OPTIONS"].get("timeout", 5)
    _wait_at_most(seconds)
    try:
        yield
    finally:
        _wait_at_most(usual)


def _wait_at_most(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")


def is_possible() -> bool:
    """Return whether the database has COPY."""
    return bool(connection.vendor == "postgresql")


def copy_rows(
    table: str,
    columns: Iterable[str],
    rows: Iterable[Sequence[Any]],  # Any: what the database takes
) -> int:
    """Insert rows of `columns` by COPY, and return how many they were. Raises django.db's errors."""
    quote = connection.ops.quote_name
    statement = f"COPY {quote(table)} ({', '.join(map(quote, columns))}) FROM STDIN"
    with connection.wrap_database_errors, connection.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
        return int(cursor.rowcount)


def in_portions(rows: Iterable[T], sizes: Iterable[int], most: int) -> Iterator[list[T]]:
    """Yield the rows in their order, a new list each time that their sizes have passed a multiple of `most`.

    >>> list(in_portions("abcd", [3, 3, 3, 3], 5))
    [['a', 'b'], ['c', 'd']]
    """
    placed = zip(rows, accumulate(sizes, initial=0), strict=False)
    for _, portion in groupby(placed, key=lambda pair: pair[1] // most):
        yield [row for row, _ in portion]


def create(objects: Iterable[M], *, batch_size: int | None = None) -> list[M]:
    """Insert objects of one model like `bulk_create`, and give them their keys."""
    made = list(objects)
    if not made or not is_possible():
        return type(made[0])._base_manager.bulk_create(made, batch_size=batch_size) if made else []
    model = type(made[0])
    fields = model._meta.concrete_fields
    with transaction.atomic():
        for row, key in zip(made, _new_keys(model, len(made)), strict=True):
            row.pk = key
        rows = (
            [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in fields]
            for row in made
        )
        copy_rows(model._meta.db_table, [str(field.column) for field in fields], rows)
    for row in made:
        row._state.adding, row._state.db = False, connection.alias
    return made


def _new_keys(model: type[Model], number: int) -> list[int]:
    """Reserve keys from the table's sequence, so that nobody else gets one of them."""
    table, column = connection.ops.quote_name(model._meta.db_table), model._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
            [table, column, number],
        )
        return [key for (key,) in cursor.fetchall()]


def unknown_migrations(alias: str = "default") -> list[str]:
    """Return the applied migrations of our rooms that this version lacks, as "corpus.0024_name"."""
    own = [config for config in apps.get_app_configs() if config.name.startswith("rubricweb.")]
    labels = {config.label for config in own}
    on_disk = {
        (config.label, path.stem) for config in own for path in Path(config.path).glob("migrations/0*.py")
    }
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied if app in labels and (app, name) not in on_disk)


@register(Tags.database)
def database_of_this_version(databases: Sequence[str] | None = None, **options: Any) -> list[CheckMessage]:
    """Refuse a database of another version before `migrate` changes it."""
    unknown = [name for alias in databases or () for name in unknown_migrations(alias)]
    if not unknown:
        return []
    message = f"Another version of RubricWeb made this database: it has the migration {unknown[-1]}."
    return [Error(message, hint=HINT, id="rubricweb.E001")]
