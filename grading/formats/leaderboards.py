"""Leaderboards with a row for each run, topic and measure, as AutoJudge, trec_eval and ARGUE write them.

The row of topic `all` is the run's own: the mean over its topics, also of measures that are whole numbers on
each topic; of words it is the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from grading.errors import BadFormat
from grading.formats import Content, Format, Sample
from grading.formats.json_lines import decode, is_real, is_whole
from grading.formats.reading import TextFile, read_text_file, write_lines
from grading.formats.trec import are_qrels
from grading.types import is_md5, is_one_word

ALL = "all"
"""The topic of the rows that sum up a run."""
RUNID = "runid"
"""The measure by which trec_eval names the run of the lines that follow."""
Value = int | float | str


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One value. A row of the topic `ALL` is of the whole run."""

    run_tag: str
    query_id: str
    measure: str
    value: Value
    line: int = field(default=0, compare=False)


_Rows = Iterable[LeaderboardRow]


@dataclass(frozen=True, slots=True)
class Columns:
    """A format of columns between white space; `at` has the places of run, topic, measure and value."""

    name: str
    label: str
    header: str
    at: tuple[int, int, int, int]
    source: str
    is_written: bool = True

    @property
    def count(self) -> int:
        return len(self.header.split())

    def row(self, columns: Sequence[str], line: int) -> LeaderboardRow:
        run_tag, query_id, measure, value = (columns[place] for place in self.at)
        return LeaderboardRow(run_tag, query_id, measure, number_or_text(value), line)


RANKING = "ranking"
_IR_MEASURES = Columns(
    "ir_measures", "Leaderboard of ir_measures", "run topic measure value", (0, 1, 2, 3), "AutoJudge, ARGUE"
)
_TOT = Columns("tot", "Leaderboard of ToT", "run measure topic value", (0, 2, 1, 3), "AutoJudge")
_RAG4REPORTS = Columns(
    "rag4reports", "Leaderboard of RAG4Reports", "topic run measure value", (1, 0, 2, 3), "AutoJudge 1.0.0"
)
_RANKING = Columns(
    RANKING, "Leaderboard as rankings", "topic Q0 run rank value measure", (2, 0, 5, 4), "AutoJudge", False
)
TABLES = (_IR_MEASURES, _TOT, _RAG4REPORTS, _RANKING)


def number_or_text(text: str) -> Value:
    """Return a value as its column has it.

    >>> number_or_text("3"), number_or_text("0.50"), number_or_text("good")
    (3, 0.5, 'good')
    """
    if is_whole(text):
        return int(text)
    number = float(text) if is_real(text) else math.inf
    return number if math.isfinite(number) else text


def with_means(rows: _Rows) -> list[LeaderboardRow]:
    """Return the rows with one of `ALL` for each run and measure: of numbers the mean, else the first value.

    >>> with_means([LeaderboardRow("r", "t1", "m", 1), LeaderboardRow("r", "t2", "m", 2)])[-1]
    LeaderboardRow(run_tag='r', query_id='all', measure='m', value=1.5, line=0)
    """
    given = list(rows)
    stated = {(row.run_tag, row.measure) for row in given if row.query_id == ALL}
    values: dict[tuple[str, str], list[Value]] = {}
    for row in given:
        if row.query_id != ALL and (row.run_tag, row.measure) not in stated:
            values.setdefault((row.run_tag, row.measure), []).append(row.value)
    return given + [LeaderboardRow(run, ALL, measure, mean_of(of)) for (run, measure), of in values.items()]


def mean_of(values: Sequence[Value]) -> Value:
    """Return the mean of numbers; the first where one is a word."""
    numbers = [value for value in values if not isinstance(value, str)]
    return sum(numbers) / len(numbers) if len(numbers) == len(values) else values[0]


