"""The leaderboard as TSV: comment lines that say what it states, a header, one run a line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grading.formats.writing import write_lines

UNDEFINED = "-"


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """`score` and `stderr` are None where they are undefined."""

    run_tag: str
    score: float | None
    stderr: float | None
    n_topics: int


def leaderboard_lines(
    rows: Iterable[LeaderboardRow],
    comments: Sequence[str] = (),
    beside: Mapping[str, Sequence[float | None]] | None = None,
) -> list[str]:
    """The lines of the file, without line breaks; numbers with all their digits.

    `beside` has further columns by their names, with a value a row.

    >>> leaderboard_lines([LeaderboardRow("bm25", 0.5, None, 1)], ["Rubric-Cover@20"])[-1].split("\\t")
    ['bm25', '0.5', '-', '1']
    """
    further = beside or {}
    lines = [f"# {comment}" for comment in comments]
    lines.append("\t".join(("run_tag", "score", "stderr", "n_topics", *further)))
    for place, row in enumerate(rows):
        numbers = (_number(values[place]) for values in further.values())
        told = (row.run_tag, _number(row.score), _number(row.stderr), str(row.n_topics), *numbers)
        lines.append("\t".join(told))
    return lines


def write_leaderboard(path: Path, rows: Iterable[LeaderboardRow], comments: Sequence[str] = ()) -> None:
    """Write `leaderboard_lines` to a file."""
    write_lines(path, (line.encode() for line in leaderboard_lines(rows, comments)))


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return UNDEFINED
    return str(value) if isinstance(value, int) else repr(float(value))
