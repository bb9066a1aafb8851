"""Many rows into one table, with the keys that they shall have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import Field, Model


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
