"""Cold storage: the grades of a collection as Parquet files instead of rows of the database.

The files have every column of a grade, so that the same rows come back, and the names by which people know
it, so that DuckDB and whatever else reads Parquet can query them. They are sorted by grader and topic. While
a collection is cold, its ratings come from the snapshots of its matrices, or where one is outdated from the
files. The extra `cold` has DuckDB, which writes and reads them.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from django.conf import settings
from django.db import models
from numpy.typing import NDArray

from grading.types import ANSWERED, FAILED, Outcome
from rubricweb.core import database
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.grades.store import insert_back

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FIELDS = {field.attname: field for field in Grade._meta.concrete_fields}
NAMES = {"query_id": "topic__query_id", "item": "revision__uid", "doc_id": "passage__doc_id"}
"""Further columns of the files, each with where it comes from."""
ROWS_A_FILE = 200_000
"""Approximate number of grades of a file."""
ROWS_AT_ONCE = 10_000
FILES = "*.parquet"
NO_DUCKDB = 'Cold storage needs DuckDB: pip install "rubricweb[cold]"'

Grades = NDArray[np.int64]


class CannotMove(Exception):
    """Raised where grades cannot go to cold storage or come back: the text says why, nothing is changed."""


class DamagedFile(CannotMove):
    """Raised for a file that DuckDB cannot read: the text names it, and says what was expected."""


def folder_of(collection_id: int) -> Path:
    return Path(settings.DATA_DIR) / "cold" / str(collection_id)


def remove(collection_id: int) -> None:
    """Delete the files of a collection, where there are any."""
    shutil.rmtree(folder_of(collection_id), ignore_errors=True)


@contextmanager
def new_folder(collection_id: int) -> Iterator[Path]:
    """Make a folder beside the collection's own, so that no two moves write to one; it goes afterwards."""
    parent = folder_of(collection_id).parent
    parent.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=parent, prefix=f".{collection_id}-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def keep(folder: Path, collection_id: int) -> None:
    """Make the files of a new folder those of the collection."""
    remove(collection_id)
    shutil.copytree(folder, folder_of(collection_id))


def write(collection: Collection, folder: Path) -> int:
    """Write the grades of a collection to files; return how many."""
    written = 0
    with _duckdb() as duck:
        for place, (config_id, topic_ids) in enumerate(_parts(collection)):
            grades = Grade.objects.filter(config=config_id, topic__in=topic_ids)
            ordered = grades.order_by("topic", "revision", "passage")
            rows = list(ordered.values_list(*FIELDS, *NAMES.values()).iterator(chunk_size=ROWS_AT_ONCE))
            if not rows:
                continue
            columns = zip((*FIELDS, *NAMES), zip(*rows, strict=True), strict=True)
            duck.register("part", {name: _array(name, values) for name, values in columns})
            file = folder / f"{place:06}.parquet"
            duck.execute(f"COPY part TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
            duck.unregister("part")
            written += len(rows)
    return written


def outcomes(config_id: int, topics: Sequence[int]) -> Grades:
    """Return (topic, revision, passage, outcome) of these topics' grades in files, shape (grades, 4).

    The outcome is the rating, ANSWERED for an extracted answer, else FAILED.
    """
    cold = Topic.objects.filter(pk__in=topics, collection__cold_at__isnull=False)
    by_collection = groupby(cold.order_by("collection").values_list("collection", "pk"), key=itemgetter(0))
    parts = [np.zeros((0, 4), dtype=np.int64)]
    for collection_id, pairs in by_collection:
        files = _folder(collection_id) / FILES
        with _reading(files) as duck:
            columns = duck.execute(
                "SELECT topic_id, revision_id, passage_id, CASE WHEN outcome = ? THEN ? "
                "ELSE coalesce(rating, ?) END AS outcome FROM read_parquet(?) "
                "WHERE config_id = ? AND list_contains(?, topic_id)",
                [
                    str(Outcome.EXTRACTED),
                    ANSWERED,
                    FAILED,
                    str(files),
                    config_id,
                    [topic for _, topic in pairs],
                ],
            ).fetchnumpy()
        parts.append(np.array(list(columns.values()), dtype=np.int64).T)
    return np.concatenate(parts)


def graded_wordings(collection_id: int) -> list[tuple[int, int]]:
    """Return (config, wording) of all that has a grade in files."""
    files = _folder(collection_id) / FILES
    with _reading(files) as duck:
        query = "SELECT DISTINCT config_id, revision_id FROM read_parquet(?)"
        return duck.execute(query, [str(files)]).fetchall()


def bring_back(collection: Collection) -> int:
    """Insert the grades of the files as rows, with their keys; return how many."""
    columns = ", ".join(f'"{name}"' for name in FIELDS)
    place = list(FIELDS).index("at")
    inserted = 0
    for file in sorted(_folder(collection.pk).glob(FILES)):
        with _reading(file) as duck:
            duck.execute(f"SELECT {columns} FROM read_parquet(?)", [str(file)])  # noqa: S608
            while some := duck.fetchmany(ROWS_AT_ONCE):
                rows = [(*row[:place], row[place].replace(tzinfo=UTC), *row[place + 1 :]) for row in some]
                inserted += insert_back(tuple(FIELDS), rows)
    return inserted


def _parts(collection: Collection) -> Iterator[tuple[int, list[int]]]:
    """Yield (config, topics) of about ROWS_A_FILE grades each."""
    stamps = MatrixStamp.objects.filter(topic__collection=collection, grades__gt=0)
    rows = list(stamps.order_by("config", "topic").values_list("config_id", "topic_id", "grades"))
    for config_id, of_config in groupby(rows, key=itemgetter(0)):
        stamped = list(of_config)
        topics = (topic_id for _, topic_id, _ in stamped)
        for portion in database.in_portions(topics, (grades for *_, grades in stamped), ROWS_A_FILE):
            yield config_id, portion


def _array(name: str, values: Sequence[Any]) -> NDArray[Any]:  # Any: values of each kind of column
    field = FIELDS.get(name)
    if isinstance(field, models.DateTimeField):
        utc = [value.astimezone(UTC).replace(tzinfo=None) for value in values]
        return np.array(utc, dtype="datetime64[us]")
    if isinstance(field, models.FloatField):
        return np.array(values, dtype=np.float64)
    if field is None or isinstance(field, models.CharField | models.TextField):
        return np.array(values, dtype=object)
    numbers = np.array([0 if value is None else value for value in values], dtype=np.int64)
    return np.ma.masked_array(numbers, mask=[value is None for value in values])


def _folder(collection_id: int) -> Path:
    folder = folder_of(collection_id)
    if not folder.is_dir():
        raise CannotMove(f"The files of the grades are not on this machine: {folder}")
    return folder


@contextmanager
def _duckdb() -> Iterator[DuckDBPyConnection]:
    if importlib.util.find_spec("duckdb") is None:
        raise CannotMove(NO_DUCKDB)
    import duckdb

    with duckdb.connect() as duck:
        yield duck


@contextmanager
def _reading(files: Path) -> Iterator[DuckDBPyConnection]:
    with _duckdb() as duck:
        import duckdb

        try:
            yield duck
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise DamagedFile(
                f"{files}: expected grades as Parquet that cold storage wrote, got: {reason}"
            ) from error
