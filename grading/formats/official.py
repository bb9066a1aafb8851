"""An official leaderboard: ranks or scores of runs.

Reads the Workbench's JSON of ranks, TSV, our own boards as JSON and TSV, and summaries of trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import msgspec

from grading.errors import BadFormat, UnknownMeasure
from grading.formats.base import Content, Format, Sample
from grading.formats.dictionary import Document, JsonObject, read_document
from grading.formats.numbers import real
from grading.formats.reading import write_lines
from grading.measures import trec_eval

BoardKind = Literal["ranks", "scores"]
Rows = list[tuple[str, object, int]]
"""Run tag, value and line."""

_SHAPE = (
    '{"run tag": rank}, {"ranks": {"run tag": rank}}, {"scores": {"run tag": score}}, '
    "TSV with the header run_tag<TAB>rank or run_tag<TAB>score, a board as RubricWeb exports it (TSV, JSON), "
    "or summaries of trec_eval"
)
PREFERRED = ("ndcg_cut_10", "map")
"""The measures of a trec_eval summary to use, in order, if none is named."""


@dataclass(frozen=True, slots=True)
class OfficialBoard:
    """Run tag -> value. Lower ranks are better (ties may be average ranks), higher scores are better."""

    kind: BoardKind
    values: dict[str, float]
    measure: str = ""
    """The measure of trec_eval, if the file has several."""


def read_official(path: Path, *, measure: str = "") -> OfficialBoard:
    """Read any of the formats; `measure` chooses one of a trec_eval summary.

    Runs of our own boards that have no score, since no topic counts, are left out. Raises `BadFormat` for a
    run that occurs twice, a value that is not a finite number, a rank below 1, and a measure that is not
    there.
    """
    document = read_document(path, shape=_SHAPE)
    named = ""
    if document.is_json:
        kind, rows = _from_json(document)
    elif _is_summary(document):
        kind, (named, rows) = "scores", _from_summary(document, measure)
    else:
        kind, rows = _from_tsv(document)
    values: dict[str, float] = {}
    for run_tag, value, line in rows:
        if run_tag in values:
            raise document.error(f"run {run_tag} occurs twice, expected each run once", line)
        values[run_tag] = _number(document, value, what=f"the {kind[:-1]} of run {run_tag}", line=line)
        if kind == "ranks" and values[run_tag] < 1:
            raise document.error(
                f"the rank of run {run_tag} is {values[run_tag]:g}, expected 1 or more", line
            )
    if not values:
        raise document.error(f"no runs, expected {_SHAPE}", document.lines[-1][0])
    return OfficialBoard(kind, values, named)


def write_official(path: Path, board: OfficialBoard) -> None:
    """Write JSON that names its kind: `{"ranks": ...}` or `{"scores": ...}`."""
    text = msgspec.json.format(msgspec.json.encode({board.kind: board.values}), indent=1)
    write_lines(path, text.splitlines())


def _from_json(document: Document) -> tuple[BoardKind, Rows]:
    pairs = document.pairs()
    by_key = {key: (value, line) for key, value, line in pairs}
    if isinstance(by_key.get("rows", (None,))[0], list):
        value, line = by_key["rows"]
        return "scores", _from_board(document, cast("list[object]", value), line)
    if len(pairs) == 1 and pairs[0][0] in ("ranks", "scores") and isinstance(pairs[0][1], list):
        kind, inner, line = pairs[0]
        if not isinstance(inner, JsonObject):
            raise document.error(f"{kind} is a list, expected {_SHAPE}", line)
        return cast("BoardKind", kind), document.placed(inner)
    return "ranks", pairs


def _from_board(document: Document, rows: list[object], line: int) -> Rows:
    """A board that we exported as JSON."""
    fields = [dict(row) if isinstance(row, JsonObject) else {} for row in rows]
    if not all(isinstance(row.get("run_tag"), str) and "score" in row for row in fields):
        raise document.error("rows without run_tag and score, expected a board as RubricWeb exports it", line)
    lines = [line for _, _, line in document.placed([("run_tag", row["run_tag"]) for row in fields])]
    return [
        (str(row["run_tag"]), row["score"], at)
        for row, at in zip(fields, lines, strict=True)
        if not (row["score"] is None and row.get("n_topics") == 0)
    ]


def _from_tsv(document: Document) -> tuple[BoardKind, Rows]:
    lines = _without_comments(document)
    line, header = next(lines, (document.lines[-1][0], [""]))
    names = [name.strip() for name in header]
    column = next((name for name in ("score", "rank") if name in names), "")
    if names[0] != "run_tag" or not column:
        raise document.error(f"no such header: {' '.join(names)}; expected {_SHAPE}", line)
    kind: BoardKind = "scores" if column == "score" else "ranks"
    rows: Rows = []
    for line, columns in lines:
        if len(columns) != len(names):
            raise document.error(
                f"{len(columns)} columns between tabs, expected {len(names)}: {', '.join(names)}", line
            )
        row = dict(zip(names, (text.strip() for text in columns), strict=True))
        if not (row[column] == "NaN" and row.get("n_topics") == "0"):
            rows.append((row["run_tag"], row[column], line))
    return kind, rows


def _without_comments(document: Document) -> Iterator[tuple[int, list[str]]]:
    """The columns of each line, without the comment lines above the header."""
    is_above = True
    for line, columns in document.columns():
        is_above = is_above and columns[0].startswith("#")
        if not is_above:
            yield line, columns


def _is_summary(document: Document) -> bool:
    return any(columns[1:2] == ["all"] and len(columns) == 3 for _, columns in _words(document))


def _from_summary(document: Document, measure: str) -> tuple[str, Rows]:
    """trec_eval's output: lines `measure all value`; a line `runid all TAG` begins a run."""
    by_run: dict[str, tuple[int, dict[str, tuple[str, int]]]] = {}
    values: dict[str, tuple[str, int]] | None = None
    for line, columns in _words(document):
        if len(columns) != 3:
            raise document.error(f"{len(columns)} columns, expected 3: measure, all, value", line)
        name, topic, value = columns
        if topic != "all":
            continue  # a line of one topic (trec_eval -q)
        if name == "runid":
            if value in by_run:
                raise document.error(f"run {value} occurs twice, expected each run once", line)
            _, values = by_run[value] = line, {}
        elif values is None:
            raise document.error("no runid above, expected the line runid<TAB>all<TAB>run tag", line)
        else:
            values[name] = value, line
    chosen = _measure_of(document, [names for _, names in by_run.values()], measure)
    for run_tag, (line, names) in by_run.items():
        if chosen not in names:
            raise document.error(f"run {run_tag} has no {chosen}, expected it of every run", line)
    return chosen, [(run_tag, *names[chosen]) for run_tag, (_, names) in by_run.items()]


