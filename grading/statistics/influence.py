"""What a change does to a leaderboard, and why a run's score differs between two boards.

What a change does to a leaderboard: ranks before and after, the pairs of runs that change places, and what
the leaderboard would be without each item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.rank_correlation import kendalls

Scores = NDArray[np.float64]
"""Shape (..., runs); higher is better, NaN = undefined, behind all others."""

TIED_DECIMALS = 12
"""Scores that agree to this many decimals are tied: they differ by the rounding of sums only."""


@dataclass(frozen=True, slots=True)
class Move:
    """A run's competition rank before and after."""

    run_tag: str
    before: int
    after: int


def ranks(scores: Scores) -> NDArray[np.int64]:
    """Return competition ranks, best 1; tied runs share the better rank.

    >>> ranks(np.array([0.7, 0.9, 0.7, 0.1])).tolist()
    [2, 1, 2, 4]
    """
    comparable = _comparable(scores)
    ahead = comparable[..., np.newaxis, :] > comparable[..., :, np.newaxis]
    return np.asarray(ahead.sum(axis=-1, dtype=np.int64) + 1)


def moves(before: Scores, after: Scores, run_tags: Sequence[str]) -> list[Move]:
    """Return the runs whose rank changes, best new rank first.

    >>> moves(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.2, 0.3]), ["a", "b", "c"])
    [Move(run_tag='c', before=3, after=2), Move(run_tag='b', before=2, after=3)]
    """
    paired = zip(run_tags, ranks(before).tolist(), ranks(after).tolist(), strict=True)
    moved = [Move(run_tag, old, new) for run_tag, old, new in paired if old != new]
    return sorted(moved, key=lambda move: move.after)


def swapped_pairs(before: Scores, after: Scores) -> list[tuple[int, int]]:
    """Return pairs (i, j), i < j, of runs whose strict order is reversed; ties are in `tie_changes`.

    >>> swapped_pairs(np.array([0.5, 0.4, 0.3]), np.array([0.5, 0.2, 0.3]))
    [(1, 2)]
    """
    return _pairs(_order(before) * _order(after) < 0)


def tie_changes(
    before: Scores, after: Scores
) -> dict[Literal["became_tied", "ceased_tied"], list[tuple[int, int]]]:
    """Return pairs of runs (i, j), i < j, that the change ties, and that it unties.

    >>> tie_changes(np.array([0.5, 0.4, 0.4]), np.array([0.5, 0.5, 0.4]))
    {'became_tied': [(0, 1)], 'ceased_tied': [(1, 2)]}
    """
    was_tied, is_tied = _order(before) == 0, _order(after) == 0
    return {"became_tied": _pairs(is_tied & ~was_tied), "ceased_tied": _pairs(was_tied & ~is_tied)}


def means_without(table: Scores, topic: int, without: Scores) -> Scores:
    """Return an array of shape (items, runs): the board's means without each item of one topic.

    `table` has shape (runs, topics), and `without` (items, runs) the scores of that topic without each item.
    What is NaN does not count for that run: a row of NaN in `without` says that no item is left, so that the
    topic leaves the mean.

    >>> table = np.array([[1.0, 0.5], [0.0, 0.5]])
    >>> means_without(table, 0, np.array([[0.5, 0.0], [np.nan, np.nan]])).tolist()
    [[0.5, 0.25], [0.5, 0.5]]
    """
    counted = ~np.isnan(table)
    counted[:, topic] = False
    others, n_others = np.where(counted, table, 0.0).sum(axis=1), counted.sum(axis=1)
    is_left = ~np.isnan(without)
    totals = others + np.where(is_left, without, 0.0)
    n_topics = n_others + is_left
    return divide(totals, n_topics)


@dataclass(frozen=True, slots=True)
class Influence:
    """What leaving one item out does to the board."""

    tau: float | None
    """Kendall's tau-b of the board with and without it; None where it is void."""
    n_swapped: int
    """Pairs of runs in the other order."""
    largest_move: int
    """Places that the run which moves most rises or falls."""
    mean_change: float | None
    """The mean change of scores; above 0 where the item is harder than others, None where none is left."""


def influences(board: Scores, without: Scores) -> list[Influence]:
    """Return one for each row of `without`, shape (items, runs), as `means_without` makes them.

    >>> influences(np.array([0.5, 0.4, 0.3]), np.array([[0.5, 0.2, 0.3]]))[0].largest_move
    1
    """
    swapped = (_order(board) * _order(without) < 0).sum(axis=(-1, -2)) // 2
    moved = np.abs(ranks(without) - ranks(board)).max(axis=-1, initial=0)
    each = zip(kendalls(board, without), swapped.tolist(), moved.tolist(), without, strict=True)
    return [Influence(tau, pairs, move, _mean_change(board, changed)) for tau, pairs, move, changed in each]


def _mean_change(board: Scores, changed: Scores) -> float | None:
    """Return the mean change over the runs that have a score on both."""
    change = changed - board
    defined = change[~np.isnan(change)]
    return float(defined.mean()) if len(defined) else None


@dataclass(frozen=True, slots=True)
class Dependent:
    """A run, the one item that its place depends on most, and its places with and without it."""

    run: int
    item: int
    before: int
    after: int