def table_lines(rows: _Rows, columns: Columns) -> Iterator[str]:
    r"""Yield the lines of a file, columns parted by tabs.

    Raises `BadFormat` for a word with white space.

    >>> list(table_lines([LeaderboardRow("bm25", "t1", "P_5", 0.4)], TABLES[0]))
    ['bm25\tt1\tP_5\t0.4']
    """
    for row in rows:
        written = [""] * columns.count
        for place, value in zip(columns.at, _values(row), strict=True):
            written[place] = value
        yield "\t".join(written)


def trec_eval_lines(rows: _Rows) -> Iterator[str]:
    """Yield trec_eval's `measure topic value`: of each run its topics, its `runid`, those of `all`."""
    by_run: dict[str, list[LeaderboardRow]] = {}
    for row in rows:
        by_run.setdefault(row.run_tag, []).append(row)
    for run_tag, of_run in by_run.items():
        runid = LeaderboardRow(run_tag, ALL, RUNID, run_tag)
        summary = [row for row in of_run if row.query_id == ALL and row.measure != RUNID]
        for row in (*(row for row in of_run if row.query_id != ALL), runid, *summary):
            _, query_id, measure, value = _values(row)
            yield f"{measure}\t{query_id}\t{value}"


def json_lines(rows: _Rows) -> Iterator[str]:
    """Yield JSON lines with typed values."""
    for row in rows:
        names = ("run_id", "topic_id", "measure", "value")
        values = (row.run_tag, row.query_id, row.measure, row.value)
        yield msgspec.json.encode(dict(zip(names, values, strict=True))).decode()


def _values(row: LeaderboardRow) -> tuple[str, str, str, str]:
    value = row.value if isinstance(row.value, str) else repr(row.value)
    values = (row.run_tag, row.query_id, row.measure, value)
    for text in values:
        if not is_one_word(text):
            raise BadFormat(f"{text!r} is empty or holds white space, expected one word a column")
    return values


def _read_table(path: Path, *, columns: Columns) -> list[LeaderboardRow]:
    file = read_text_file(path, shape=columns.header)
    rows = []
    for line, text in file.lines:
        cells = text.split()
        if len(cells) not in (0, columns.count):
            problem = f"{len(cells)} columns, expected {columns.count}: {columns.header}"
            raise file.error(problem, line)
        if cells and not _roles(cells):
            rows.append(columns.row(cells, line))
    return _once(path, rows)


def _read_trec_eval(path: Path) -> list[LeaderboardRow]:
    """Read trec_eval -q, which writes a run's topics before its `runid`, or where it comes first after it."""
    file = read_text_file(path, shape="measure topic value")
    rows: list[LeaderboardRow] = []
    pending: list[LeaderboardRow] = []
    run_tag, is_named_first = "", False
    for line, (measure, query_id, value) in _triples(file):
        is_name = measure == RUNID and query_id == ALL
        if is_name:
            is_named_first = is_named_first or not (rows or pending)
            run_tag = value
            rows += [replace(row, run_tag=run_tag) for row in pending]
            pending = []
        typed = value if measure == RUNID else number_or_text(value)
        row = LeaderboardRow(run_tag, query_id, measure, typed, line)
        if query_id != ALL and not is_named_first:
            pending.append(row)
            continue
        if not run_tag:
            raise file.error("no runid above, expected the line runid<TAB>all<TAB>run tag", line)
        rows.append(row)
    if pending:
        raise file.error("no runid below, expected the line runid<TAB>all<TAB>run tag", pending[0].line)
    return _once(path, rows)


