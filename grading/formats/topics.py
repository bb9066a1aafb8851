"""Topics: TSV, the Workbench's dictionary, and the JSON of AutoJudge, RAGTIME, RAG'25 and BioGen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample, sample_of, tsv_formats, unclear
from grading.formats.json_lines import decode
from grading.formats.reading import TextFile, read_text_file, write_lines
from grading.formats.topic_dialects import (
    DIALECTS,
    TopicDialect,
    TopicEntry,
    dialect_of,
    entry_of,
    object_of,
    topic_losses,
)

_SHAPE = (
    'one JSON dictionary {"query id": "query text"}, lines of query id<TAB>query text, '
    "or JSON objects with request_id, topic_id or id, and a title"
)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_Rows = list[TopicEntry]


def read_topics(path: Path) -> list[TopicEntry]:
    """Read the topics in the file's order; the format is known by the content.

    Raises `BadFormat` for an id that occurs twice, an empty id or text, lines of TSV that are not two
    columns, and JSON fields of another type than the format's.
    """
    return list(topics_format(path).read(path))


def topics_format(path: Path) -> Format:
    """Return the format of a file of topics: where none is recognised, that whose reader says what is wrong.

    Raises `Unclear` where several fit, and `BadFormat` where none can.
    """
    sample = sample_of(path, (text for _, text in read_text_file(path, shape=_SHAPE).lines))
    fitting = [each for each in FORMATS if each.recognises(sample)]
    if len(fitting) > 1:
        raise unclear(path, fitting)
    is_json = sample.lines[0].lstrip().startswith(("{", "["))
    if not fitting and not is_json and sample.is_tsv_pair():
        columns = ", ".join(sample.cells()[0])
        raise BadFormat(f"a header of passages ({columns}), expected {_SHAPE}", file=path.name, line=1)
    if not fitting and is_json and "title" in next(iter(_topic_objects(sample)), {}):
        keys = ", ".join(_topic_objects(sample)[0])
        raise BadFormat(f"a topic with {keys}; expected {_SHAPE}", file=path.name, line=1)
    return fitting[0] if fitting else WORKBENCH_QUERIES if is_json else TSV


def write_topics(path: Path, topics: Iterable[TopicEntry], dialect: str) -> None:
    """Write topics as the format of that name.

    A topic starts from what its file said where that was of the same format. Raises `BadFormat` for an id or
    text that the format cannot hold.
    """
    write = next(each.write for each in FORMATS if each.name == dialect)
    if write is not None:
        write(path, list(topics))


def losses(topics: Iterable[TopicEntry], dialect: str) -> list[str]:
    """Name what a file of that format cannot say of the topics, one entry a topic and field."""
    target = next((each for each in DIALECTS if each.name == dialect), None)
    return [lost for topic in topics for lost in topic_losses(topic, target)]


def format_name_of(topic: TopicEntry) -> str:
    """Return the format that the topic came in; TSV where only its id and text are known."""
    dialect = dialect_of(topic.foreign or {})
    return dialect.name if dialect else TOPICS_TSV


def _read_dialect(path: Path, *, dialect: TopicDialect) -> _Rows:
    file = read_text_file(path, shape=_SHAPE)
    rows = []
    for line, raw in _objects(file, dialect):
        try:
            rows.append(entry_of(raw, dialect, line))
        except BadFormat as error:
            raise file.error(error.problem, line) from error
    return _once(file, rows)


def _objects(file: TextFile, dialect: TopicDialect) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of JSON lines, or of one document that has a list of objects."""
    number, first = next((number, text) for number, text in file.lines if text.strip())
    listed = _list_in(_value(first)) if number == len(file.lines) else None
    if listed is None and _value(first) is not None:
        for number, text in file.lines:
            try:
                yield number, decode(text, _OBJECT, shape=_SHAPE)
            except BadFormat as error:
                raise file.error(error.problem, number) from error
        return
    listed = _list_in(file.value()) or []
    if not all(isinstance(each, dict) for each in listed):
        raise file.error(f"a list with an element that is no object, expected {_SHAPE}", number)
    id_key = dialect.keys["query_id"]
    for _, raw, line in file.placed([(id_key, each) for each in listed]):
        yield line, cast("dict[str, Any]", raw)


