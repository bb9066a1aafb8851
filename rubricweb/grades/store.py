"""The only writer of grades: in bulk, never twice, moving the stamps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F
from django.utils import timezone

from grading.graders.panel import PANEL, members_of
from grading.types import Outcome
from rubricweb.accounts.cold_storage import InColdStorage
from rubricweb.core import database
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection
from rubricweb.grades import replies
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig, GradingJob, MatrixStamp, Pair


class GradeRow(NamedTuple):
    """The columns that differ from grade to grade."""

    topic_id: int
    revision_id: int
    passage_id: int
    rating: int | None
    outcome: str
    answer: str = ""
    reply: str = ""
    error_class: str = ""
    confidence: float | None = None
    expectation: float | None = None
    context_chars: int | None = None
    call_items: int | None = None
    call_place: int | None = None
    reply_block_id: int | None = None
    """Left empty: `save_grades` and the others put long replies into blocks."""


NewGrade = tuple[int, int, int | None, str, str, str]
"""Columns that differ from grade to grade of one grader, topic and file; named in NEW."""
FAILED = Outcome.FAILED.value
NEW = ("revision_id", "passage_id", "rating", "outcome", "answer", "reply")
COLUMNS = ("config_id", "job_id", "attempts", "at", *GradeRow._fields)
CELL = ("config_id", "revision_id", "passage_id")
REPLACED = (*GradeRow._fields[3:], "job_id", "at")
NEW_ROWS = "new_grades"
"""Temporary table from which PostgreSQL inserts grades whose cells may have one."""
TOGETHER = 16
"""Least number of long replies that go into a block. Fewer stay in their rows until `replies.pack_some` finds
more: slow graders save each grade by itself, and a reply alone in its block takes more room than in its
row.
"""
DELETED_AT_ONCE = 500
VALUES_AT_ONCE = 900
"""Values of one statement; SQLite may be built to take no more than 999."""
_values = attrgetter(*GradeRow._fields)
_topic = attrgetter("topic_id")


@transaction.atomic
def save_grades(
    config: GraderConfig, grades: Iterable[GradeRow | Grade], *, job: GradingJob | None = None
) -> int:
    """Insert grades of one config; a cell that already has one keeps it. Return how many were new."""
    new = 0
    for topic_id, rows in _by_topic(grades):
        _move_stamp(config, topic_id, expected=len(rows))
        stored = _with_blocks(config, topic_id, rows, at_least=TOGETHER)
        inserted = _insert(config, stored, job, on_conflict="DO NOTHING")
        if inserted != len(rows):
            _correct_stamp(config, topic_id, inserted - len(rows))
        _outdate_panels(config, topic_id, ((row.revision_id, row.passage_id) for row in rows))
        new += inserted
    return new


@transaction.atomic
def save_new_grades(config: GraderConfig, topic_id: int, grades: Sequence[NewGrade]) -> int:
    """Save many grades of one topic like `save_grades`, but faster, for imports."""
    _move_stamp(config, topic_id, expected=len(grades))
    same = {"config_id": config.pk, "topic_id": topic_id, "attempts": 1, "error_class": "", "at": _now()}
    insert = _copy_new if database.is_possible() else _insert_values
    long = {row[:2]: row[5] for row in grades if len(row[5]) > replies.LONGEST_IN_ROW and row[3] != FAILED}
    if len(long) < TOGETHER:
        written = insert(grades, NEW, same, "DO NOTHING")
    else:
        block_of = replies.store(config.pk, topic_id, long)
        rows = [(*row[:5], "" if row[:2] in long else row[5], block_of.get(row[:2])) for row in grades]
        written = insert(rows, (*NEW, "reply_block_id"), same, "DO NOTHING")
    _correct_stamp(config, topic_id, written - len(grades))
    _outdate_panels(config, topic_id, (row[:2] for row in grades))
    return written


def insert_back(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert grades that were rows before, with their keys; stamps have counted them all the while."""
    if database.is_possible():
        return database.copy_rows(Grade._meta.db_table, columns, rows)
    return _insert_values(rows, columns, {}, "DO NOTHING")


