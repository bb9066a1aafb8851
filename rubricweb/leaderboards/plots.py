"""Draw boards and comparisons: places in per cent of a column's width for pages, and whole SVG files.

The plots of comparisons, from numbers alone: places in per cent for pages, and whole SVG files.

Places in per cent need no size, so that a page stretches its plots and scripts have nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rubricweb import plots as svg
from rubricweb.core.formatting import counted
from rubricweb.plots import Plot, Point, Scale, nice_ticks, tick_label
from rubricweb.plots.cells import EQUAL, DotRow, differences, dot_rows

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
KEPT = 64
"""Scatters that a process keeps."""


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


@lru_cache(maxsize=KEPT)
def scatter(
    pairs: tuple[tuple[str, float, float], ...], first: tuple[str, ...], axes: tuple[str, str]
) -> Plot:
    """Return a mark for each (name, x, y); two first runs and one far off the diagonal are named."""
    (left, width), (low, height) = _range([x for _, x, _ in pairs]), _range([y for _, _, y in pairs])
    off = [abs((x - left) / width - (y - low) / height) for _, x, y in pairs]
    farthest = max(range(len(pairs)), key=off.__getitem__)
    named = {*first[:NAMED], *([pairs[farthest][0]] if off[farthest] >= LABELLED_FROM else [])}
    points = [Point(name, x, y, is_named=name in named) for name, x, y in pairs]
    sentence = f"{counted(len(pairs), 'run')}: {axes[1]} against {axes[0]}"
    return svg.scatter(points, name="agreement", sentence=sentence, axes=axes, is_equal=False)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return where the values begin and how far they go, 1 where they are equal."""
    return min(values), (max(values) - min(values)) or 1.0


def ticks(scores: Sequence[float | None], low: float, high: float) -> list[float]:
    """Return where the scores of a topic stand between the lowest and the highest of a board, in per cent."""
    axis = DotAxis(low, high, ())
    return [axis.at(score) for score in scores if score is not None]


def bands(are_behind: Sequence[bool | None]) -> list[tuple[str, int]]:
    """Return the band of each row, and at its first row how many rows it has, else 0.

    No row has a band where no run is clearly behind.

    >>> bands([False, False, True, None])
    [('not clearly behind', 2), ('not clearly behind', 0), ('clearly behind', 1), ('', 0)]
    """
    rows: list[tuple[str, int]] = []
    for is_behind, group in groupby(are_behind):
        n = len(list(group))
        if is_behind is None or not any(are_behind):
            rows += [("", 0)] * n
        else:
            rows += [(BANDS[is_behind], n), *[(BANDS[is_behind], 0)] * (n - 1)]
    return rows


Floats = NDArray[np.float64]
Tick = tuple[float, str]
"""A place in per cent with its label."""

BINS = 30
WIDE = 740
"""Units of the width of SVG files."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A difference on a symmetric axis, in per cent of its width."""

    x: float
    width: float
    side: str
    """a: to the right, b: to the left, equal: a dot at 0."""


@dataclass(frozen=True, slots=True)
class DistributionBin:
    """A bin of a distribution, in per cent of the plot; `y` is its top."""

    x: float
    width: float
    y: float
    height: float
    side: str


@dataclass(frozen=True, slots=True)
class Distribution:
    columns: tuple[DistributionBin, ...]
    band: tuple[float, float]
    """Where the interval begins, and its width."""
    zero: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class Dots:
    """A run then and now on an axis that all runs share."""

    then: float
    now: float

    @property
    def start(self) -> float:
        return min(self.then, self.now)

    @property
    def width(self) -> float:
        return round(abs(self.now - self.then), 2)


def limit_of(differences: Sequence[float]) -> float:
    """Return the end of a symmetric axis: the next tenth.

    >>> limit_of([0.42, -0.33]), limit_of([0.0])
    (0.5, 0.1)
    """
    largest = max((abs(value) for value in differences), default=0.0)
    return max(1, math.ceil(round(10 * largest, 9))) / 10


def bar(difference: float, limit: float) -> Bar:
    """Return the bar of one difference.

    >>> bar(0.25, 0.5), bar(-0.5, 0.5)
    (Bar(x=50.0, width=25.0, side='a'), Bar(x=0.0, width=50.0, side='b'))
    """
    if abs(difference) < EQUAL:
        return Bar(50.0, 0.0, "equal")
    width = round(50 * abs(difference) / limit, 2)
    return Bar(50.0, width, "a") if difference > 0 else Bar(round(50 - width, 2), width, "b")


