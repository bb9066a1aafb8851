"""Queries that are compiled once: Django takes several times longer to write a short one than to run it.

A rating took 19 ms of processor instead of 35, a page about 15 % less (`bench/queue_saves.py`,
`bench/pages.py`). It calls parts of Django that are not published (`get_compiler`, `as_sql`,
`_iterable_class`). Where a version of Django breaks them the tests of this module fail, and
`return list(build(*keys))` does the same, slower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from copy import copy
from functools import wraps
from itertools import count
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet

from rubricweb.core.http import MAX_ID

P = ParamSpec("P")
Row = TypeVar("Row")
_FIRST_MARK = 2**62
"""The first of the numbers that stand for keys in a compiled query: no row has such a key."""
LONGEST = 64
"""The length of a tuple up to which a query is compiled once, for each power of two."""


def compiled_once(build: Callable[P, QuerySet[Any, Row]]) -> Callable[P, list[Row]]:
    """Return a function that runs the query of `build` and returns its rows; its first call compiles it.

    The query may depend on the arguments alone, which are numbers, UUIDs, texts or tuples of them, given by
    position; each is a value that the database compares or returns, and decides nothing in `build`. Tuples
    are lists for `IN`: they are filled up with their last value to a power of two, up to `LONGEST`, and the
    query is compiled for each of these lengths. What depends on the reader raises NoReader.
    """
    built: Callable[..., QuerySet[Any, Row]] = build
    compiled: dict[tuple[object, ...], _Compiled] = {}

    @wraps(build)
    def rows(*keys: P.args, **_: P.kwargs) -> list[Row]:
        filled = [_filled_up(key) if isinstance(key, tuple) else key for key in keys]
        values = _flat(filled)
        lengths = [len(key) if isinstance(key, tuple) else None for key in filled]
        is_odd = any(length is not None and not 0 < length <= LONGEST for length in lengths)
        if is_odd or any(isinstance(value, int) and value > MAX_ID for value in values):
            return list(built(*keys))  # no row has such a key, as Django knows
        form = (connections[DEFAULT_DB_ALIAS].vendor, *lengths)
        if form not in compiled:
            marks = _marks(filled)
            queryset = Context().run(built, *marks)  # where no reader is set, who would stay in it
            compiled[form] = _Compiled(queryset, _flat(marks))
        return compiled[form].rows(values)

    return rows


def _filled_up(values: tuple[object, ...]) -> tuple[object, ...]:
    """Return the tuple with its last value repeated, so that its length is a power of two."""
    length = len(values)
    return values + values[-1:] * ((1 << (length - 1).bit_length()) - length if length else 0)


def _flat(keys: Iterable[object]) -> list[object]:
    return [value for key in keys for value in (key if isinstance(key, tuple) else (key,))]


def _marks(keys: Iterable[object]) -> list[object]:
    """Return what stands for the keys, each once."""
    number = count()
    return [
        tuple(_mark(value, next(number)) for value in key)
        if isinstance(key, tuple)
        else _mark(key, next(number))
        for key in keys
    ]


def _mark(key: Any, number: int) -> object:
    """Return what stands for a key of this type; it is converted for the database as the key would be."""
    mark = _FIRST_MARK + number
    return UUID(int=mark) if isinstance(key, UUID) else type(key)(mark)


class _Compiled:
    """A query with its SQL, and which of its parameters stand for keys."""

    def __init__(self, queryset: Any, marks: Sequence[object]) -> None:
        self.queryset = queryset  # Any: private attributes of a QuerySet
        self.compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        self.sql, self.parameters = self.compiler.as_sql()
        numbers = {form: number for number, mark in enumerate(marks) for form in _forms(mark)}
        self.places = [numbers.get(value) for value in self.parameters]
        fields = [field for field, *_ in self.compiler.select[: self.compiler.col_count]]
        self.converters = self.compiler.get_converters(fields)
        if missing := set(range(len(marks))).difference(self.places):
            raise ValueError(f"Arguments {sorted(missing)} of a compiled query are none of its parameters.")

    def rows(self, keys: Sequence[object]) -> list[Any]:
        queryset: Any = QuerySet(self.queryset.model, self._bound(keys), DEFAULT_DB_ALIAS)
        queryset._fields = self.queryset._fields
        return list(self.queryset._iterable_class(queryset))

    def _bound(self, keys: Sequence[object]) -> Any:
        """Return the query with a compiler that has its SQL already."""
        compiler, query = copy(self.compiler), copy(self.queryset.query)
        values = tuple(
            value if place is None else _like(value, keys[place])
            for value, place in zip(self.parameters, self.places, strict=True)
        )
        compiler.connection = connections[DEFAULT_DB_ALIAS]
        compiler.as_sql = lambda *_, **__: (self.sql, values)
        compiler.get_converters = lambda _: self.converters
        query.get_compiler = lambda *_, **__: compiler
        return query


def _forms(mark: object) -> tuple[object, ...]:
    """Return how a database may get the value: SQLite has UUIDs as text."""
    return (mark, mark.hex) if isinstance(mark, UUID) else (mark,)


def _like(parameter: Any, key: Any) -> object:
    """Return the key in the type of the parameter that stands for it."""
    if isinstance(key, UUID):
        return key if isinstance(parameter, UUID) else key.hex
    return type(parameter)(key)
