"""The plots of comparisons, from numbers alone: places in per cent for pages, and whole SVG files.

Places in per cent need no size, so that a page stretches its plots and scripts have nothing to do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Tick = tuple[float, str]
"""A place in per cent with its label."""

BINS = 30
EQUAL = 5e-4
"""Differences below it are shown as a hollow dot."""
BLUE, ORANGE, GREY, INK = "#1d5a99", "#b4560f", "#8a929b", "#1a1e23"
ROW, NAMES, BODY = 22, 300, 360
"""Of SVG files, in pixels: the height of a row, the width of its name, and of its bar."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A difference on a symmetric axis, in per cent of its width."""

    x: float
    width: float
    side: str
    """a: to the right, b: to the left, equal: a dot at 0."""


@dataclass(frozen=True, slots=True)
class Column:
    """A bin of a distribution, in per cent of the plot; `y` is its top."""

    x: float
    width: float
    y: float
    height: float
    side: str


@dataclass(frozen=True, slots=True)
class Distribution:
    columns: tuple[Column, ...]
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
    decimals = 1 if limit * 5 == round(limit * 5) else 2
    return [(25.0 * place, _signed(value, decimals)) for place, value in enumerate(values)]


def distribution(means: Floats, interval: tuple[float, float]) -> Distribution:
    """Return the bins of means of redrawn topics, with the interval and 0 on the same axis."""
    low, high = min(float(means.min()), interval[0], 0.0), max(float(means.max()), interval[1], 0.0)
    step = (high - low) / BINS
    start = (math.floor(low / step) - 1) * step  # 0 is an edge
    edges = start + step * np.arange(BINS + 4)
    end = float(edges[-1])
    counts = np.histogram(means, edges)[0]

    def at(value: float) -> float:
        return round(100 * (value - start) / (end - start), 2)

    heights = np.round(100 * counts / counts.max(), 2)
    columns = tuple(
        Column(at(edge), round(at(edge + step) - at(edge), 2), round(100 - height, 2), height, side)
        for edge, height, side in (
            (float(edge), float(height), "a" if edge > -step / 2 else "b")
            for edge, height in zip(edges[:-1], heights, strict=True)
        )
        if height
    )
    band = at(interval[0]), round(at(interval[1]) - at(interval[0]), 2)
    inner = (tick for tick in nice_ticks(start, end) if tick)
    ticks = [(at(tick), _signed(tick, _decimals(end - start))) for tick in inner]
    return Distribution(columns, band, at(0.0), ((at(0.0), "0"), *ticks))


def dots_axis(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axis of all runs: the tenths around their scores.

    >>> dots_axis([0.36, 0.65]), dots_axis([0.5])
    ((0.3, 0.7), (0.5, 0.6))
    """
    low = math.floor(round(10 * min(values, default=0.0), 9)) / 10
    high = math.ceil(round(10 * max(values, default=1.0), 9)) / 10
    return low, high if high > low else round(low + 0.1, 1)


def dots(then: float, now: float, axis: tuple[float, float]) -> Dots:
    """Return where both scores stand; 3 % are left at either end."""
    low, high = axis
    return Dots(*(round(3 + 94 * (value - low) / (high - low), 2) for value in (then, now)))


def dots_ticks(axis: tuple[float, float]) -> list[Tick]:
    low, high = axis
    decimals = _decimals(high - low)
    return [(dots(tick, tick, axis).now, f"{tick:.{decimals}f}") for tick in nice_ticks(low, high)]


def nice_ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers from low to high.

    >>> nice_ticks(-0.12, 0.21), nice_ticks(0.3, 0.7)
    ([-0.1, 0.0, 0.1, 0.2], [0.3, 0.4, 0.5, 0.6, 0.7])
    """
    span = high - low
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (0.1, 0.2, 0.5, 1, 2) if span / (power * factor) <= 6)
    first, last = math.ceil(round(low / step, 6)), math.floor(round(high / step, 6))
    return [round(number * step, 9) + 0.0 for number in range(first, last + 1)]