@transaction.atomic
def replace_failed(config: GraderConfig, grades: Iterable[GradeRow], *, job: GradingJob | None = None) -> int:
    """Replace failed grades by new ones; a cell that has a rating or answer keeps it. Return how many."""
    return _replace(config, grades, job, where=_failed_condition())


@transaction.atomic
def replace_grades(config: GraderConfig, grades: Iterable[GradeRow], *, job: GradingJob) -> int:
    """Replace any grades, except that a failure never replaces a rating or answer."""
    return _replace(config, grades, job, where=f"({_failed_condition()} OR excluded.outcome <> '{FAILED}')")


def _replace(config: GraderConfig, grades: Iterable[GradeRow], job: GradingJob | None, *, where: str) -> int:
    written = 0
    for topic_id, rows in _by_topic(grades):
        _move_stamp(config, topic_id, expected=0)
        before = _counted(config, topic_id)
        stored = _with_blocks(config, topic_id, rows, at_least=1)
        written += _insert(config, stored, job, on_conflict=_replacing(where))
        _correct_stamp(config, topic_id, _counted(config, topic_id) - before)
        _outdate_panels(config, topic_id, ((row.revision_id, row.passage_id) for row in rows))
    return written


@transaction.atomic
def remove_grades(config: GraderConfig, topic_id: int, grades: GradeQuerySet) -> int:
    """Delete grades of one topic that no longer hold: their cells are missing again."""
    _move_stamp(config, topic_id, expected=0)
    going = grades.filter(config=config, topic=topic_id)
    of_them = _blocks_of(going)
    _outdate_panels(config, topic_id, going.values_list("revision_id", "passage_id"))
    removed = going.delete()[0]
    replies.remove_unused(config.pk, topic_id, of_them)
    _correct_stamp(config, topic_id, -removed)
    return removed


@transaction.atomic
def remove_between(first: int, last: int, *, topics: Iterable[int]) -> None:
    """Delete the grades of these topics with keys from `first` to `last`, such as an import's."""
    rows = Grade.objects.for_topics(topics).filter(pk__gte=first, pk__lte=last).order_by()
    numbers = rows.values_list("config", "topic").annotate(number=Count("pk")).order_by("topic", "config")
    counted = list(numbers)
    configs = GraderConfig.objects.in_bulk({config for config, _, _ in counted})
    for config, topic_id, number in counted:
        _move_stamp(configs[config], topic_id, expected=-number)
    of_them = {
        (config, topic): _blocks_of(rows.filter(config=config, topic=topic)) for config, topic, _ in counted
    }
    for config, topic_id, _ in counted:
        going = rows.filter(config=config, topic=topic_id)
        _outdate_panels(configs[config], topic_id, going.values_list("revision_id", "passage_id"))
    rows._raw_delete(connection.alias)
    for (config_id, topic_id), some in of_them.items():
        replies.remove_unused(config_id, topic_id, some)


def recount(config: GraderConfig, topic_id: int) -> None:
    """Move the stamp after a change of existing grades, so that matrices are read again."""
    _move_stamp(config, topic_id, expected=0)


def _outdate_panels(config: GraderConfig, topic_id: int, cells: Iterable[Pair]) -> None:
    """Delete the grades of panels of which `config` is a member, on cells where its grade changes.

    `cells` is read only where there is such a panel.
    """
    if config.backend == PANEL:
        return
    graded = MatrixStamp.objects.filter(config__backend=PANEL, topic=topic_id, grades__gt=0)
    panels = [stamp.config for stamp in graded.select_related("config").order_by("config_id")]
    panels = [panel for panel in panels if config.fingerprint in members_of(panel.options)]
    changed = set(cells) if panels else set()
    for panel in panels:
        rows = Grade.objects.by(panel).for_topics([topic_id])
        made = rows.values_list("pk", "revision_id", "passage_id")
        stale = [pk for pk, revision, passage in made.iterator(10_000) if (revision, passage) in changed]
        for start in range(0, len(stale), DELETED_AT_ONCE):
            batch = stale[start : start + DELETED_AT_ONCE]
            remove_grades(panel, topic_id, Grade.objects.filter(pk__in=batch))


