"""An official leaderboard: the Workbench's JSON of ranks, or TSV with a header that says ranks or scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import msgspec

from grading.errors import BadFormat
from grading.formats.dictionary import Document, read_document
from grading.formats.numbers import real
from grading.formats.writing import write_lines

BoardKind = Literal["ranks", "scores"]

_SHAPE = (
    '{"run tag": rank}, {"ranks": {"run tag": rank}}, {"scores": {"run tag": score}}, '
    "or TSV with the header run_tag<TAB>rank or run_tag<TAB>score"
)
_KIND_OF_COLUMN: dict[str, BoardKind] = {"rank": "ranks", "score": "scores"}


@dataclass(frozen=True, slots=True)
class OfficialBoard:
    """Run tag -> value. Lower ranks are better (ties may be average ranks), higher scores are better."""

    kind: BoardKind
    values: dict[str, float]


def read_official(path: Path) -> OfficialBoard:
    """Raises `BadFormat` for a run that occurs twice, a value that is not a finite number, and a rank below
    1.
    """
    document = read_document(path, shape=_SHAPE)
    kind, rows = _from_json(document) if document.is_json else _from_tsv(document)
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
    return OfficialBoard(kind, values)


def write_official(path: Path, board: OfficialBoard) -> None:
    """Write JSON that names its kind: `{"ranks": ...}` or `{"scores": ...}`."""
    text = msgspec.json.format(msgspec.json.encode({board.kind: board.values}), indent=1)
    write_lines(path, text.splitlines())


def _from_json(document: Document) -> tuple[BoardKind, list[tuple[str, object, int]]]:
    pairs = document.pairs()
    if len(pairs) == 1 and pairs[0][0] in ("ranks", "scores") and isinstance(pairs[0][1], list):
        kind, inner, _ = pairs[0]
        return cast("BoardKind", kind), document.placed(cast("list[tuple[str, object]]", inner))
    return "ranks", pairs


def _from_tsv(document: Document) -> tuple[BoardKind, list[tuple[str, object, int]]]:
    rows = list(document.columns())
    line, header = rows[0]
    names = [name.strip() for name in header]
    if len(names) != 2 or names[0] != "run_tag" or names[1] not in _KIND_OF_COLUMN:
        raise document.error(f"no such header: {' '.join(names)}; expected {_SHAPE}", line)
    found: list[tuple[str, object, int]] = []
    for line, columns in rows[1:]:
        if len(columns) != 2:
            raise document.error(
                f"{len(columns)} columns between tabs, expected 2: run_tag and {names[1]}", line
            )
        found.append((columns[0].strip(), columns[1].strip(), line))
    return _KIND_OF_COLUMN[names[1]], found


def _number(document: Document, value: object, *, what: str, line: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise document.error(f"{what} is not a number, expected {_SHAPE}", line)
    try:
        return real(value, what=what)
    except BadFormat as error:
        raise document.error(error.problem, line) from error
