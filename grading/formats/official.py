"""An official leaderboard: ranks or scores of runs.

Reads the Workbench's JSON of ranks, TSV, our own boards as JSON and TSV, and every format of `leaderboards`,
which also have the scores of each topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

import msgspec

from grading.errors import BadFormat, UnknownMeasure
from grading.formats import Content, Format, Sample, leaderboards, recognise_among, sample_of
from grading.formats.json_lines import real
from grading.formats.leaderboards import ALL, LeaderboardRow
from grading.formats.reading import JsonObject, TextFile, read_text_file, write_lines
from grading.formats.tables import with_formula
from grading.measures import registry
from grading.measures.names import MeasureName, parse

BoardKind = Literal["ranks", "scores"]
Rows = list[tuple[str, object, int]]
"""Run tag, value and line."""

_SHAPE = (
    '{"run tag": rank}, {"ranks": {"run tag": rank}}, {"scores": {"run tag": score}}, '
    "TSV with the header run_tag<TAB>rank or run_tag<TAB>score, a board as RubricWeb exports it (TSV, JSON), "
    "output of trec_eval, or a leaderboard in the formats of AutoJudge"
)
PREFERRED = ("ndcg_cut_10", "map")
"""The measures to use, in order, if none is named and the file has several."""


@dataclass(frozen=True, slots=True)
class OfficialBoard:
    """Run tag -> value. Lower ranks are better (ties may be average ranks), higher scores are better."""

    kind: BoardKind
    values: dict[str, float]
    measure: str = ""
    """The measure of `values`, if the file may have several."""
    by_topic: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Query id -> run tag -> score, if the file says."""


def read_official(path: Path, *, measure: str = "", format_name: str = "") -> OfficialBoard:
    """Read any of the formats; `measure` chooses one where the file has several.

    Without rows of the topic `all` a run's score is the mean over its topics. Runs of our own boards that
    have no score, since no topic counts, are left out. Raises `BadFormat` for a run that occurs twice, a
    value that is not a finite number, a rank below 1, a measure that is not there, and content of which
    `format_name` has to say what it is.
    """
    file = read_text_file(path, shape=_SHAPE)
    if each := _format_of_rows(path, file, format_name):
        return _from_rows(file, list(each.read(path)), measure, each)
    kind, rows = _from_json(file) if file.is_json else _from_tsv(file)
    values: dict[str, float] = {}
    for run_tag, value, line in rows:
        if run_tag in values:
            raise file.error(f"run {run_tag} occurs twice, expected each run once", line)
        values[run_tag] = _number(file, value, what=f"the {kind[:-1]} of run {run_tag}", line=line)
        if kind == "ranks" and values[run_tag] < 1:
            raise file.error(f"the rank of run {run_tag} is {values[run_tag]:g}, expected 1 or more", line)
    if not values:
        raise file.error(f"no runs, expected {_SHAPE}", file.lines[-1][0])
    return OfficialBoard(kind, values)


def _format_of_rows(path: Path, file: TextFile, format_name: str) -> Format | None:
    """Return the format of a file with a row a value; None for boards with a row a run."""
    if format_name:
        return next((each for each in leaderboards.FORMATS if each.name == format_name), None)
    sample = sample_of(path, (text for _, text in file.lines))
    fitting = [each for each in leaderboards.FORMATS if each.recognises(sample)]
    return recognise_among(path, fitting) if fitting else None


def _from_rows(file: TextFile, rows: list[LeaderboardRow], measure: str, each: Format) -> OfficialBoard:
    chosen = _measure_of(file, rows, measure, is_trec_eval=each.name == leaderboards.TREC_EVAL)
    of_measure = [row for row in rows if row.measure == chosen]
    if not any(row.query_id == ALL for row in of_measure):
        of_measure = leaderboards.with_means(of_measure)
    values: dict[str, float] = {}
    by_topic: dict[str, dict[str, float]] = {}
    for row in of_measure:
        what = f"the score of run {row.run_tag}" + (f" for {row.query_id}" if row.query_id != ALL else "")
        number = _number(file, row.value, what=what, line=row.line)
        scores = values if row.query_id == ALL else by_topic.setdefault(row.query_id, {})
        scores[row.run_tag] = number
    for row in rows:
        if row.run_tag not in values:
            raise file.error(f"run {row.run_tag} has no {chosen}, expected it of every run", row.line)
    return OfficialBoard("scores", values, chosen, by_topic)


def write_official(path: Path, board: OfficialBoard) -> None:
    """Write JSON that names its kind: `{"ranks": ...}` or `{"scores": ...}`."""
    text = msgspec.json.format(msgspec.json.encode({board.kind: board.values}), indent=1)
    write_lines(path, text.split(b"\n"))


