"""What changed on a board: since the reader's last look, and since what the browser shows.

The last look at each board is in the reader's session. The browser sends what it shows; nothing else is kept.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from rubricweb.core.http import parse_id
from rubricweb.leaderboards.board import Board, BoardRow, sentences

NAMED = 3
"""So many moves are spoken; more would talk over the reader."""
LOOKS = "board looks"
"""The key in the session: by board, [when, what it showed, since when, what it showed then]."""
KEPT_LOOKS = 8
SAME_VISIT = dt.timedelta(minutes=30)
"""Who comes back within it still sees what changed since the visit before."""
WRITTEN_EVERY = dt.timedelta(minutes=1)
"""While the board stays as it is, a session is not written more often."""
SCORE_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class RunStanding:
    rank: int
    score: float | None


@dataclass(frozen=True, slots=True)
class RankChange:
    """Of one run since the reader's last look."""

    before: RunStanding
    rose: int
    """Places; below 0 it fell."""
    difference: float
    """The difference of its scores, rounded as they are shown."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the reader saw when they last came, and when; now and None for who never saw this board."""

    before: str
    since: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Rendering:
    """A board as shown now. `seen`, `before`, `graded` go to the browser and come back with its question."""

    seen: str
    """Ranks and scores shown now."""
    before: str
    """The standings of the reader's last look."""
    graded: int
    digest: str
    changes: dict[int, RankChange]
    """By run: what changed since the last look."""
    moved: dict[int, int]
    """By run: places that it rose since the browser's last rendering; 0 if only its score changed."""
    news: str
    """What changed since the browser's last rendering, in sentences; empty when nothing did."""


def rendering(board: Board, parameters: Mapping[str, str], before: str = "") -> Rendering:
    """Return the board with its changes since what the browser sent, and since `before`."""
    seen = standing(board)
    before = parameters.get("before") or before or parameters.get("seen") or seen
    then, previous = _parsed(before), _parsed(parameters.get("seen") or seen)
    changes = {row.run_id: change for row in board.rows if (change := _change(row, then.get(row.run_id)))}
    moves = {row.run_id: move for row in board.rows if (move := _change(row, previous.get(row.run_id)))}
    moved = {run: move.rose for run, move in moves.items()}
    n_graded = board.n_graded - (parse_id(parameters.get("graded")) or board.n_graded)
    news = _news(board, moves, previous, n_graded)
    return Rendering(seen, before, board.n_graded, digest(board), changes, moved, news)


def look(session: MutableMapping[str, Any], key: str, board: Board) -> Look:
    """Return the reader's last look at the board of that key, and remember this one."""
    now, seen = timezone.now(), standing(board)
    looks = dict(session.get(LOOKS, {}))
    at, last, since, before = looks.pop(key, None) or ["", "", None, seen]
    away = now - dt.datetime.fromisoformat(at) if at else SAME_VISIT
    if at and away > SAME_VISIT:
        since, before = at, last
    if seen != last or away > WRITTEN_EVERY:
        kept = [now.isoformat(timespec="seconds"), seen, since, before]
        session[LOOKS] = dict([*looks.items(), (key, kept)][-KEPT_LOOKS:])
    return Look(before, dt.datetime.fromisoformat(since) if since else None)


def standing(board: Board) -> str:
    """Return the ranks and scores of a board as text: "run:rank:score,..."."""
    return ",".join(f"{row.run_id}:{row.rank}:{_text(row.score)}" for row in board.rows)


def digest(board: Board) -> str:
    """Return a digest that is equal for boards that look the same."""
    stands_on = (board.n_topics, board.n_items, board.items_stamp, board.verified)
    visible = (board.rows, stands_on, board.correlations, board.top, board.topics, board.without_items)
    return hashlib.sha256(repr(visible).encode()).hexdigest()[:16]


def summary(board: Board, changes: Mapping[int, RankChange]) -> str:
    """Return what changed since the last look, in one sentence; empty when nothing did."""
    return _moves(board, changes) if changes else ""


def _text(score: float | None) -> str:
    return "" if score is None else f"{score:.{SCORE_DECIMALS}f}"


def _parsed(text: str) -> dict[int, RunStanding]:
    """Return standings by run; what is not "run:rank:score" is ignored."""
    standings = {}
    for part in text.split(","):
        run, rank, score = (*part.split(":"), "", "")[:3]
        if (run_id := parse_id(run)) and (place := parse_id(rank)):
            standings[run_id] = RunStanding(place, _number(score))
    return standings


def _number(text: str) -> float | None:
    with suppress(ValueError):
        return number if math.isfinite(number := float(text)) else None
    return None


def _change(row: BoardRow, before: RunStanding | None) -> RankChange | None:
    if before is None:
        return None
    difference = round((row.score or 0.0) - (before.score or 0.0), SCORE_DECIMALS)
    if row.score is None or before.score is None:
        difference = 0.0
    rose = before.rank - row.rank
    return RankChange(before, rose, difference) if rose or difference else None


def _news(
    board: Board, moves: Mapping[int, RankChange], previous: Mapping[int, RunStanding], n_graded: int
) -> str:
    if not moves:
        return ""
    return " ".join(filter(None, [_moves(board, moves, n_graded), _first(board, previous)]))


def _moves(board: Board, moves: Mapping[int, RankChange], n_graded: int = 0) -> str:
    """Return how many runs moved and the widest moves, in sentences."""
    ranks = {run: move for run, move in moves.items() if move.rose}
    n_runs = len(ranks) or len(moves)
    verb = "moved" if ranks else "changed its score" if n_runs == 1 else "changed their scores"
    runs = "1 run" if n_runs == 1 else f"{n_runs} runs"
    after = f" after {n_graded:,} new grade{'' if n_graded == 1 else 's'}" if n_graded > 0 else ""
    widest = sorted(
        (row for row in board.rows if row.run_id in ranks), key=lambda row: -abs(ranks[row.run_id].rose)
    )
    places = ", ".join(
        f"{row.run_tag} from {ranks[row.run_id].before.rank} to {row.rank}" for row in widest[:NAMED]
    )
    return f"{runs} {verb}{after}." + (f" {places}." if places else "")


def _first(board: Board, previous: Mapping[int, RunStanding]) -> str:
    """Return which runs are first, and whether they were before; empty where nothing is tested."""
    if board.top is None or not board.top.can_tell:
        return ""
    first = {row.run_id for row in board.rows if row.rank == 1}
    was = {run for run, before in previous.items() if before.rank == 1}
    verb = "is" if len(board.top.first) == 1 else "are"
    return f"{sentences.names(board.top.first)} {verb} first{', as before' if first == was else ' now'}."
