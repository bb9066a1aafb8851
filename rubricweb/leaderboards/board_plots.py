"""The drawings of a board: dots on one axis and ticks as percentages of any column's width, and a scatter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rubricweb.plots import scatter as plots
from rubricweb.plots.scatter import Point
from rubricweb.plots.svg import Plot, Scale, nice_ticks, tick_label

BANDS = {False: "not clearly behind", True: "clearly behind"}
"""The first run, that is."""
PADDING = 2.0
"""Per cent of the width that stay free at each end of an axis, for half a dot."""
FAR_BELOW = 0.1
"""Share of the axis: a run that lies so far below the next one is left out of the axis."""
CUT_FROM = 8
"""The fewest runs for the axis to be cut; with fewer, all are on it."""
GHOST_FROM = 0.006
"""The smallest change whose earlier dot is drawn; others would be hidden under the present dot."""
NAMED = 2
"""How many first runs have their names beside their marks in a scatter."""
LABELLED_FROM = 0.25
"""Share of the ranges: a run that lies further off the diagonal has its name beside its mark."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A value with its interval, and where it was before."""

    value: float
    low: float | None = None
    high: float | None = None
    before: float | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """A spread on an axis. A dot that is off the axis is an arrow with its number at the edge."""

    value: float
    at: float
    low: float | None
    high: float | None
    before: float | None
    is_off: bool = False


@dataclass(frozen=True, slots=True)
class DotAxis:
    """One axis for all rows, cut to where the values are."""

    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]

    def at(self, value: float) -> float:
        if self.end <= self.start:
            return 50.0
        return round(Scale(self.start, self.end, PADDING, 100 - PADDING)(value), 2)

    def dot(self, spread: Spread) -> Dot:
        is_off = spread.value < self.start
        low, high = (None if end is None or is_off else self.at(end) for end in (spread.low, spread.high))
        was = spread.before
        before = None
        if was is not None and was >= self.start and abs(spread.value - was) >= GHOST_FROM:
            before = self.at(was)
        return Dot(spread.value, self.at(spread.value), low, high, before, is_off)


def dot_axis(spreads: Sequence[Spread]) -> DotAxis | None:
    """Return an axis that ends at round numbers, without runs far below the rest; None without values."""
    ordered = sorted(spreads, key=lambda spread: spread.value)
    whole = ordered[-1].value - ordered[0].value if ordered else 0.0
    gaps = [
        place
        for place in range(1, len(ordered) // CUT_FROM + 1)
        if ordered[place].value - ordered[place - 1].value > FAR_BELOW * whole
    ]
    kept = ordered[max(gaps, default=0) :]
    ends = [end for spread in kept for end in (spread.value, spread.low, spread.high) if end is not None]
    if not ends:
        return None
    values = nice_ticks(min(ends), max(ends), most=4)
    bare = DotAxis(values[0], values[-1], ())
    return replace(bare, ticks=tuple((bare.at(value), tick_label(value, values)) for value in values))


def scatter(pairs: Sequence[tuple[str, float, float]], first: Sequence[str], axes: tuple[str, str]) -> Plot:
    """Return a mark for each (name, x, y); two first runs and one far off the diagonal are named."""
    (left, width), (low, height) = _range([x for _, x, _ in pairs]), _range([y for _, _, y in pairs])
    off = [abs((x - left) / width - (y - low) / height) for _, x, y in pairs]
    farthest = max(range(len(pairs)), key=off.__getitem__)
    named = {*first[:NAMED], *([pairs[farthest][0]] if off[farthest] >= LABELLED_FROM else [])}
    points = [Point(name, x, y, is_named=name in named) for name, x, y in pairs]
    sentence = f"{len(pairs)} runs: {axes[1]} against {axes[0]}"
    return plots.scatter(points, name="agreement", sentence=sentence, axes=axes, is_equal=False)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return where the values begin and how far they go, 1 where they are equal."""
    return min(values), (max(values) - min(values)) or 1.0


def ticks(scores: Sequence[float | None], low: float, high: float) -> list[float]:
    """Return where the scores of a topic stand between the lowest and the highest of a board, in per cent."""
    axis = DotAxis(low, high, ())
    return [axis.at(score) for score in scores if score is not None]


def band_rows(bands: Sequence[object]) -> list[int]:
    """Return, for rows of these bands, how many rows the band has at its first row, else 0.

    >>> band_rows(["a", "a", "b", "a"])
    [2, 0, 1, 1]
    """
    rows: list[int] = []
    for _, group in groupby(bands):
        n = len(list(group))
        rows += [n, *[0] * (n - 1)]
    return rows
