"""The leaderboard as TSV: comment lines that say what it states, a header, one run a line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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


def leaderboard_lines(rows: Iterable[LeaderboardRow], comments: Sequence[str] = ()) -> list[str]:
    """The lines of the file, without line breaks; numbers with all their digits.

    >>> leaderboard_lines([LeaderboardRow("bm25", 0.5, None, 1)], ["Rubric-Cover@20"])[-1].split("\\t")
    ['bm25', '0.5', '-', '1']
    """
    header = [f"# {comment}" for comment in comments] + ["run_tag\tscore\tstderr\tn_topics"]
    return header + [
        f"{row.run_tag}\t{_number(row.score)}\t{_number(row.stderr)}\t{row.n_topics}" for row in rows
    ]


def write_leaderboard(path: Path, rows: Iterable[LeaderboardRow], comments: Sequence[str] = ()) -> None:
    """Write `leaderboard_lines` to a file."""
    write_lines(path, (line.encode() for line in leaderboard_lines(rows, comments)))


def _number(value: float | None) -> str:
    return UNDEFINED if value is None or math.isnan(value) else repr(float(value))