def _triples(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    for line, text in file.lines:
        cells = text.split()
        if len(cells) not in (0, 3):
            raise file.error(f"{len(cells)} columns, expected 3: measure, topic, value", line)
        if cells:
            yield line, cells


class _RowJson(msgspec.Struct):
    run_id: str | int
    topic_id: str | int
    measure: str
    value: int | float | str


_DECODER = msgspec.json.Decoder(_RowJson)
_JSON_SHAPE = '{"run_id", "topic_id", "measure", "value"}'


def _read_jsonl(path: Path) -> list[LeaderboardRow]:
    file = read_text_file(path, shape=_JSON_SHAPE)
    rows = []
    for line, text in file.lines:
        try:
            raw = decode(text, _DECODER, shape=_JSON_SHAPE)
        except BadFormat as error:
            raise file.error(error.problem, line) from error
        rows.append(LeaderboardRow(str(raw.run_id), str(raw.topic_id), raw.measure, raw.value, line))
    return _once(path, rows)


def _once(path: Path, rows: list[LeaderboardRow]) -> list[LeaderboardRow]:
    """Return the rows, each of its run, topic and measure the only one. Raises `BadFormat`."""
    first_line: dict[tuple[str, str, str], int] = {}
    for row in rows:
        key = row.run_tag, row.query_id, row.measure
        first = first_line.setdefault(key, row.line)
        if first != row.line:
            name = f"run {row.run_tag}"
            if row.measure != RUNID:
                name = f"{row.measure} of run {row.run_tag} for {row.query_id}"
            problem = f"{name} occurs twice (first on line {first}), expected each run once"
            raise BadFormat(problem, file=path.name, line=row.line)
    if not rows:
        raise BadFormat("no runs, expected a row for each run and measure", file=path.name, line=1)
    return rows


def _write(path: Path, rows: _Rows, *, lines_of: Callable[[_Rows], Iterator[str]]) -> None:
    write_lines(path, (line.encode() for line in lines_of(rows)))


def _is_table(sample: Sample, columns: Columns) -> bool:
    """Return whether the columns fit: their number, and the topic's place in the header or rows of `all`."""
    rows = sample.fields()
    if sample.is_json or any(len(row) != columns.count for row in rows):
        return False
    if header := _roles(rows[0]):
        return header == _roles(columns.header.split())
    if not any(is_real(row[columns.at[3]]) for row in rows) or are_qrels(rows) or is_md5(rows[0][1]):
        return False
    places = {place for row in sample.all_words() for place, word in enumerate(row) if word == ALL}
    if columns.name == RANKING and not places:
        return len({row[columns.at[2]] for row in rows}) > 1
    return columns.at[1] in places or not places


def _roles(header: Sequence[str]) -> tuple[str, ...]:
    """Return what each word of a header names; empty for a row that is no header."""
    roles = tuple(_ROLES.get(word.lower(), "") for word in header)
    return roles if {"run", "topic", "measure", "value"} <= set(roles) else ()


def _is_trec_eval(sample: Sample) -> bool:
    if sample.is_json or len(sample.fields()[0]) != 3:
        return False
    return any(len(cells) == 3 and cells[1] == ALL for cells in sample.all_words())


def _is_jsonl(sample: Sample) -> bool:
    return {"run_id", "topic_id", "measure", "value"} <= sample.first_object.keys()


_ROLES = {
    **dict.fromkeys(("run", "run_id", "run_tag", "runid"), "run"),
    **dict.fromkeys(("topic", "topic_id", "query_id", "query", "request_id", "narrative_id"), "topic"),
    **dict.fromkeys(("measure", "metric"), "measure"),
    "value": "value",
}
TREC_EVAL = "leaderboard-trec_eval"
FORMATS = (
    *(
        Format(
            f"leaderboard-{columns.name}",
            columns.label,
            Content.LEADERBOARD,
            partial(_is_table, columns=columns),
            partial(_read_table, columns=columns),
            partial(_write, lines_of=partial(table_lines, columns=columns)) if columns.is_written else None,
            is_lossless=columns.is_written,
            source=columns.source,
        )
        for columns in TABLES
    ),
    Format(
        TREC_EVAL,
        "Output of trec_eval",
        Content.LEADERBOARD,
        _is_trec_eval,
        _read_trec_eval,
        partial(_write, lines_of=trec_eval_lines),
        is_lossless=True,
        source="trec_eval",
    ),
    Format(
        "leaderboard-jsonl",
        "Leaderboard as JSON lines",
        Content.LEADERBOARD,
        _is_jsonl,
        _read_jsonl,
        partial(_write, lines_of=json_lines),
        is_lossless=True,
        source="AutoJudge",
    ),
)
