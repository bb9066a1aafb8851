"""Rows of an archive become rows of the database: each value is checked, and gets its new keys."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

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
from rubricweb.archives import shapes, tables
from rubricweb.archives.layout import Manifest
from rubricweb.archives.reading import Archive
from rubricweb.archives.tables import replaced_in

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
    archive: Archive, table: tables.Table, keys: Keys, changed: Mapping[str, Any]
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
    inner, is_work = replaced_in(table.label), tables.is_work(model)
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
        if allowed is not None and value not in allowed and not (value == "" and column.blank):
            raise ValueError(f"{column.name} is {value!r}, none of {', '.join(map(str, allowed))}")
        if has_shape:
            shapes.check(label, value)
        if has_ids and any(LINE_END.search(text) for text in (value if isinstance(value, list) else [value])):
            raise ValueError(f"{column.name} has a line end or a tab")
        for validator in validators:
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
