"""Banks of questions and nuggets: which dialect a file is of, how each is read and written, what it loses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample, unwrapped
from grading.formats.banks import (
    autojudge_v1,
    autojudge_v3,
    criteria,
    dragun,
    exam_questions,
    importance,
    nuggetizer,
    ragdoll,
    ragtime26,
    workbench,
)
from grading.formats.banks.records import (
    OURS,
    BankItem,
    BankLine,
    Dialect,
    Json,
    Parts,
    Record,
    RecordPlace,
    brief,
    read_records,
    words_of,
)
from grading.formats.banks.yaml_records import is_yaml
from grading.formats.reading import write_lines
from grading.types import ItemKind

DIALECTS = (
    workbench.DIALECT,
    ragtime26.DIALECT,
    autojudge_v3.AJA,
    autojudge_v3.DIALECT,
    autojudge_v1.DIALECT,
    nuggetizer.ASSIGNMENTS_DIALECT,
    nuggetizer.DEVELOPMENT,
    nuggetizer.DIALECT,
    nuggetizer.V4,
    dragun.DIALECT,
    criteria.RESEARCH_RUBRICS,
    criteria.AUTORUBRIC,
    ragdoll.GRADED,
    ragdoll.DIALECT,
    exam_questions.TQA,
    exam_questions.GENERATED,
    autojudge_v1.RAT,
    autojudge_v1.COLLABORATOR,
)
"""Dialects as they are recognised: each before those whose files look like its own with less."""
OF_ANSWERS = (nuggetizer.ASSIGNMENTS_DIALECT.name, ragdoll.GRADED.name)
"""Dialects whose lines are answers with what an author said of each item."""
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def read_bank(path: Path) -> tuple[Dialect, list[BankLine]]:
    """Return the lines of a bank of any dialect, which its content tells.

    Raises `BadFormat` with file and line, and two lines of one topic where a topic has one line.
    """
    records = read_records(path)
    dialect = _recognised(path, records)
    read = [_line(record, dialect, path) for record in dialect.split(records)]
    if dialect.has_item_per_record:
        _refuse_repeated_items(read, path)
    elif not dialect.repeats_topics:
        _refuse_repeated(read, path)
    return dialect, read


def bank_files(path: Path) -> list[Path]:
    """Return the file, or the files of a folder in which every topic has one, by name."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file())
    if not files:
        raise BadFormat("the folder is empty, expected a bank file a topic", file=path.name, line=1)
    return files