def dependents(board: Scores, without: Scores) -> list[Dependent]:
    """Return the runs whose rank one item alone changes, each with the item that changes it most.

    The largest change comes first.

    >>> dependents(np.array([0.5, 0.4, 0.3]), np.array([[0.5, 0.4, 0.3], [0.5, 0.2, 0.3]]))
    [Dependent(run=1, item=1, before=2, after=3), Dependent(run=2, item=1, before=3, after=2)]
    """
    if not len(without) or not len(board):
        return []
    places = ranks(board)
    changed = np.stack([ranks(row) for row in without])
    moved = np.abs(changed - places)
    strongest = moved.argmax(axis=0)
    moving = [
        Dependent(run, int(item), int(places[run]), int(changed[item, run]))
        for run, item in enumerate(strongest)
        if moved[item, run]
    ]
    return sorted(moving, key=lambda each: (-abs(each.after - each.before), each.before))


def _comparable(scores: Scores) -> Scores:
    return np.where(np.isnan(scores), -np.inf, np.round(scores, TIED_DECIMALS))


def _order(scores: Scores) -> NDArray[np.int8]:
    """Return 1 where the first is ahead of the second, -1 behind, 0 tied: shape (..., runs, runs)."""
    comparable = _comparable(scores)
    first, second = comparable[..., :, np.newaxis], comparable[..., np.newaxis, :]
    return (first > second).astype(np.int8) - (first < second).astype(np.int8)


def _pairs(matrix: NDArray[np.bool_]) -> list[tuple[int, int]]:
    first, second = np.nonzero(np.triu(matrix, k=1))
    return list(zip(first.tolist(), second.tolist(), strict=True))


class Cause(StrEnum):
    GAINED = "gained"
    """Covered after and not before."""
    LOST = "lost"
    ADDED = "added"
    """The item is only on the board after."""
    REMOVED = "removed"
    REWEIGHTED = "reweighted"
    """Covered on both, but one item among more, or fewer, others."""


@dataclass(frozen=True, slots=True)
class BoardSide:
    """One run and topic on one board: the run's first k passages against the items of the topic."""

    item_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    """The doc ids of the k passages, also of those outside the pool, which have no rating."""
    reached: NDArray[np.bool_]
    """Shape (passages, items): whether the rating counts."""
    shares: NDArray[np.float64]
    """Shape (items,): what covering the item adds to the run's score (weight / all weights / topics)."""

    def covering(self, item_id: str) -> tuple[bool, frozenset[str]]:
        """Return whether the item is on the board, and which passages cover it."""
        if item_id not in self.item_ids:
            return False, frozenset()
        column = self.reached[:, self.item_ids.index(item_id)]
        return True, frozenset(
            doc_id for doc_id, is_reached in zip(self.doc_ids, column, strict=True) if is_reached
        )

    def worth(self, item_id: str) -> float:
        """Return what the item adds to the score; 0 where it is not covered."""
        is_asked, covering = self.covering(item_id)
        return float(self.shares[self.item_ids.index(item_id)]) if is_asked and covering else 0.0


@dataclass(frozen=True, slots=True)
class ItemContribution:
    """What one item adds to the difference of a run's scores. These sum to the difference exactly."""

    item_id: str
    cause: Cause
    contribution: float
    cells: tuple[str, ...]
    """The passages whose cells made the change, by doc id; empty where no cell did."""


def item_contributions(before: BoardSide, after: BoardSide) -> list[ItemContribution]:
    """Return every item that adds to the difference, largest first.

    >>> sides = [BoardSide(("q1", "q2"), ("d1",), np.array([row]), np.array([0.5, 0.5]))
    ...          for row in ([True, False], [True, True])]
    >>> [(c.item_id, c.cause.value, c.contribution, c.cells) for c in item_contributions(*sides)]
    [('q2', 'gained', 0.5, ('d1',))]
    """
    item_ids = dict.fromkeys([*before.item_ids, *after.item_ids])
    changes = [_change(item_id, before, after) for item_id in item_ids]
    changed = [change for change in changes if change.contribution]
    return sorted(changed, key=lambda change: (-abs(change.contribution), change.item_id))


def _change(item_id: str, before: BoardSide, after: BoardSide) -> ItemContribution:
    (was_asked, old), (is_asked, new) = before.covering(item_id), after.covering(item_id)
    contribution = after.worth(item_id) - before.worth(item_id)
    if not was_asked:
        cause, cells = Cause.ADDED, _ordered(new, after.doc_ids)
    elif not is_asked:
        cause, cells = Cause.REMOVED, ()
    elif new and not old:
        cause, cells = Cause.GAINED, _ordered(new, after.doc_ids)
    elif old and not new:
        cause, cells = Cause.LOST, _ordered(old, before.doc_ids)
    else:
        cause, cells = Cause.REWEIGHTED, ()
    return ItemContribution(item_id, cause, contribution, cells)


def _ordered(doc_ids: frozenset[str], order: Sequence[str]) -> tuple[str, ...]:
    return tuple(doc_id for doc_id in order if doc_id in doc_ids)