def symmetric_ticks(limit: float) -> list[Tick]:
    """Return five ticks of an axis from -limit to limit."""
    values = [limit * step / 2 for step in range(-2, 3)]
    places = max(1, svg.places_of(round(limit / 2, 9)))
    return [(25.0 * place, svg.signed(value, places)) for place, value in enumerate(values)]


def distribution(means: Floats, interval: tuple[float, float]) -> Distribution:
    """Return the bins of means of redrawn topics, with the interval and 0 on the same axis."""
    low, high = min(float(means.min()), interval[0], 0.0), max(float(means.max()), interval[1], 0.0)
    step = (high - low) / BINS
    edges = (math.floor(low / step) - 1) * step + step * np.arange(BINS + 4)  # 0 is an edge
    counts, scale = np.histogram(means, edges)[0], Scale(float(edges[0]), float(edges[-1]), 0.0, 100.0)

    def at(value: float) -> float:
        return round(scale(value), 2)

    heights = np.round(100 * counts / counts.max(), 2)
    columns = tuple(
        DistributionBin(at(edge), round(at(edge + step) - at(edge), 2), round(100 - height, 2), height, side)
        for edge, height, side in (
            (float(edge), float(height), "a" if edge > -step / 2 else "b")
            for edge, height in zip(edges[:-1], heights, strict=True)
        )
        if height
    )
    band = at(interval[0]), round(at(interval[1]) - at(interval[0]), 2)
    values = nice_ticks(scale.low, scale.high)
    places = svg.places_of(round(values[1] - values[0], 10))
    ticks = [
        (at(tick), svg.signed(tick, places)) for tick in values if scale.low <= tick <= scale.high and tick
    ]
    return Distribution(columns, band, at(0.0), ((at(0.0), "0"), *ticks))


def dots_axis(values: Sequence[float]) -> list[float]:
    """Return the ticks of the axis of all runs: round numbers around their scores.

    >>> dots_axis([0.36, 0.65])
    [0.3, 0.4, 0.5, 0.6, 0.7]
    """
    return nice_ticks(min(values, default=0.0), max(values, default=1.0))


def dots(then: float, now: float, axis: Sequence[float]) -> Dots:
    """Return where both scores stand; 3 % are left at either end."""
    scale = Scale(axis[0], axis[-1], 3, 97)
    return Dots(round(scale(then), 2), round(scale(now), 2))


def dots_ticks(axis: Sequence[float]) -> list[Tick]:
    return [(dots(tick, tick, axis).now, tick_label(tick, axis)) for tick in axis]


def bars_file(title: str, rows: Sequence[tuple[str, float]], sides: tuple[str, str]) -> str:
    """Return the differences by topic as an SVG file; `sides` are the names of A and B."""
    heads = sides[1], sides[0]
    return differences(rows, name="topics", sentence=title, heads=heads, width=WIDE).file


def distribution_file(title: str, drawn: Distribution) -> str:
    """Return the distribution as an SVG file."""
    height, top, x = 160, 10, Scale(0, 100, 0, WIDE)
    left, wide = drawn.band
    body = [svg.box((x(left), top), (x(wide), height), "band")]
    for row in drawn.columns:
        place, size = (x(row.x), top + row.y * height / 100), (x(row.width) - 1, row.height * height / 100)
        body.append(svg.box(place, size, "plus" if row.side == "a" else "minus"))
    body.append(svg.line((x(drawn.zero), top), (x(drawn.zero), top + height), "axis"))
    body += [svg.text(x(place), top + height + 18, label, "middle") for place, label in drawn.ticks]
    body.append(svg.text(WIDE - 6, top + height + 36, f"{title} \N{RIGHTWARDS ARROW}", "end"))
    return Plot("redrawn", title, top + height + 44, "".join(body), WIDE).file


def dots_file(title: str, rows: Sequence[tuple[str, float, float]]) -> str:
    """Return the runs then (hollow) and now (full) as an SVG file."""
    drawn = [
        DotRow(name, now, before=then, kind="lead", note=svg.signed(now - then, 3))
        for name, then, now in rows
    ]
    return dot_rows(
        drawn,
        name="runs",
        sentence=title,
        axis="score; hollow: then, full: now",
        names=0.4 * WIDE,
        width=WIDE,
    ).file
