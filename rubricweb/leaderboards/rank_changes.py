"""Which runs changed ranks since the board that a browser shows. It sends its order; nothing is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from rubricweb.core.ids import parse_id
from rubricweb.leaderboards.board.types import Board, BoardRow

NAMED = 3
"""So many moves are spoken; more would talk over the reader."""


@dataclass(frozen=True, slots=True)
class RankChange:
    """A row of the table, with the places that it rose (below 0: fell) since the last change of order."""

    row: BoardRow
    rose: int

    @property
    def fell(self) -> int:
        return -self.rose


@dataclass(frozen=True, slots=True)
class Rendering:
    """A board as shown now. `seen` and `before` go to the browser and come back with its next question."""

    lines: tuple[RankChange, ...]
    seen: str
    """The order shown now."""
    before: str
    """The order that the marks are relative to; it stays until the order changes again."""
    digest: str
    news: str
    """What moved since the browser's last rendering, as a sentence; empty when nothing did."""


def rendering(board: Board, sent: Mapping[str, str]) -> Rendering:
    """Return the board with its moves since the order that the browser sent, if it sent one."""
    seen = ",".join(f"{row.run_id}:{row.rank}" for row in board.rows)
    shown = sent.get("seen") or seen
    before = shown if shown != seen else sent.get("before") or seen
    old = _ranks(before)
    lines = tuple(RankChange(row, old.get(row.run_id, row.rank) - row.rank) for row in board.rows)
    return Rendering(lines, seen, before, digest(board), _news(board, _ranks(shown)))


def digest(board: Board) -> str:
    """Return a digest that is equal for boards that look the same."""
    stands_on = (board.n_topics, board.n_items, board.items_stamp, board.verified)
    shown = (board.rows, stands_on, board.correlations, board.top, board.leaders)
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


def _ranks(order: str) -> dict[int, int]:
    """By run id; what is not "id:rank" is nobody's order and is ignored."""
    pairs = (part.partition(":") for part in order.split(","))
    ranks = ((parse_id(run), parse_id(rank)) for run, _, rank in pairs)
    return {run: rank for run, rank in ranks if run and rank}


def _news(board: Board, shown: Mapping[int, int]) -> str:
    moved = [row for row in board.rows if shown.get(row.run_id, row.rank) != row.rank]
    if not moved:
        return ""
    told = ", ".join(_told(row, shown[row.run_id]) for row in moved[:NAMED])
    rest = len(moved) - NAMED
    return (
        f"System {told}"
        if len(moved) == 1
        else f"Systems: {told}" + (f", and {rest} more" if rest > 0 else "")
    )


def _told(row: BoardRow, before: int) -> str:
    possible = "" if row.first is None else f" (possible: {row.interval})"
    return f"{row.run_tag} moved {before} to {row.rank}{possible}"
