"""The drawings of a board as numbers for its templates: dots on one axis, strips, scatter and ticks.

Places are percentages of the drawing's width, so that it fits any column; the scatter has its own square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rubricweb.leaderboards import score_axis

BANDS = {False: "not clearly behind", True: "clearly behind"}
"""The first run, that is."""
PADDING = 2.0
"""Per cent of the width that stay free at each end of an axis, for half a dot."""
FAR_BELOW = 0.1
"""Share of the axis: a run that lies so far below the next one is left out of the axis."""
CUT_FROM = 8
"""With fewer runs all are on the axis."""
GHOST_FROM = 0.006
"""With a smaller change the dot of before would stand under the dot of now."""
SHADES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The ends of the bins of a colour."""
SIDE, LEFT, BOTTOM = 200, 30, 22
"""Of a scatter: its square, and what stands left of it and below."""
NAMED, GAP, LETTER = 2, 7, 6
"""How many first runs have their names beside their points, how far off these are, and a letter's width."""
LABELLED_FROM = 0.25
"""Share of the axes: a point that lies further off the diagonal has its name beside it."""


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
        span = self.end - self.start
        share = min(max((value - self.start) / span, 0.0), 1.0) if span > 0 else 0.5
        return round(PADDING + share * (100 - 2 * PADDING), 2)

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
    shown = sorted(spreads, key=lambda spread: spread.value)
    whole = shown[-1].value - shown[0].value if shown else 0.0
    gaps = [
        place
        for place in range(1, len(shown) // CUT_FROM + 1)
        if shown[place].value - shown[place - 1].value > FAR_BELOW * whole
    ]
    kept = shown[max(gaps, default=0) :]
    ends = [end for spread in kept for end in (spread.value, spread.low, spread.high) if end is not None]
    axis = score_axis.axis_of(ends)
    if axis is None:
        return None
    bare = DotAxis(axis.start, axis.end, ())
    return replace(bare, ticks=tuple((bare.at(value), label) for value, label in axis.labels))


def shade(score: float | None) -> int | None:
    """Return 0 to 5 for a score from 0 to 1; None where there is none.

    >>> [shade(score) for score in (0.0, 0.1, 0.49, 0.95, None)]
    [0, 1, 2, 5, None]
    """
    return None if score is None else sum(score >= end for end in SHADES)


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    name: str
    is_first: bool
    title: str
    label_at: float | None = None
    """Where its name begins; None for a point without a name beside it."""
    is_left: bool = False
    """Its name ends there instead, since there is no room to the right."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Two scores of the same runs, each on an axis of its own that starts at the lowest round number."""

    points: tuple[Point, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]


def scatter(pairs: Sequence[tuple[str, float, float]], first: Sequence[str]) -> Scatter | None:
    """Return the drawing of (name, x, y); the first runs and the farthest from the diagonal are named."""
    across = score_axis.axis_of([x for _, x, _ in pairs])
    up = score_axis.axis_of([y for _, _, y in pairs])
    if across is None or up is None:
        return None
    places = [
        (round(LEFT + _share(across, x) * SIDE, 1), round((1 - _share(up, y)) * SIDE, 1)) for _, x, y in pairs
    ]
    off = [abs((x - LEFT) + y - SIDE) for x, y in places]
    farthest = max(range(len(pairs)), key=off.__getitem__)
    points = []
    for number, ((name, x, y), (right, below)) in enumerate(zip(pairs, places, strict=True)):
        is_left = right > LEFT + SIDE / 2
        is_named = name in first[:NAMED] or (number == farthest and off[number] >= LABELLED_FROM * SIDE)
        ends = (
            (right - LETTER * len(name), right - GAP)
            if is_left
            else (right + GAP, right + LETTER * len(name))
        )
        is_free = not any(ends[0] <= x <= ends[1] and abs(y - below) < 2 * GAP for x, y in places)
        points.append(
            Point(
                right,
                below,
                name,
                name in first,
                f"{name}: {y:z.3f} here, {x:z.3f} there",
                ends[is_left] if is_named and is_free else None,
                is_left,
            )
        )
    return Scatter(
        tuple(points),
        tuple((round(LEFT + _share(across, value) * SIDE, 1), label) for value, label in across.labels),
        tuple((round((1 - _share(up, value)) * SIDE, 1), label) for value, label in up.labels),
    )


def _share(axis: score_axis.Axis, value: float) -> float:
    return (value - axis.start) / (axis.end - axis.start) if axis.end > axis.start else 0.5


def ticks(scores: Sequence[float | None], low: float, high: float) -> list[float]:
    """Return where the scores of a topic stand between the lowest and the highest of a board, in per cent."""
    axis = DotAxis(low, high, ())
    return [axis.at(score) for score in scores if score is not None]