def _from_json(file: TextFile) -> tuple[BoardKind, Rows]:
    pairs = file.pairs()
    by_key = {key: (value, line) for key, value, line in pairs}
    if isinstance(by_key.get("rows", (None,))[0], list):
        value, line = by_key["rows"]
        fields = [dict(row) if isinstance(row, JsonObject) else {} for row in cast("list[object]", value)]
        if not all(isinstance(row.get("run_tag"), str) and "score" in row for row in fields):
            raise file.error("rows without run_tag and score, expected a board as RubricWeb exports it", line)
        lines = [line for _, _, line in file.placed([("run_tag", row["run_tag"]) for row in fields])]
        return "scores", [
            (str(row["run_tag"]), row["score"], at)
            for row, at in zip(fields, lines, strict=True)
            if not (row["score"] is None and row.get("n_topics") == 0)
        ]
    if len(pairs) == 1 and pairs[0][0] in ("ranks", "scores") and isinstance(pairs[0][1], list):
        kind, inner, line = pairs[0]
        if not isinstance(inner, JsonObject):
            raise file.error(f"{kind} is a list, expected {_SHAPE}", line)
        return cast("BoardKind", kind), file.placed(inner)
    return "ranks", pairs


def _from_tsv(file: TextFile) -> tuple[BoardKind, Rows]:
    lines = _without_comments(file)
    line, header = next(lines, (file.lines[-1][0], [""]))
    names = [name.strip() for name in header]
    column = next((name for name in ("score", "rank") if name in names), "")
    if names[0] != "run_tag" or not column:
        raise file.error(f"no such header: {' '.join(names)}; expected {_SHAPE}", line)
    kind: BoardKind = "scores" if column == "score" else "ranks"
    rows: Rows = []
    for line, columns in lines:
        if len(columns) != len(names):
            raise file.error(
                f"{len(columns)} columns between tabs, expected {len(names)}: {', '.join(names)}", line
            )
        row = dict(zip(names, (text.strip() for text in columns), strict=True))
        if not (row[column] == "NaN" and row.get("n_topics") == "0"):
            rows.append((with_formula(row["run_tag"]), row[column], line))
    return kind, rows


def _without_comments(file: TextFile) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line, without the comment lines above the header."""
    is_above = True
    for line, columns in file.columns():
        is_above = is_above and columns[0].startswith("#")
        if not is_above:
            yield line, columns


def _measure_of(file: TextFile, rows: list[LeaderboardRow], measure: str, *, is_trec_eval: bool) -> str:
    """Return the named measure, else the only one, else the first of PREFERRED in the file.

    Of trec_eval's output only its measures count, where it has any: not `num_q` or `runid`.
    """
    names = list(dict.fromkeys(row.measure for row in rows if row.measure != leaderboards.RUNID))
    candidates = ([name for name in names if _is_measure(name)] if is_trec_eval else []) or names
    chosen = measure.strip()
    in_file = partial(_spelled_otherwise, candidates=candidates)
    if chosen and chosen not in candidates:
        chosen = _spelled_otherwise(chosen, candidates)
    if not chosen:
        chosen = (
            candidates[0]
            if len(candidates) == 1
            else next(filter(candidates.__contains__, map(in_file, PREFERRED)), "")
        )
    if chosen not in candidates:
        available = f"there are {', '.join(candidates)}" if candidates else "there is none"
        problem = f"no measure {chosen}" if chosen else "several measures and none is named"
        raise file.error(f"{problem}; {available}", file.lines[0][0])
    return chosen


def _spelled_otherwise(name: str, candidates: list[str]) -> str:
    """Return the one candidate that is the measure in another spelling, else the name as it is.

    A summary of trec_eval does not say what is relevant; of ir_measures' names all parts must be the same.
    """
    named = _parsed(name)
    same = [
        candidate
        for candidate in candidates
        if named is not None
        and (other := _parsed(candidate)) is not None
        and other.name == named.name
        and not (named.spelling and other.spelling and replace(named, spelling=other.spelling) != other)
    ]
    return name if name in candidates or len(same) != 1 else same[0]


def _parsed(name: str) -> MeasureName | None:
    try:
        return parse(name)
    except UnknownMeasure:
        return None


def _is_measure(name: str) -> bool:
    try:
        registry.validate(name)
    except UnknownMeasure:
        return False
    return True


def _number(file: TextFile, value: object, *, what: str, line: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise file.error(f"{what} is not a number, expected {_SHAPE}", line)
    try:
        return real(value, what=what)
    except BadFormat as error:
        raise file.error(error.problem, line) from error


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
)
