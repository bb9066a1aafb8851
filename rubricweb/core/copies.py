"""Long changes of a SQLite database that keep nobody waiting: made in a copy, then taken over at once.

SQLite has one write lock, which a transaction holds from its first to its last statement. Work that takes
many seconds runs in a copy of the database, where it alone writes. What it added, changed and deleted there
is then written to the database by one statement a table. Keys for its new rows are reserved before, so that
others, who write meanwhile, never use the same. What others changed meanwhile and the work changed too is
never overwritten: `Overtaken` is raised, and the work can be done again.
"""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, TypeVar

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import AutoField, Model

T = TypeVar("T")

RESERVED = 100_000_000
"""Keys of each table, for the new rows of one piece of work."""
COPY = "copy"
"""The name of the copy beside the database, in the statements that take its rows over."""
FOLDER = "copy-"
"""How the names of the folders begin in which copies are, in the data folder."""
SPARE = 3
"""A copy is made where so many times its size is free on the disk."""
CACHED_KILOBYTES = 8_192
"""Of pages in memory while changes are taken over, so that each is written once."""
_FAST = "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA foreign_keys=ON;"


class Overtaken(Exception):
    """Others changed, meanwhile, what the work changed too."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the copy, and the last key that was in use when the work began."""

    name: str
    last: int

    @property
    def quoted(self) -> str:
        return connection.ops.quote_name(self.name)

    @property
    def old(self) -> str:
        """The table of the copy that keeps rows as they were before the work changed or deleted them."""
        return connection.ops.quote_name(f"old_{self.name}")

    @property
    def is_new(self) -> str:
        """Whether a row is the work's, as SQL."""
        return f'"id" > {self.last} AND "id" <= {self.last + RESERVED}'


@dataclass(slots=True)
class Changes:
    """What a piece of work did in a copy of the database; `take_over` makes it true."""

    path: Path
    tables: list[Table]
    on_commit: list[Callable[[], object]]

    @contextmanager
    def taken_over(self) -> Iterator[None]:
        """Write the changes, and what the block writes, in one transaction. Raises Overtaken."""
        with _beside(self.path):
            try:
                with transaction.atomic(durable=True):
                    self._write()
                    for call in self.on_commit:
                        transaction.on_commit(call)
                    yield
            except IntegrityError as error:
                raise Overtaken(str(error)) from error

    def _write(self) -> None:
        """Rows go in after those that they refer to: see `parents_first`."""
        with connection.cursor() as cursor:
            old = {table: f"SELECT 1 FROM {COPY}.{table.old}" for table in self.tables}  # noqa: S608
            changed = [table for table, rows in old.items() if _has(cursor, rows)]
            for table in changed:
                _refuse_overtaken(cursor, table)
                cursor.execute(_delete(table))
                cursor.execute(_update(cursor, table))
            for table in self.tables:
                cursor.execute(_insert(cursor, table))


def are_possible() -> bool:
    """Whether work can be done in a copy: on SQLite, outside of a transaction, if the disk has room."""
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        return False
    path = Path(connection.settings_dict["NAME"])
    return path.is_file() and shutil.disk_usage(path.parent).free > SPARE * path.stat().st_size


@contextmanager
def changes_of(work: Callable[[], T]) -> Iterator[tuple[T, Changes]]:
    """Do the work in a copy, which lasts as long as the block; without `taken_over` nothing comes of it."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix=FOLDER) as folder, _in_use(Path(folder)):
        path = Path(folder) / "copy.sqlite3"
        _copy_to(path)
        tables = _reserve_keys()
        try:
            with _connected_to(path) as copied:
                _prepare(copied, tables)
                with transaction.atomic():
                    result = work()
                    on_commit: list[Callable[[], object]] = [entry[1] for entry in copied.run_on_commit]
                    copied.run_on_commit = []
            yield result, Changes(path, tables, on_commit)
        finally:
            _release_keys(tables)


@contextmanager
def _in_use(folder: Path) -> Iterator[None]:
    """Lock the folder while this process needs it: the lock goes with the process, however that ends."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _remove_abandoned() -> None:
    """Remove the copies of processes that were killed, each as large as the database was."""
    for path in Path(settings.DATA_DIR).glob(f"{FOLDER}*/lock"):
        with suppress(OSError), path.open("w") as lock:  # in use, or another process removes it
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)


def _reserve_keys() -> list[Table]:
    """Let the keys of others' new rows begin after those of the work.

    Called after the copy was made, which so has no key that is reserved.
    """
    counted = [model._meta.db_table for model in parents_first(_models())]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT name, seq FROM sqlite_sequence")
        last = dict(cursor.fetchall())
        for name in (name for name in counted if name not in last):
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, 0)", [name])
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s", [RESERVED])
    return [Table(name, last.get(name, 0)) for name in counted]


def parents_first(models: Iterable[type[Model]]) -> list[type[Model]]:
    """Each model after those that its foreign keys lead to.

    In another order SQLite would look for the children of each new parent, as long as any foreign key leads
    nowhere yet; where a foreign key has no index, it reads the whole table of the children for each parent.
    """
    wanted = {model._meta.label: model for model in models}
    parents = {
        label: {
            field.related_model._meta.label for field in model._meta.concrete_fields if field.related_model
        }
        for label, model in sorted(wanted.items())
    }
    order = TopologicalSorter({label: to - {label} for label, to in parents.items()}).static_order()
    return [wanted[label] for label in order if label in wanted]


