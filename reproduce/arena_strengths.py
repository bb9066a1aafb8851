"""Bradley-Terry strengths: baseball teams of a textbook, and drawn votes as arena-rank has them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grading.statistics.bradley_terry import Votes, half_tie_strengths, rating
from reproduce._tables import Figure, Files, Table

Ints = NDArray[np.int64]
BASEBALL = {
    "Milwaukee": [0, 7, 9, 7, 7, 9, 11],
    "Detroit": [6, 0, 7, 5, 11, 9, 9],
    "Toronto": [4, 6, 0, 7, 7, 8, 12],
    "New York": [6, 8, 6, 0, 6, 7, 10],
    "Boston": [6, 2, 6, 7, 0, 7, 12],
    "Cleveland": [4, 4, 5, 6, 6, 0, 6],
    "Baltimore": [2, 4, 1, 3, 1, 7, 0],
}
"""Wins of the row's team against the column's in 1987."""
PUBLISHED = [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]
ARENA_RANK = Path(__file__).with_name("arena_rank.json")
"""Drawn votes on five systems, with arena-rank's strengths of them; it says how these were computed."""


def figures(files: Files) -> Iterator[Figure]:
    """Yield the strengths of teams over the last one's, then those of systems and their ratings."""
    wins = np.array(list(BASEBALL.values()))
    first, second = (np.repeat(places.ravel(), wins.ravel()) for places in np.indices(wins.shape))
    teams = half_tie_strengths(_votes(first, second, np.ones_like(first)), len(BASEBALL))
    for team, printed, strength in zip(BASEBALL, PUBLISHED, teams.tolist(), strict=True):
        yield Figure(f"strength of {team} over Baltimore", printed, strength - float(teams[-1]), 2)
    drawn = json.loads(ARENA_RANK.read_text(encoding="utf-8"))
    columns = np.array(drawn["votes"]).T[:3].astype(np.int64)
    systems = half_tie_strengths(_votes(*columns), len(drawn["ratings"]))
    for number, (theirs, ours) in enumerate(zip(drawn["ratings"], systems.tolist(), strict=True), start=1):
        yield Figure(f"arena-rank, strength of system {number}", theirs, ours, 6, 0.001)
        yield Figure(f"arena-rank, rating of system {number}", rating(theirs), rating(ours), 3, 0.001)


def _votes(first: Ints, second: Ints, outcome: Ints) -> Votes:
    same = np.zeros_like(first)
    return Votes(first, second, outcome, same, same)


TABLE = Table(
    "Arena: strengths of Bradley and Terry",
    "Agresti, Categorical Data Analysis (1990), table 10.10; arena-rank 0.1.1 on 160 drawn votes",
    figures,
)
