"""How often each run wins its votes beside its Rubric-Cover, and how it was made where it was made here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grading.statistics.rank_correlation import Correlation, kendall
from rubricweb.arena.answers import Place
from rubricweb.arena.board import VoteBoard
from rubricweb.arena.selectors import modules_of_runs
from rubricweb.corpus.models import Collection


@dataclass(frozen=True, slots=True)
class WinRate:
    """A run's votes against its answers' coverage."""

    run_id: int
    run_tag: str
    modules: str
    """How it was made here; empty for other runs, and where the reader knows it by a pseudonym."""
    votes: int
    rate: float
    """The share of its votes that it won, a tie as half."""
    cover: float | None
    """Mean share of items that its answers cover, on the topics of its votes; None without grades."""
    topics: int
    """Topics with grades, over which `cover` is a mean."""


@dataclass(frozen=True, slots=True)
class WinRates:
    rows: tuple[WinRate, ...]
    """The highest rate first."""
    tau: Correlation
    """Kendall's, of win rates with coverage, over the runs that have both."""


def win_rates(collection: Collection, board: VoteBoard, scores: Mapping[Place, float]) -> WinRates:
    """Set win rates against coverage: `scores` has the share of items that each graded answer covers."""
    made = modules_of_runs(collection.pk, [row.run_id for row in board.rows])
    covers: dict[int, list[float]] = {}
    for (run, _), score in scores.items():
        covers.setdefault(run, []).append(score)
    rows = [
        WinRate(
            row.run_id,
            row.run_tag,
            made.get(row.run_id, ""),
            row.votes,
            rate=(row.wins + row.ties / 2) / row.votes,
            cover=float(np.mean(covers[row.run_id])) if row.run_id in covers else None,
            topics=len(covers.get(row.run_id, ())),
        )
        for row in board.rows
    ]
    rows.sort(key=lambda row: (-row.rate, row.run_tag))
    both = [(row.rate, row.cover) for row in rows if row.cover is not None]
    return WinRates(tuple(rows), kendall([rate for rate, _ in both], [cover for _, cover in both]))
