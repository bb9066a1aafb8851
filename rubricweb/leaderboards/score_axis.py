"""Where the dots, whiskers and brackets of a board stand, in units of its SVG: all on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.leaderboards.board.types import Board, BoardRow

WIDTH = 160
EDGE = 6
MAX_LANES = 6
"""Brackets side by side; what does not fit is still said by the ranks."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """A dot at `x` with a line from `low` to `high`."""

    x: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return round(self.high - self.low, 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """From the lowest to the highest end of an interval."""

    start: float
    end: float

    def at(self, value: float) -> float:
        span = self.end - self.start
        share = (value - self.start) / span if span > 0 else 0.5
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    def whisker(self, row: BoardRow) -> Whisker | None:
        if row.score is None:
            return None
        low = row.score if row.low is None else row.low
        high = row.score if row.high is None else row.high
        return Whisker(self.at(row.score), self.at(low), self.at(high))


def axis(board: Board) -> Axis | None:
    """Return the axis of a board; None where no run has a score."""
    ends = [value for row in board.rows for value in (row.score, row.low, row.high) if value is not None]
    return Axis(min(ends), max(ends)) if ends else None


def lanes(brackets: Sequence[tuple[int, int]], rows: int) -> list[tuple[str, ...]]:
    """Return, by row: what each lane shows there: the start, middle or end of a bracket, or nothing.

    >>> lanes([(0, 1), (1, 2)], 3)
    [('start', ''), ('end', 'start'), ('', 'end')]
    """
    ends: list[int] = []
    placed: list[tuple[int, int, int]] = []
    for first, last in brackets:
        free = next((lane for lane, end in enumerate(ends) if end < first), len(ends))
        if free == MAX_LANES:
            continue
        ends[free : free + 1] = [last]
        placed.append((free, first, last))
    shown = [[""] * len(ends) for _ in range(rows)]
    for lane, first, last in placed:
        for row in range(first, last + 1):
            shown[row][lane] = "start" if row == first else "end" if row == last else "middle"
    return [tuple(parts) for parts in shown]