def _value(text: str) -> object:
    """Return the JSON value of a line, or None where it has none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _list_in(value: object) -> list[object] | None:
    """Return the topics of `[{...}, ...]` or `{"topics": [{...}, ...]}`."""
    inner = value.get("topics") if isinstance(value, dict) else value
    return inner if isinstance(inner, list) else None


def _topic_objects(sample: Sample) -> list[dict[str, Any]]:
    """Return the first topics of a file of JSON, as far as they are objects."""
    listed = _list_in(sample.documents[0]) if len(sample.documents) == 1 else None
    return [each for each in (listed or sample.documents) if isinstance(each, dict)]


def _write_dialect(path: Path, topics: Iterable[TopicEntry], *, dialect: TopicDialect) -> None:
    write_lines(path, (msgspec.json.encode(object_of(topic, dialect)) for topic in topics))


def _read_dictionary(path: Path) -> _Rows:
    file = read_text_file(path, shape=_SHAPE)
    rows = []
    for query_id, text, line in file.pairs():
        if not isinstance(text, str):
            raise file.error(f"the text of query {query_id} is not a string, expected {_SHAPE}", line)
        rows.append(TopicEntry(query_id.strip(), text.strip(), line=line))
    return _once(file, rows)


def _write_dictionary(path: Path, topics: Iterable[TopicEntry]) -> None:
    queries = {topic.query_id: topic.title for topic in topics}
    write_lines(path, msgspec.json.format(msgspec.json.encode(queries), indent=1).split(b"\n"))


def _read_tsv(path: Path, *, has_header: bool = False) -> _Rows:
    file = read_text_file(path, shape=_SHAPE)
    rows = []
    for line, columns in islice(file.columns(), has_header, None):
        if len(columns) != 2:
            raise file.error(f"{len(columns)} columns between tabs, expected {_SHAPE}", line)
        rows.append(TopicEntry(columns[0].strip(), columns[1].strip(), line=line))
    return _once(file, rows)


def _write_tsv(path: Path, topics: Iterable[TopicEntry], *, has_header: bool = False) -> None:
    topics = list(topics)
    for topic in topics:
        if any(mark in topic.query_id + topic.title for mark in "\t\r\n"):
            problem = f"query {topic.query_id} holds a tab or a line break, expected one line of TSV"
            raise BadFormat(problem, file=path.name)
    header = [b"query_id\tquery"] if has_header else []
    write_lines(path, [*header, *(f"{topic.query_id}\t{topic.title}".encode() for topic in topics)])


def _once(file: TextFile, rows: _Rows) -> _Rows:
    """Return the rows, each with an id of its own and a text. Raises `BadFormat`."""
    seen: set[str] = set()
    for row in rows:
        if row.query_id in seen:
            problem = f"query {row.query_id} occurs twice, expected each query id once"
            raise file.error(problem, row.line)
        if not row.query_id or not row.title:
            missing = "text" if row.query_id else "query id"
            raise file.error(f"an empty {missing}, expected {_SHAPE}", row.line)
        seen.add(row.query_id)
    if not rows:
        raise file.error(f"no topics, expected {_SHAPE}", file.lines[-1][0])
    return rows


def _recognises(dialect: TopicDialect) -> Callable[[Sample], bool]:
    """Return a test for topics of the dialect; annotations name the topic as a topic does, and have spans."""

    def is_it(sample: Sample) -> bool:
        return any(dialect.begins(each) and "spans" not in each for each in _topic_objects(sample)[:1])

    return is_it


def _is_dictionary(sample: Sample) -> bool:
    if not sample.is_one_object or dialect_of(sample.objects[0]):
        return False
    if any(key.startswith("autojudge_annotate_") for key in sample.objects[0]):
        return False  # what its page keeps: see `ratings`
    return bool(sample.objects[0]) and all(isinstance(text, str) for text in sample.objects[0].values())


TOPICS_TSV = "topics-tsv"
WORKBENCH_QUERIES = Format(
    "workbench-queries",
    "Workbench queries",
    Content.TOPICS,
    _is_dictionary,
    _read_dictionary,
    _write_dictionary,
    is_lossless=True,
    source="RUBRIC Workbench",
)
TSV, TSV_WITH_HEADER = tsv_formats(
    TOPICS_TSV, "Topics as TSV", Content.TOPICS, (_read_tsv, _write_tsv), source="TREC RAG 2024 and 2026"
)
FORMATS = (
    *(
        Format(
            dialect.name,
            dialect.label,
            Content.TOPICS,
            _recognises(dialect),
            partial(_read_dialect, dialect=dialect),
            partial(_write_dialect, dialect=dialect),
            is_lossless=True,
            source=dialect.source,
        )
        for dialect in DIALECTS
    ),
    WORKBENCH_QUERIES,
    TSV,
    TSV_WITH_HEADER,
)