def _release_keys(tables: list[Table]) -> None:
    """Let keys go on after the last one in use, in the tables to which others added nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        for table in tables:
            used = f"COALESCE((SELECT MAX(id) FROM {table.quoted}), 0)"  # noqa: S608
            release = f"UPDATE sqlite_sequence SET seq = MAX(%s, {used}) WHERE name = %s AND seq = %s"  # noqa: S608
            cursor.execute(release, [table.last, table.name, table.last + RESERVED])


def _models() -> Iterator[type[Model]]:
    """Ours, with a key that the database counts."""
    for model in apps.get_models(include_auto_created=True):
        is_ours = model.__module__.startswith("rubricweb.")
        if is_ours and model._meta.managed and isinstance(model._meta.pk, AutoField):
            yield model


def _copy_to(path: Path) -> None:
    """As the database is at one moment; others go on writing meanwhile."""
    connection.ensure_connection()
    target = sqlite3.connect(path)
    with target:
        connection.connection.backup(target)
    target.close()


@contextmanager
def _connected_to(path: Path) -> Iterator[BaseDatabaseWrapper]:
    """In this thread, the default database is the copy."""
    usual = connections[DEFAULT_DB_ALIAS]
    copied = connections.create_connection(DEFAULT_DB_ALIAS)
    options = {**copied.settings_dict["OPTIONS"], "init_command": _FAST}
    copied.settings_dict = {**copied.settings_dict, "NAME": str(path), "OPTIONS": options}
    connections[DEFAULT_DB_ALIAS] = copied
    try:
        yield copied
    finally:
        connections[DEFAULT_DB_ALIAS] = usual
        copied.close()


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """The copy is there for the statements of the default database as `COPY`."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size")
        usual = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA cache_size = -{CACHED_KILOBYTES}")
        cursor.execute(f"ATTACH DATABASE %s AS {COPY}", [str(path)])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DETACH DATABASE {COPY}")
            cursor.execute(f"PRAGMA cache_size = {usual}")


def _prepare(copied: BaseDatabaseWrapper, tables: list[Table]) -> None:
    """Count keys from where they were, and keep the old state of each row that is changed or deleted."""
    with copied.cursor() as cursor:
        for table in tables:
            cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [table.last, table.name])
            cursor.execute(f"CREATE TABLE {table.old} AS SELECT * FROM {table.quoted} WHERE 0")  # noqa: S608
            cursor.execute(f'CREATE UNIQUE INDEX "key_of_old_{table.name}" ON {table.old} ("id")')
            for deed in ("UPDATE", "DELETE"):
                cursor.execute(_keeping(table, deed))


def _keeping(table: Table, deed: str) -> str:
    return (
        f'CREATE TRIGGER "{deed}_of_{table.name}" BEFORE {deed} ON {table.quoted}'  # noqa: S608
        f" WHEN NOT (OLD.{table.is_new.replace('AND ', 'AND OLD.')}) BEGIN"
        f" INSERT INTO {table.old} SELECT * FROM {table.quoted} WHERE id = OLD.id"
        f" AND NOT EXISTS (SELECT 1 FROM {table.old} WHERE id = OLD.id); END"
    )


def _refuse_overtaken(cursor: Any, table: Table) -> None:
    """Raise Overtaken if a row that the work changed is not as it was when the copy was made."""
    old = f"SELECT * FROM {COPY}.{table.old}"  # noqa: S608
    now = f"SELECT * FROM main.{table.quoted} WHERE id IN (SELECT id FROM {COPY}.{table.old})"  # noqa: S608
    if _has(cursor, f"{old} EXCEPT {now}"):
        raise Overtaken(f"rows of {table.name} were changed meanwhile")


def _delete(table: Table) -> str:
    deleted = f"SELECT id FROM {COPY}.{table.old} EXCEPT SELECT id FROM {COPY}.{table.quoted}"  # noqa: S608
    return f"DELETE FROM main.{table.quoted} WHERE id IN ({deleted})"  # noqa: S608


def _update(cursor: Any, table: Table) -> str:
    columns = ", ".join(_columns(cursor, table))
    row = f"SELECT {columns} FROM {COPY}.{table.quoted} AS new WHERE new.id = old.id"  # noqa: S608
    changed = f"SELECT id FROM {COPY}.{table.old}"  # noqa: S608
    return f"UPDATE main.{table.quoted} AS old SET ({columns}) = ({row}) WHERE id IN ({changed})"  # noqa: S608


def _insert(cursor: Any, table: Table) -> str:
    columns = ", ".join(_columns(cursor, table))
    rows = f"SELECT {columns} FROM {COPY}.{table.quoted} WHERE {table.is_new}"  # noqa: S608
    return f"INSERT INTO main.{table.quoted} ({columns}) {rows}"


def _columns(cursor: Any, table: Table) -> list[str]:
    cursor.execute(f"PRAGMA main.table_info({table.quoted})")
    return [connection.ops.quote_name(row[1]) for row in cursor.fetchall()]


def _has(cursor: Any, query: str) -> bool:
    cursor.execute(f"SELECT EXISTS ({query})")
    return bool(cursor.fetchone()[0])
