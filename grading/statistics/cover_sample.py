"""Random samples of cells or units, and scores estimated for every run from weighted sums over a sample.

A sample of cells, for `cover_estimate`: errors cluster by item, which single cells of ever new items cannot
show. So the sample is drawn in blocks, of two kinds that the grader's threshold splits:

- below: an item that some run does not cover, by the grader; one such run by lot; BELOW cells by lot of its
  first k passages.
- above: an item that some run covers; one such run by lot; ABOVE cells by lot of those that reach the
  threshold.

Items come in random order, each again only when all have come. SHARE_BELOW of the cells are of the first
kind: what the grader misses is rare, and a run has many cells in which it may have missed something.

Weighted sums over units: a unit is what people settle at once, such as the cell of a nugget and a run's one
answer, or a passage with the cells of all of a topic's items. Its credit is between 0 and 1, and a run's
score is the sum of the credits times the run's weights. The grader has a credit for every unit, people for
those of the sample. With a the weights over the chances of being drawn, and sums over the sample but for F
and W, which are over all units of the run:

    score = lambda F + W sum a (human - lambda grader) / sum a

F is the run's score by the grader, W the sum of its weights. lambda is the power tuning of PPI++, estimated
for each run: 0 where the grader says nothing of people, so that the estimate is never much worse than without
a grader. The estimate is unbiased whatever the grader does, and its variance is that of the design: units are
drawn one by one, so that it does not matter which of them depend on each other.

Angelopoulos, Duchi and Zrnic 2023, "PPI++" (arXiv 2311.01453); Zrnic and Candes 2024, "Active Statistical
Inference" (arXiv 2403.03208), for drawing by the grader's confidence; Rosen 1997, "On Sampling with
Probability Proportional to Size" (JSPI 62), for the draw. `bench/linear_estimates.py` simulates how often the
intervals hold the true value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide_or_zero

BELOW, ABOVE = 10, 3
SHARE_BELOW = 0.6
MOST_ROUNDS = 50
"""The most rounds of blocks an item, where more cells are asked for than there are."""

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]


LEVEL = 0.95
METHOD = "t interval of a power-tuned difference estimator (PPI++)"
A_RUN = 60
"""So many rated units of a run usually estimate its score to within 0.06 to 0.1."""
MIN_UNITS = 20
"""Rated units of a run: with fewer it has no estimate."""
EVEN_SHARE = 0.5
"""The share of the draw that takes no account of the grader's confidence, which may be wrong."""
_DOUBTED = 0.5
"""Imagined errors of the grader in a sample without any, whose variance would be 0. Half as many are added to
other samples: the variance of few units is more often too small than too large.
"""
_ROUNDING = 1e-9
"""A chance that is closer to 1 is 1: it was summed up."""


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
    """Chances by place of the item."""
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
    """Draw at most `size` cells, in an order of which each beginning is a sample too.

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
    """Return the items that some run covers, or with not `above` leaves uncovered, with these runs' cells."""
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


@dataclass(frozen=True, eq=False)
class Units:
    """What the runs' scores are sums over."""

    weights: Floats
    """Shape (runs, units): what the credit of a unit adds to the run's score."""
    grader: Floats
    """Shape (units,): its credit, 0..1."""
    human: Floats
    """Shape (units,): the credit of the sampled ones; NaN elsewhere."""
    chances: Floats
    """Shape (units,): with which each sampled one was drawn."""


@dataclass(frozen=True, eq=False)
class LinearEstimates:
    """Estimates of every run, each of shape (runs,); NaN for a run with fewer than MIN_UNITS rated units."""

    value: Floats
    low: Floats
    high: Floats
    n_rated: NDArray[np.int64]
    tuning: Floats
    """The lambda of each run."""


