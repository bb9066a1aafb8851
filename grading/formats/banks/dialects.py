"""The dialects of banks: which one a file is of, and how to read and write each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats.banks import (
    aja,
    autojudge_v1,
    autojudge_v3,
    nuggetizer,
    rag_development,
    ragtime26,
    rat,
    research_rubrics,
    workbench,
)
from grading.formats.banks.fields import shown
from grading.formats.banks.records import Record, read_records
from grading.formats.banks.types import BankLine, Dialect, Json, Source
from grading.formats.base import Content, Format, Sample
from grading.formats.envelopes import unwrapped
from grading.formats.reading import write_lines

DIALECTS = (
    workbench.DIALECT,
    ragtime26.DIALECT,
    aja.DIALECT,
    autojudge_v3.DIALECT,
    autojudge_v1.DIALECT,
    nuggetizer.ASSIGNMENTS_DIALECT,
    rag_development.DIALECT,
    nuggetizer.DIALECT,
    nuggetizer.V4,
    research_rubrics.DIALECT,
    rat.RAT,
    rat.COLLABORATOR,
)
"""In the order in which they are recognised: each before those whose files look like its own with less."""
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def recognise_bank(path: Path) -> Dialect:
    """The dialect of a file, by its content. Raises `BadFormat` for a file that is no bank."""
    return _recognised(path, read_records(path))


def read_bank(path: Path) -> tuple[Dialect, list[BankLine]]:
    """The lines of a bank of any dialect, which its content tells.

    Raises `BadFormat` with file and line, and two lines of one topic where a topic has one line.
    """
    found = read_records(path)
    dialect = _recognised(path, found)
    read = [_line(record, dialect, path) for record in found]
    if dialect.has_item_per_record:
        _refuse_repeated_items(read, path)
    elif not dialect.repeats_topics:
        _refuse_repeated(read, path)
    return dialect, read


def bank_files(path: Path) -> list[Path]:
    """The file, or the files of a folder in which every topic has one, by name."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file())
    if not files:
        raise BadFormat("the folder is empty, expected a bank file a topic", file=path.name, line=1)
    return files


def documents(lines: Iterable[BankLine], dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """(file name, line of JSON) of each record; the name is empty where all topics share one file."""
    for line in lines:
        query_id = line.query_id.replace("/", "_").replace("\\", "_")
        for record in dialect.records(line):
            yield dialect.file_name.format(query_id=query_id), msgspec.json.encode(record)


def write_bank(path: Path, lines: Sequence[BankLine], dialect: Dialect) -> None:
    """Write a file, or into the folder `path` where the dialect has a file a topic and `path` no suffix."""
    if not dialect.file_name or (len(lines) == 1 and path.suffix):
        write_lines(path, (row for _, row in documents(lines, dialect)))
        return
    path.mkdir(exist_ok=True)
    for name, row in documents(lines, dialect):
        write_lines(path / name, [row])


def _recognised(path: Path, found: list[Record]) -> Dialect:
    dialect = _of_values([record.value for record in found])
    if dialect is not None:
        return dialect
    line = found[0].line if found else 1
    known = ", ".join(dialect.label for dialect in DIALECTS if dialect.is_read)
    raise BadFormat(f"no bank that is known, expected one of: {known}", file=path.name, line=line)


def _of_values(values: Sequence[Json]) -> Dialect | None:
    found = (dialect for dialect in DIALECTS if dialect.is_read and dialect.recognises(values))
    return next(found, None) if values else None


def _is_of(dialect: Dialect, sample: Sample) -> bool:
    values = [
        value
        for document in sample.documents
        for listed in (document if isinstance(document, list) else [document])
        for value in unwrapped(listed)
    ]
    return all(isinstance(value, dict) for value in values) and _of_values(values) is dialect


def _read_lines(path: Path) -> list[BankLine]:
    return read_bank(path)[1]


def _write_lines(dialect: Dialect, path: Path, lines: Iterable[BankLine]) -> None:
    write_bank(path, list(lines), dialect)


FORMATS = tuple(
    Format(
        f"{dialect.name}-bank",
        dialect.label,
        Content.BANK,
        partial(_is_of, dialect),
        _read_lines,
        partial(_write_lines, dialect),
        is_lossless=True,
        source=dialect.source,
    )
    for dialect in DIALECTS
    if dialect.is_read
)


def _line(record: Record, dialect: Dialect, path: Path) -> BankLine:
    try:
        return dialect.read(record.value, Source(record.line, path.name))
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=record.line) from error


def _refuse_repeated_items(read: Iterable[BankLine], path: Path) -> None:
    """Two items of equal text would be one item, whatever else they say."""
    first: dict[tuple[str, str, str], int] = {}
    for line in read:
        for item in line.items:
            earlier = first.setdefault((line.query_id, item.kind, item.text.strip()), line.line)
            if earlier != line.line:
                raise BadFormat(
                    f"the text {shown(item.text)} was on line {earlier}, expected each text of a topic once",
                    file=path.name,
                    line=line.line,
                )


def _refuse_repeated(read: Iterable[BankLine], path: Path) -> None:
    first: dict[str, int] = {}
    for line in read:
        if line.query_id in first:
            raise BadFormat(
                f"topic {line.query_id} has a second bank (the first is on line {first[line.query_id]}), "
                "expected one a topic",
                file=path.name,
                line=line.line,
            )
        first[line.query_id] = line.line