def _measure_of(document: Document, runs: list[dict[str, tuple[str, int]]], measure: str) -> str:
    """Return the named measure, else the only one, else the first of PREFERRED in the file."""
    known = [name for name in dict.fromkeys(name for names in runs for name in names) if _is_measure(name)]
    chosen = measure.strip().replace(".", "_")
    if not chosen:
        chosen = known[0] if len(known) == 1 else next((name for name in PREFERRED if name in known), "")
    if chosen not in known:
        available = f"there are {', '.join(known)}" if known else "there is none"
        problem = f"no measure {chosen}" if chosen else "several measures and none is named"
        raise document.error(f"{problem}; {available}", document.lines[0][0])
    return chosen


def _is_measure(name: str) -> bool:
    try:
        trec_eval.validate(name)
    except UnknownMeasure:
        return False
    return True


def _words(document: Document) -> Iterator[tuple[int, list[str]]]:
    return ((line, text.split()) for line, text in document.lines if text.strip())


def _number(document: Document, value: object, *, what: str, line: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise document.error(f"{what} is not a number, expected {_SHAPE}", line)
    try:
        return real(value, what=what)
    except BadFormat as error:
        raise document.error(error.problem, line) from error


def _is_json_board(sample: Sample) -> bool:
    if not sample.is_one_object or not sample.objects[0]:
        return False
    board = sample.objects[0]
    if isinstance(rows := board.get("rows"), list):
        return all(isinstance(row, dict) and "run_tag" in row for row in rows[:1])
    inner = next(iter(board.values())) if board.keys() & {"ranks", "scores"} and len(board) == 1 else board
    values = inner.values() if isinstance(inner, dict) else [inner]
    return all(isinstance(value, int | float) for value in values)


def _is_tsv_board(sample: Sample) -> bool:
    header = next((cells for cells in sample.cells() if not cells[0].startswith("#")), [""])
    return not sample.is_json and header[0].strip() == "run_tag"


def _is_trec_eval(sample: Sample) -> bool:
    return not sample.is_json and any(len(words) == 3 and words[1] == "all" for words in sample.words())


FORMATS = (
    Format(
        "official-json",
        "Leaderboard as JSON: ranks, scores, or a board of ours",
        Content.LEADERBOARD,
        _is_json_board,
        lambda path: [read_official(path)],
        lambda path, boards: write_official(path, *boards),
        is_lossless=False,
        source="RUBRIC Workbench",
    ),
    Format(
        "official-tsv",
        "Leaderboard as TSV: run_tag and rank or score",
        Content.LEADERBOARD,
        _is_tsv_board,
        lambda path: [read_official(path)],
        None,
        is_lossless=False,
        source="RubricWeb",
    ),
    Format(
        "trec_eval-summary",
        "Summaries of trec_eval",
        Content.LEADERBOARD,
        _is_trec_eval,
        lambda path: [read_official(path)],
        None,
        is_lossless=False,
        source="trec_eval",
    ),
)