def _blocks_of(grades: GradeQuerySet) -> set[int]:
    return set(grades.exclude(reply_block=None).order_by().values_list("reply_block", flat=True).distinct())


def _with_blocks(
    config: GraderConfig, topic_id: int, rows: list[GradeRow | Grade], *, at_least: int
) -> list[GradeRow | Grade]:
    """Put the long replies of these rows into blocks, if they are so many."""
    long: replies.Texts = {}
    for row in rows:
        if replies.is_long(row.outcome, row.reply):
            long.setdefault((row.revision_id, row.passage_id), row.reply)
    if len(long) < at_least:
        return rows
    block_of = replies.store(config.pk, topic_id, long)
    return [_in_block(row, block_of.get((row.revision_id, row.passage_id))) for row in rows]


def _in_block(row: GradeRow | Grade, block_id: int | None) -> GradeRow | Grade:
    if block_id is None or not replies.is_long(row.outcome, row.reply):
        return row
    return GradeRow._make(_values(row))._replace(reply="", reply_block_id=block_id)


def _by_topic(grades: Iterable[GradeRow | Grade]) -> list[tuple[int, list[GradeRow | Grade]]]:
    """Group the rows in the order of topics, so that concurrent writers lock them in the same order."""
    rows = sorted(grades, key=_topic)
    return [(topic_id, list(of_topic)) for topic_id, of_topic in groupby(rows, key=_topic)]


def _move_stamp(config: GraderConfig, topic_id: int, *, expected: int) -> None:
    """Move the stamp first: it locks the row, so that writers to a topic take turns.

    Raise InColdStorage where the grades of the topic are not in the database.
    """
    stamp = MatrixStamp.objects.filter(config=config, topic=topic_id)
    moved = {"number": new_stamp(), "grades": F("grades") + expected}
    if not stamp.update(**moved):
        absent = MatrixStamp(config=config, topic_id=topic_id, grades=0)
        MatrixStamp.objects.bulk_create([absent], ignore_conflicts=True)
        stamp.update(**moved)
    for collection in Collection.objects.filter(topics=topic_id, cold_at__isnull=False):
        raise InColdStorage(collection)


def _correct_stamp(config: GraderConfig, topic_id: int, difference: int) -> None:
    if difference:
        stamp = MatrixStamp.objects.filter(config=config, topic=topic_id)
        stamp.update(grades=F("grades") + difference)


def _counted(config: GraderConfig | int, topic_id: int) -> int:
    return Grade.objects.filter(config=config, topic=topic_id).count()


def _insert(
    config: GraderConfig, grades: list[GradeRow | Grade], job: GradingJob | None, *, on_conflict: str
) -> int:
    """Insert rows, and return how many were written. Creating model instances would take most of the time.

    PostgreSQL gets them as one JSON text: psycopg is slow with a placeholder, or an array element, per value.
    """
    same = {"config_id": config.pk, "job_id": job.pk if job else None, "attempts": 1, "at": _now()}
    if connection.vendor != "postgresql":
        return _insert_values([_values(grade) for grade in grades], GradeRow._fields, same, on_conflict)
    rows = json.dumps([dict(zip(GradeRow._fields, _values(grade), strict=True)) for grade in grades])
    with connection.cursor() as cursor:
        cursor.execute(_statement(_from_json(), on_conflict), (*same.values(), rows))
        written: int = cursor.rowcount
    return written


