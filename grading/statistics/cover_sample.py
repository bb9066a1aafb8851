"""A random sample of cells that `cover_estimate` can estimate every run's Rubric-Cover from.

Errors cluster by item, which single cells of ever new items cannot show. So the sample is drawn in blocks, of
two kinds that the grader's threshold splits:

- below: an item that some run does not cover, by the grader; one such run by lot; BELOW cells by lot of its
  first k passages.
- above: an item that some run covers; one such run by lot; ABOVE cells by lot of those that reach the
  threshold.

Items come in random order, each again only when all have come. SHARE_BELOW of the cells are of the first
kind: what the grader misses is rare, and a run has many cells in which it may have missed something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

BELOW, ABOVE = 10, 3
SHARE_BELOW = 0.6
MOST_ROUNDS = 50
"""Of blocks an item, where more cells are asked for than there are."""

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """One topic: `reached` of shape (passages, items), the first k passages of the runs as rows, or -1."""

    reached: Mask
    ranked: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A cell by the number of its topic, row and column, and the chance with which it was drawn."""

    topic: int
    row: int
    column: int
    probability: float


@dataclass(frozen=True, eq=False)
class _Item:
    """An item with the cells of its runs, of one kind; `cells` has the shape (runs, passages)."""

    topic: int
    column: int
    cells: Mask

    def chances(self, block: int) -> Floats:
        """Return an array of shape (passages,): with which one block of the item holds the cell."""
        sizes = np.maximum(self.cells.sum(axis=1), 1)
        return np.asarray(np.minimum(1, block / sizes) @ self.cells / len(self.cells))


@dataclass(eq=False)
class _Side:
    """The blocks of one kind, in random order."""

    items: list[_Item]
    block: int
    random: np.random.Generator
    cells: set[tuple[int, int]] = field(default_factory=set)
    """(place of the item, row)."""
    chances: dict[int, Floats] = field(default_factory=dict)
    """By place of the item."""
    waiting: list[int] = field(default_factory=list)
    blocks: int = 0

    @property
    def has_more(self) -> bool:
        return bool(self.items) and self.blocks < MOST_ROUNDS * len(self.items)

    def draw(self, most: int) -> list[tuple[int, int]]:
        """Return the new cells of the next block."""
        if not self.waiting:
            self.waiting = self.random.permutation(len(self.items)).tolist()
        place = self.waiting.pop()
        self.blocks += 1
        runs = self.items[place].cells
        rows = self.random.permutation(np.flatnonzero(runs[self.random.integers(len(runs))]))[: self.block]
        new = [(place, row) for row in rows.tolist() if (place, row) not in self.cells][:most]
        self.cells.update(new)
        return new

    def sampled(self, place: int, row: int) -> Sampled:
        item = self.items[place]
        rounds, rest = divmod(self.blocks, len(self.items))
        if place not in self.chances:
            self.chances[place] = item.chances(self.block)
        chance = float(self.chances[place][row])
        left_out = (1 - chance) ** rounds * (1 - chance * rest / len(self.items))
        return Sampled(item.topic, row, item.column, 1 - left_out)


def cover_sample(topics: Sequence[Ranked], *, size: int, seed: int) -> list[Sampled]:
    """At most `size` cells, in an order of which each beginning is a sample too.

    >>> reached = np.zeros((50, 4), dtype=np.bool_)
    >>> reached[:5] = True
    >>> runs = np.array([range(20), range(5, 25)], dtype=np.int32)
    >>> drawn = cover_sample([Ranked(reached, runs)], size=30, seed=1)
    >>> len(drawn), sum(cell.row < 5 for cell in drawn)
    (30, 10)
    """
    random = np.random.default_rng(seed)
    below = _Side(_items(topics, above=False), BELOW, random)
    above = _Side(_items(topics, above=True), ABOVE, random)
    order: list[tuple[_Side, tuple[int, int]]] = []
    while len(order) < size and (below.has_more or above.has_more):
        is_behind = len(below.cells) <= SHARE_BELOW * len(order)
        side = below if below.has_more and (is_behind or not above.has_more) else above
        order += [(side, cell) for cell in side.draw(size - len(order))]
    return [side.sampled(*cell) for side, cell in order]


def _items(topics: Sequence[Ranked], *, above: bool) -> list[_Item]:
    """Those that some run covers, or with not `above` leaves uncovered, with the cells of these runs."""
    items = []
    for number, topic in enumerate(topics):
        passages = len(topic.reached)
        top = np.zeros((len(topic.ranked), passages + 1), dtype=np.bool_)
        np.put_along_axis(
            top, np.where(topic.ranked < 0, passages, topic.ranked).astype(np.intp), True, axis=1
        )
        cells = top[:, :-1]
        covers = cells.astype(np.float32) @ topic.reached.astype(np.float32) > 0
        chosen = covers if above else ~covers & cells.any(axis=1, keepdims=True)
        for column in np.flatnonzero(chosen.any(axis=0)).tolist():
            those = cells[chosen[:, column]]
            items.append(_Item(number, column, those & topic.reached[:, column] if above else those))
    return items