def linear_estimate(units: Units) -> LinearEstimates:
    """Return the score by people of every run, with its interval; a finite population: all rated is certain.

    >>> grader = np.tile([1.0, 0.0], 50)
    >>> human = np.where(np.arange(100) < 40, grader, np.nan)
    >>> human[0] = 0.0
    >>> units = Units(np.full((1, 100), 0.01), grader, human, np.full(100, 0.4))
    >>> estimates = linear_estimate(units)
    >>> [each.round(2).item() for each in (estimates.value, estimates.low, estimates.high)]
    [0.48, 0.43, 0.52]
    """
    from scipy.special import stdtrit  # a tenth of a second that commands start without

    is_rated = ~np.isnan(units.human)
    human, grader = units.human[is_rated], units.grader[is_rated]
    chances = _without_rounding(units.chances[is_rated])
    drawn = units.weights[:, is_rated] / chances
    n = (drawn > 0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = drawn.sum(axis=1)
        shares = drawn / total[:, np.newaxis]
        spread = drawn**2 * (1 - chances)
        off_human = human - (shares @ human)[:, np.newaxis]
        off_grader = grader - (shares @ grader)[:, np.newaxis]
        covariance = (spread * off_human * off_grader).sum(axis=1)
        variance = (spread * off_grader**2).sum(axis=1)
        tuning = np.where(variance > 0, np.clip(covariance / variance, 0, 1), 0.0)
        leverage = shares + np.where(variance > 0, 1 / variance, 0.0)[:, np.newaxis] * spread * off_grader**2
        residuals = (off_human - tuning[:, np.newaxis] * off_grader) / np.maximum(1 - leverage, 0.5)
        of_run = units.weights.sum(axis=1)
        value = tuning * (units.weights @ units.grader) + of_run * (
            shares @ human - tuning * (shares @ grader)
        )
        squares = (spread * residuals**2).sum(axis=1)
        floor = spread.sum(axis=1) * _DOUBTED / (n + 1)
        error = of_run / total * np.sqrt(np.maximum(squares + floor / 2, floor))
        half = stdtrit(n - 2, 0.5 + LEVEL / 2) * error
    few = n < np.minimum(MIN_UNITS, (units.weights > 0).sum(axis=1))
    value, low, high = (
        np.where(few | (n < 3), np.nan, np.clip(end, 0, of_run))
        for end in (value, value - half, value + half)
    )
    return LinearEstimates(value, low, high, n, tuning)


def chances_of(weights: Floats, doubts: Floats, size: int) -> Floats:
    """Return with which chance each unit is drawn, of shape (units,); they sum up to `size`.

    `weights` has the shape (runs, units); `doubts`, of shape (units,), has the chance that people turn the
    grader's credit. A unit is drawn in proportion to what it adds to the standard errors of the runs, half of
    it by the doubts and half as if these were all alike.

    >>> chances_of(np.full((1, 4), 0.25), np.array([0.0, 0.0, 0.0, 1.0]), 2).round(2).tolist()
    [0.33, 0.33, 0.33, 1.0]
    """
    reach = np.sqrt((divide_or_zero(weights, weights.sum(axis=1, keepdims=True)) ** 2).sum(axis=0))
    by_doubt = reach * np.sqrt(doubts)
    even, doubted = (each / max(each.sum(), 1e-300) for each in (reach, by_doubt))
    sizes = EVEN_SHARE * even + (1 - EVEN_SHARE) * doubted
    chances = np.zeros(len(sizes))
    is_open = sizes > 0
    for _ in range(len(sizes)):
        left = size - (~is_open & (sizes > 0)).sum()
        chances[is_open] = left * sizes[is_open] / max(sizes[is_open].sum(), 1e-300)
        if not (chances[is_open] > 1).any():
            break
        is_open &= chances <= 1
        chances[(sizes > 0) & ~is_open] = 1.0
    return _without_rounding(chances)


def _without_rounding(chances: Floats) -> Floats:
    return np.where(chances > 1 - _ROUNDING, 1.0, chances)


def size_for(weights: Floats, doubts: Floats, a_run: int) -> int:
    """Return how many units to draw for `a_run` rated ones of the mean run, or of all that it has.

    >>> size_for(np.full((1, 50), 0.02), np.full(50, 0.1), 20)
    20
    """
    in_use = (weights > 0).astype(np.float64)
    low, high = 0, int(in_use.any(axis=0).sum())
    while low < high:
        middle = (low + high) // 2
        is_enough = (in_use @ chances_of(weights, doubts, middle)).mean() >= a_run - 1e-6
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return low


def expected_half_width(weights: Floats, doubts: Floats, chances: Floats) -> float:
    """Return the half-width of the median run's interval; NaN without units.

    People turn the grader's credits as often as the doubts say.

    >>> round(expected_half_width(np.full((1, 100), 0.01), np.full(100, 0.1), np.full(100, 0.5)), 3)
    0.062
    """
    is_open = chances > 0
    noise = weights[:, is_open] ** 2 * (1 - chances[is_open]) / chances[is_open] * doubts[is_open]
    errors = np.sqrt(noise.sum(axis=1))[weights.any(axis=1)]
    return NormalDist().inv_cdf(0.5 + LEVEL / 2) * float(np.median(errors)) if len(errors) else float("nan")


def drawn(chances: Floats, size: int, *, seed: int) -> NDArray[np.intp]:
    """Return `size` different units, drawn with about these chances, in random order (Pareto sampling).

    >>> len(drawn(np.full(10, 0.4), 4, seed=1))
    4
    """
    random = np.random.default_rng(seed)
    lots = random.random(len(chances))
    with np.errstate(divide="ignore"):
        places = lots / (1 - lots) * (1 - chances) / chances
    first = np.argsort(np.where(chances > 0, places, np.inf), kind="stable")
    return random.permutation(first[: min(size, int((chances > 0).sum()))])