def _insert_values(
    rows: Sequence[tuple[Any, ...]],  # Any: what the database takes, here and below
    columns: Sequence[str],
    same: dict[str, Any],
    on_conflict: str,
) -> int:
    """Insert rows of `columns`, and what is the same in all of them; return how many were written.

    Each statement inserts many: one by one takes SQLite nearly twice the time.
    """
    together = VALUES_AT_ONCE // len(columns)
    batches = (rows[start : start + together] for start in range(0, len(rows), together))
    written = 0
    with connection.cursor() as cursor:
        for size, alike in groupby(batches, key=len):
            placeholders = f"({', '.join(['%s'] * len(columns))})"
            selected = ", ".join([*["%s"] * len(same), "*"])
            listed = f"SELECT {selected} FROM (VALUES {', '.join([placeholders] * size)})"  # noqa: S608
            # SQLite takes ON for that of a join where there is no WHERE.
            statement = _statement(f"{listed} WHERE true", on_conflict, columns=(*same, *columns))
            cursor.executemany(statement, [[*same.values(), *chain.from_iterable(batch)] for batch in alike])
            written += cursor.rowcount
    return written


def _copy_new(
    rows: Sequence[tuple[Any, ...]], columns: Sequence[str], same: dict[str, Any], on_conflict: str
) -> int:
    """Insert rows like `_insert_values`, by COPY where possible.

    COPY knows no conflicts: where the config has graded the topic before, or a row comes twice, the rows go
    through a table of their own.
    """
    names, alike = (*same, *columns), tuple(same.values())
    full = [alike + row for row in rows]
    cells = {row[:2] for row in rows}
    if len(cells) == len(rows) and _counted(same["config_id"], same["topic_id"]) == 0:
        return database.copy_rows(Grade._meta.db_table, names, full)
    table, new = map(connection.ops.quote_name, (Grade._meta.db_table, NEW_ROWS))
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TEMPORARY TABLE {new} ON COMMIT DROP AS SELECT * FROM {table} WITH NO DATA"  # noqa: S608
        )
        database.copy_rows(NEW_ROWS, names, full)
        listed = f"SELECT {', '.join(map(connection.ops.quote_name, names))} FROM {new}"  # noqa: S608
        cursor.execute(_statement(listed, on_conflict, columns=names))
        written: int = cursor.rowcount
        cursor.execute(f"DROP TABLE {new}")
    return written


def _now() -> Any:  # a text or a datetime: what the database takes
    return connection.ops.adapt_datetimefield_value(timezone.now())


def _statement(rows: str, on_conflict: str, *, columns: Iterable[str] = COLUMNS) -> str:
    """Return the INSERT, made of our own names and numbers only.

    SQLite and PostgreSQL both support this ON CONFLICT.
    """
    quote = connection.ops.quote_name
    names, cell = (", ".join(map(quote, some)) for some in (columns, CELL))
    table = quote(Grade._meta.db_table)
    return f"INSERT INTO {table} ({names}) {rows} ON CONFLICT ({cell}) {on_conflict}"


@cache
def _from_json() -> str:
    types = {field.attname: field.db_type(connection) for field in Grade._meta.concrete_fields}
    same = ", ".join(f"%s::{types[name]}" for name in COLUMNS[: -len(GradeRow._fields)])
    columns = ", ".join(f"{name} {types[name]}" for name in GradeRow._fields)
    return f"SELECT {same}, row.* FROM json_to_recordset(%s::json) AS row({columns})"  # noqa: S608


def _failed_condition() -> str:
    quote = connection.ops.quote_name
    return f"{quote(Grade._meta.db_table)}.{quote('outcome')} = '{FAILED}'"


def _replacing(where: str) -> str:
    """Return the ON CONFLICT clause that replaces grades.

    A grade that this job wrote stays: a batch may be saved twice.
    """
    quote = connection.ops.quote_name
    table = quote(Grade._meta.db_table)
    new = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in REPLACED)
    attempts = f"{quote('attempts')} = {table}.{quote('attempts')} + 1"
    job = quote("job_id")
    is_new = f"(excluded.{job} IS NULL OR COALESCE({table}.{job}, 0) <> excluded.{job})"
    return f"DO UPDATE SET {new}, {attempts} WHERE {is_new} AND {where}"