def documents(lines: Iterable[BankLine], dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, line of JSON) of each record; the name is empty where all topics share one file.

    Where a dialect's file is one document, all lines of a file are one.
    """
    records = [
        (dialect.file_name.format(query_id=line.query_id.replace("/", "_").replace("\\", "_")), record)
        for line in lines
        for record in dialect.records(line)
    ]
    join = dialect.join
    if join and not dialect.file_name:
        yield "", msgspec.json.encode(join([record for _, record in records]))
        return
    for name, record in records:
        yield name, msgspec.json.encode(join([record]) if join else record)


def write_bank(path: Path, lines: Sequence[BankLine], dialect: Dialect) -> None:
    """Write a file, or into the folder `path` where the dialect has a file a topic and `path` no suffix."""
    if not dialect.file_name or (len(lines) == 1 and path.suffix):
        write_lines(path, (row for _, row in documents(lines, dialect)))
        return
    path.mkdir(exist_ok=True)
    for name, row in documents(lines, dialect):
        write_lines(path / name, [row])


def _recognised(path: Path, records: list[Record]) -> Dialect:
    dialect = _of_values([record.value for record in records])
    if dialect is not None:
        return dialect
    line = records[0].line if records else 1
    labels = ", ".join(dialect.label for dialect in DIALECTS if dialect.is_read)
    near = nearest([record.value for record in records])
    problem = f"no bank that is known{near and f' ({near})'}, expected one of: {labels}"
    raise BadFormat(problem, file=path.name, line=line)


def nearest(values: Sequence[Json]) -> str:
    """Return which dialect the first record comes closest to, and the keys that it lacks.

    It is empty where the record has no key of any.

    >>> nearest([{"qid": "1", "criterion": []}])
    'the nearest rubric format is nuggetizer create, which needs nuggets'
    """
    present = set(values[0]) if values else set()
    read = [dialect for dialect in DIALECTS if dialect.is_read and present & set(dialect.keys)]
    if not read:
        return ""
    near = max(read, key=lambda dialect: len(present & set(dialect.keys)) / len(dialect.keys))
    lacking = ", ".join(key for key in near.keys if key not in present)
    return f"the nearest rubric format is {near.label}, which needs {lacking or 'other values'}"


def _of_values(values: Sequence[Json]) -> Dialect | None:
    matches = (dialect for dialect in DIALECTS if dialect.is_read and dialect.recognises(values))
    return next(matches, None) if values else None


def nearest_of(sample: Sample) -> str:
    """Return what `nearest` says of the beginning of a file."""
    return nearest([value for value in _values(sample)[:1] if isinstance(value, dict)])


def _values(sample: Sample) -> list[Any]:
    return [
        value
        for document in sample.documents
        for listed in (document if isinstance(document, list) else [document])
        for value in unwrapped(listed)
    ]


def _is_of(dialect: Dialect, sample: Sample) -> bool:
    if not sample.is_json:
        return dialect is criteria.AUTORUBRIC and is_yaml(sample.lines)
    values = _values(sample)
    return all(isinstance(value, dict) for value in values) and _of_values(values) is dialect


def _write_lines(dialect: Dialect, path: Path, lines: Iterable[BankLine]) -> None:
    write_bank(path, list(lines), dialect)


FORMATS = tuple(
    Format(
        f"{dialect.name}-bank",
        dialect.label,
        Content.BANK,
        partial(_is_of, dialect),
        lambda path: read_bank(path)[1],
        partial(_write_lines, dialect),
        is_lossless=True,
        source=dialect.source,
    )
    for dialect in DIALECTS
    if dialect.is_read
)


def _line(record: Record, dialect: Dialect, path: Path) -> BankLine:
    try:
        return dialect.read(record.value, RecordPlace(record.line, path.name))
    except BadFormat as error:
        raise BadFormat(error.problem, file=path.name, line=record.line) from error


def _refuse_repeated_items(read: Iterable[BankLine], path: Path) -> None:
    """Refuse two items of equal text: they would be one item, whatever else they say."""
    first: dict[tuple[str, str, str], int] = {}
    for line in read:
        for item in line.items:
            earlier = first.setdefault((line.query_id, item.kind, item.text.strip()), line.line)
            if earlier != line.line:
                raise BadFormat(
                    f"the text {brief(item.text)} was on line {earlier}, expected each text of a topic once",
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


EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing of an item, or of a topic where `text` is empty, that the written file will not say."""

    query_id: str
    text: str
    what: str

    def __str__(self) -> str:
        item = f", {brief(self.text)}" if self.text else ""
        return f"topic {self.query_id}{item}: {self.what}"


def without_twins(lines: Iterable[BankLine]) -> tuple[list[BankLine], list[Loss]]:
    """Leave out all but the first of the items that have one text, as those of two subtopics may."""
    kept, lost = [], []
    for line in lines:
        first: dict[tuple[str, str], BankItem] = {}
        for item in line.items:
            if first.setdefault((item.kind, item.text.strip()), item) is not item:
                subtopic = item.facet_id or "none"
                why = f"the whole {item.kind} of subtopic {subtopic} is left out, another has its text"
                lost.append(Loss(line.query_id, item.text, why))
        kept.append(replace(line, items=list(first.values())))
    return kept, lost


