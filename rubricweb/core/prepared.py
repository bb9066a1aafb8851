"""Queries that Django compiles once per process, for views that run on every key press.

Django takes ten times as long to build and compile a query with several subqueries as the database takes to
answer it (`bench/queue_save.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet

SLOT = -(2**52)
"""Stands for an argument in the compiled query; no row has it as a key."""


class Compiled(NamedTuple):
    rows: QuerySet[Any, Any]
    compiler: Any
    sql: str
    parameters: Sequence[Any]


class Prepared:
    """A query built by a function of integers; call it with their values to get its rows.

    The function must not inspect the integers: it is called once per kind of database, with placeholders.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Any]]) -> None:
        self._build = build
        self._compiled: dict[str, Compiled] = {}

    def __call__(self, *values: int) -> list[Any]:
        compiled = self._in_sql(len(values))
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, [_filled(parameter, values) for parameter in compiled.parameters])
            fetched = cursor.fetchall()
        compiler = copy(compiled.compiler)
        compiler.execute_sql = lambda *_, **__: [fetched]
        rows = compiled.rows.all()
        rows.query.get_compiler = lambda *_, **__: compiler  # type: ignore[method-assign]
        return list(rows)

    def _in_sql(self, count: int) -> Compiled:
        if connection.vendor not in self._compiled:
            rows = self._build(*(SLOT - number for number in range(count)))
            compiler = rows.query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            self._compiled[connection.vendor] = Compiled(rows, compiler, sql, parameters)
        return self._compiled[connection.vendor]


def _filled(parameter: Any, values: Sequence[int]) -> Any:
    is_slot = isinstance(parameter, int) and SLOT - len(values) < parameter <= SLOT
    return values[SLOT - parameter] if is_slot else parameter
