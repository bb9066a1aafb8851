"""What a change does to a leaderboard: ranks before and after, and the pairs of runs that change places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""Shape (runs,); higher is better, NaN = undefined, behind all others."""

TIED_DECIMALS = 12
"""Scores that agree to this many decimals are tied: they differ by the rounding of sums only."""


@dataclass(frozen=True, slots=True)
class Move:
    """A run's competition rank before and after."""

    run_tag: str
    before: int
    after: int


def ranks(scores: Scores) -> NDArray[np.int64]:
    """Competition ranks, best 1; tied runs share the better rank.

    >>> ranks(np.array([0.7, 0.9, 0.7, 0.1])).tolist()
    [2, 1, 2, 4]
    """
    comparable = _comparable(scores)
    ahead = comparable[np.newaxis, :] > comparable[:, np.newaxis]
    found: NDArray[np.int64] = ahead.sum(axis=1, dtype=np.int64) + 1
    return found


def moves(before: Scores, after: Scores, run_tags: Sequence[str]) -> list[Move]:
    """The runs whose rank changes, best new rank first.

    >>> moves(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.2, 0.3]), ["a", "b", "c"])
    [Move(run_tag='c', before=3, after=2), Move(run_tag='b', before=2, after=3)]
    """
    paired = zip(run_tags, ranks(before).tolist(), ranks(after).tolist(), strict=True)
    moved = [Move(run_tag, old, new) for run_tag, old, new in paired if old != new]
    return sorted(moved, key=lambda move: move.after)


def swapped_pairs(before: Scores, after: Scores) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j, of runs whose strict order is reversed; ties are in `tie_changes`.

    >>> swapped_pairs(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.2, 0.3]))
    [(1, 2)]
    """
    return _pairs(_order(before) * _order(after) < 0)


def tie_changes(
    before: Scores, after: Scores
) -> dict[Literal["became_tied", "ceased_tied"], list[tuple[int, int]]]:
    """Pairs of runs (i, j), i < j, that the change ties, and that it unties.

    >>> tie_changes(np.array([0.5, 0.4, 0.4]), np.array([0.5, 0.5, 0.4]))
    {'became_tied': [(0, 1)], 'ceased_tied': [(1, 2)]}
    """
    was_tied, is_tied = _order(before) == 0, _order(after) == 0
    return {"became_tied": _pairs(is_tied & ~was_tied), "ceased_tied": _pairs(was_tied & ~is_tied)}


def _comparable(scores: Scores) -> Scores:
    return np.where(np.isnan(scores), -np.inf, np.round(scores, TIED_DECIMALS))


def _order(scores: Scores) -> NDArray[np.int8]:
    """Shape (runs, runs): 1 where the first is ahead of the second, -1 behind, 0 tied."""
    comparable = _comparable(scores)
    first, second = comparable[:, np.newaxis], comparable[np.newaxis, :]
    return (first > second).astype(np.int8) - (first < second).astype(np.int8)


def _pairs(matrix: NDArray[np.bool_]) -> list[tuple[int, int]]:
    first, second = np.nonzero(np.triu(matrix, k=1))
    return list(zip(first.tolist(), second.tolist(), strict=True))