def bars_file(title: str, rows: Sequence[tuple[str, float]], sides: tuple[str, str]) -> str:
    """Return the differences by topic as an SVG file; `sides` are the names of A and B."""
    limit = limit_of([difference for _, difference in rows])
    parts = [_text(NAMES + BODY / 2 - 8, 34, f"\N{LEFTWARDS ARROW} {sides[1]}", "end", ORANGE)]
    parts.append(_text(NAMES + BODY / 2 + 8, 34, f"{sides[0]} \N{RIGHTWARDS ARROW}", "start", BLUE))
    for place, (name, difference) in enumerate(rows):
        y, drawn = 44 + ROW * place, bar(difference, limit)
        parts.append(_text(NAMES - 10, y + 15, name if len(name) <= 44 else f"{name[:43]}…", "end"))
        x, width = NAMES + drawn.x * BODY / 100, drawn.width * BODY / 100
        if drawn.side == "equal":
            parts.append(f'<circle cx="{x:g}" cy="{y + 11}" r="3" fill="#fff" stroke="{GREY}"/>')
        else:
            fill = BLUE if drawn.side == "a" else ORANGE
            parts.append(f'<rect x="{x:g}" y="{y + 4}" width="{width:g}" height="14" fill="{fill}"/>')
        parts.append(_text(NAMES + BODY + 60, y + 15, _signed(difference, 3), "end"))
    bottom = 44 + ROW * len(rows)
    middle = NAMES + BODY / 2
    parts.append(f'<path d="M{middle:g} 40V{bottom + 4}" stroke="{INK}"/>')
    for x, label in symmetric_ticks(limit):
        parts.append(_text(NAMES + x * BODY / 100, bottom + 20, label, "middle", GREY))
    return _file(title, NAMES + BODY + 80, bottom + 30, parts)


def distribution_file(title: str, drawn: Distribution) -> str:
    """Return the distribution as an SVG file."""
    width, height, top = 640, 160, 34
    left, wide = (place * width / 100 for place in drawn.band)
    parts = [f'<rect x="{left:g}" y="{top}" width="{wide:g}" height="{height}" fill="#e8f0f8"/>']
    for one in drawn.columns:
        fill = BLUE if one.side == "a" else ORANGE
        x, wide = one.x * width / 100, max(one.width * width / 100 - 1, 0.5)
        y, high = top + one.y * height / 100, one.height * height / 100
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" fill="{fill}"/>')
    zero = drawn.zero * width / 100
    parts.append(f'<path d="M{zero:g} {top}V{top + height}" stroke="{INK}" stroke-width="2"/>')
    for x, label in drawn.ticks:
        parts.append(_text(x * width / 100, top + height + 18, label, "middle", GREY))
    return _file(title, width, top + height + 28, parts)


def dots_file(title: str, rows: Sequence[tuple[str, float, float]]) -> str:
    """Return the runs then (hollow) and now (full) as an SVG file."""
    axis = dots_axis([value for _, *values in rows for value in values])
    parts = []
    for place, (name, then, now) in enumerate(rows):
        y, drawn = 44 + ROW * place + 11, dots(then, now, axis)
        was, now_at = (NAMES + x * BODY / 100 for x in (drawn.then, drawn.now))
        parts.append(_text(NAMES - 10, y + 4, name, "end"))
        parts.append(f'<path d="M{was:g} {y}H{now_at:g}" stroke="{BLUE}" stroke-width="2"/>')
        parts.append(f'<circle cx="{was:g}" cy="{y}" r="4" fill="#fff" stroke="{GREY}" stroke-width="1.5"/>')
        parts.append(f'<circle cx="{now_at:g}" cy="{y}" r="4.5" fill="{BLUE}"/>')
        parts.append(_text(NAMES + BODY + 60, y + 4, _signed(now - then, 3), "end"))
    for x, label in dots_ticks(axis):
        parts.append(_text(NAMES + x * BODY / 100, 38, label, "middle", GREY))
    return _file(title, NAMES + BODY + 80, 54 + ROW * len(rows), parts)


def _file(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
    font = 'font-family="Inter, Helvetica, Arial, sans-serif" font-size="12">'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    name = f"<title>{escape(title)}</title>"
    heading = f'<text x="10" y="18" font-weight="600" fill="{INK}">{escape(title)}</text>'
    return "".join([head, font, name, ground, heading, *parts, "</svg>\n"])


def _text(x: float, y: float, text: str, anchor: str, fill: str = INK) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def _decimals(span: float) -> int:
    return max(1, 1 - math.floor(math.log10(span))) if span < 1 else 1


def _signed(value: float, decimals: int) -> str:
    text = f"{value:+z.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    return text[1:] if not float(f"{value:z.{decimals}f}") else text