def refusals(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """Return why no file of this dialect can be made: one entry an item."""
    return _said_of_items(lines, dialect.refuses)


def losses(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """Return what is lost, item by item. Call it only where there are no `refusals`."""
    return list(dict.fromkeys(loss for line in lines for loss in _of_line(line, dialect)))


def warnings(lines: Iterable[BankLine], dialect: Dialect) -> list[Loss]:
    """Return what known readers of the dialect will make of items that it can say."""
    return _said_of_items(lines, dialect.warns)


def _said_of_items(lines: Iterable[BankLine], why_of: Callable[[BankItem], str]) -> list[Loss]:
    return [
        Loss(line.query_id, item.text, why) for line in lines for item in line.items if (why := why_of(item))
    ]


def _of_line(line: BankLine, dialect: Dialect) -> Iterator[Loss]:
    source = RecordPlace(line.line, dialect.file_name.format(query_id=line.query_id))
    try:
        again = [dialect.read(record, source) for record in dialect.records(line)]
    except BadFormat as error:
        yield Loss(line.query_id, "", f"cannot be read again: {error.problem}")
        return
    read_again = [item for written in again for item in written.items]
    again_by_text = {(item.kind, item.text.strip()): item for item in read_again}
    again_by_place = {(item.kind, item.text.strip(), item.facet_id): item for item in read_again}
    for key in _lost_parts(line.parts, again[0].parts if again else {}):
        yield Loss(line.query_id, "", key)
    for item in line.items:
        text = item.text.strip()
        written = again_by_place.get((item.kind, text, item.facet_id)) or again_by_text.get((item.kind, text))
        if written is None:
            yield Loss(line.query_id, item.text, f"the whole {item.kind} is left out")
            continue
        for what in _of_item(item, written):
            yield Loss(line.query_id, item.text, what)


def _of_item(item: BankItem, written: BankItem) -> Iterator[str]:
    now, then = (importance.weighed(each.importance, each.weight) for each in (item, written))
    if now.importance is not then.importance:
        yield f"importance {now.importance}"
    elif now.weight != then.weight:
        yield f"weight {now.weight:g}"
    if item.facet_id != written.facet_id:
        yield f"subtopic {item.facet_id or 'none'}"
    if item.is_secret and not written.is_secret:
        yield "that it is secret"
    present = {words_of(answer) for answer in written.gold_answers}
    if item.kind is ItemKind.QUESTION:
        for answer in item.gold_answers:
            if words_of(answer) not in present:
                yield f"answer {brief(answer)}"
    # Answers that were removed since the import, or are lost as a whole, lose no parts.
    kept = {words_of(answer) for answer in item.gold_answers} & present
    answers = [entry for entry in item.parts.get("answers") or [] if words_of(entry["answer"]) in kept]
    yield from _lost_parts({**item.parts, "answers": answers}, written.parts)


def _lost_parts(before: Parts, after: Parts) -> Iterator[str]:
    for key, value in before.items():
        if key == "answers":
            yield from _lost_references(value, after.get(key))
        elif key == "metadata" and isinstance(value, dict):
            yield from _lost_metadata(value, after.get(key))
        elif value not in EMPTY and after.get(key) != value:
            many = f" ({len(value)})" if isinstance(value, list) else ""
            yield f"{key}{many}" if many or isinstance(value, dict) else f"{key} {brief(value)}"


def _lost_references(before: Any, after: Any) -> Iterator[str]:
    written = {entry["answer"]: entry for entry in after or []}
    for entry in before or []:
        kept = {"answer": entry["answer"], **written.get(entry["answer"], {})}
        lost = sorted(key for key, value in entry.items() if value not in EMPTY and kept.get(key) != value)
        if lost:
            yield f"{', '.join(lost)} of answer {brief(entry['answer'])}"


def _lost_metadata(before: Mapping[str, Any], after: Any) -> Iterator[str]:
    kept = after if isinstance(after, dict) else {}
    for key, value in before.items():
        if key != OURS or not isinstance(value, dict):
            if kept.get(key) != value:
                yield f"metadata.{key}"
            continue
        held = kept.get(OURS) if isinstance(kept.get(OURS), dict) else {}
        for dialect, parts in value.items():
            if (held or {}).get(dialect) != parts:
                names = ", ".join(sorted(parts)) if isinstance(parts, dict) else brief(parts)
                yield (
                    f"{names} (of {dialect})" if isinstance(parts, dict) else f"metadata.rubricweb.{dialect}"
                )
