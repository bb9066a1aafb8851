"""One mark a run by two numbers: equal axes and their diagonal, and names for those that stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.plots.svg import (
    GLYPHS,
    Plot,
    Scale,
    dot,
    line,
    linked,
    nice_ticks,
    shortened,
    text,
    tick_label,
)

LEFT, TOP, SIDE = 34, 14, 240
"""The frame of the marks is square."""
RIGHT = 350
"""Where labels end."""
LINE = 13
Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Point:
    label: str
    x: float
    y: float
    series: int = 0
    is_named: bool = False
    is_out: bool = False
    """Far from where the others are: drawn in the colour of what stands out."""
    href: str = ""


def scatter(
    points: Sequence[Point], *, name: str, sentence: str, axes: tuple[str, str], is_equal: bool = True
) -> Plot:
    """Return the plot; `axes` names x and y. With equal axes both have the same range, and a diagonal.

    >>> plot = scatter([Point("a", 0.1, 0.2), Point("b", 0.5, 0.4)], name="s", sentence="", axes=("x", "y"))
    >>> plot.body.count("<circle"), "diagonal" in plot.body
    (2, True)
    """
    xs, ys = [point.x for point in points] or [0.0, 1.0], [point.y for point in points] or [0.0, 1.0]
    x_ticks, y_ticks = nice_ticks(min(xs), max(xs)), nice_ticks(min(ys), max(ys))
    if is_equal:
        x_ticks = y_ticks = nice_ticks(min(xs + ys), max(xs + ys))
    wide = RIGHT - LEFT
    x = Scale(x_ticks[0], x_ticks[-1], LEFT, LEFT + wide)
    y = Scale(y_ticks[0], y_ticks[-1], TOP + SIDE, TOP)
    body = []
    for tick in x_ticks:
        body.append(line((x(tick), TOP), (x(tick), TOP + SIDE), "grid"))
        body.append(text(x(tick), TOP + SIDE + 15, tick_label(tick, x_ticks), "middle"))
    for tick in y_ticks:
        body.append(line((LEFT, y(tick)), (LEFT + wide, y(tick)), "grid"))
        body.append(text(LEFT - 6, y(tick) + 4, tick_label(tick, y_ticks), "end"))
    if is_equal:
        body.append(line((LEFT, TOP + SIDE), (LEFT + wide, TOP), "diagonal"))
    body.append(text(RIGHT, TOP + SIDE + 31, f"{axes[0]} \N{RIGHTWARDS ARROW}", "end"))
    body.append(text(LEFT + 5, TOP + 11, f"\N{UPWARDS ARROW} {axes[1]}"))
    for point in sorted(points, key=lambda point: (point.is_named, point.is_out)):
        title = f"{point.label}: {axes[0]} {point.x:z.3f}, {axes[1]} {point.y:z.3f}"
        kind = "out" if point.is_out else "lead" if point.is_named else ""
        mark = dot((x(point.x), y(point.y)), kind, title, series=point.series)
        body.append(linked(mark, point.href, title))
    body += _labels(points, x, y)
    return Plot(name, sentence, TOP + SIDE + 36, "".join(body))


def _labels(points: Sequence[Point], x: Scale, y: Scale) -> list[str]:
    """Return the names of the named points, each beside its mark where it covers fewest marks and no name."""
    marks = [(x(point.x) - 4, y(point.y) - 4, x(point.x) + 4, y(point.y) + 4) for point in points]
    names: list[Area] = []
    drawn = []
    for point in (point for point in points if point.is_named):
        label, at = shortened(point.label, 150), (x(point.x), y(point.y))
        width = GLYPHS * len(label)
        places = [(at[0] + 8, at[1] + 4), (at[0] - 8 - width, at[1] + 4)]
        places += [(at[0] - width / 2, at[1] - 9), (at[0] - width / 2, at[1] + 17)]
        areas = [(left, base - LINE, left + width, base) for left, base in places]
        free = [
            area
            for area in areas
            if area[0] >= LEFT and area[2] <= RIGHT and area[1] >= TOP
            if not any(_overlap(area, name) for name in names)
        ]
        if free:
            best = min(free, key=lambda area: sum(_overlap(area, mark) for mark in marks))
            names.append(best)
            drawn.append(text(best[0], best[3], label, "name"))
    return drawn


def _overlap(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
