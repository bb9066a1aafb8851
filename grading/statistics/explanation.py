"""Why a run's Rubric-Cover differs between two boards: down to items, and to the cells that made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


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
class Side:
    """One run and topic on one board: the run's first k passages against the items of the topic."""

    item_ids: tuple[str, ...]
    doc_ids: tuple[str, ...]
    """Of the k passages; those outside the pool too, they have no rating."""
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

    @property
    def per_cell(self) -> float:
        """The cells share the contribution alike: any of them alone would have made the change."""
        return self.contribution / len(self.cells) if self.cells else self.contribution


def item_contributions(before: Side, after: Side) -> list[ItemContribution]:
    """Return every item that adds to the difference, largest first.

    >>> sides = [Side(("q1", "q2"), ("d1",), np.array([row]), np.array([0.5, 0.5]))
    ...          for row in ([True, False], [True, True])]
    >>> [(c.item_id, c.cause.value, c.contribution, c.cells) for c in item_contributions(*sides)]
    [('q2', 'gained', 0.5, ('d1',))]
    """
    item_ids = dict.fromkeys([*before.item_ids, *after.item_ids])
    changes = [_change(item_id, before, after) for item_id in item_ids]
    changed = [change for change in changes if change.contribution]
    return sorted(changed, key=lambda change: (-abs(change.contribution), change.item_id))


def _change(item_id: str, before: Side, after: Side) -> ItemContribution:
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
