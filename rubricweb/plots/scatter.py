"""Draw marks on two axes: a mark for each run by two numbers, and a number by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.plots.svg import (
    GLYPHS,
    Plot,
    Scale,
    box,
    dot,
    line,
    linked,
    nice_ticks,
    path,
    shortened,
    text,
    tick_label,
    whisker,
)

LEFT, TOP, SIDE = 34, 14, 240
"""The frame of the marks is square."""
RIGHT = 350
"""Where labels end."""
LINE = 13
Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""
LEVELS_LEFT, LEVELS_RIGHT, LEVELS_TOP, DEEP = 42, 350, 16, 200
APART = 9
"""Units between the marks of two series above one level."""


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


def _overlap(area: Area, other: Area) -> bool:
    return area[0] < other[2] and other[0] < area[2] and area[1] < other[3] and other[1] < area[3]


@dataclass(frozen=True, slots=True)
class Level:
    """One number of one series; None is undefined and not drawn."""

    place: int
    """The index of its level among the labels."""
    value: float | None
    low: float | None = None
    high: float | None = None
    title: str = ""
    href: str = ""
    is_hollow: bool = False
    """It stands on too little."""
    series: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes around levels."""

    labels: tuple[str, ...]
    ticks: tuple[float, ...]
    axes: tuple[str, str]
    notes: tuple[str, ...] = ()
    """A second line below the labels, such as how many there are of each."""
    is_share: bool = False
    shaded_from: int | None = None
    """The levels from this place on are shaded, with `shaded` as the reason."""
    shaded: str = ""
    chosen: int | None = None
    """The level in effect has a line, with `chosen_label` above."""
    chosen_label: str = ""
    is_band: bool = False
    """Intervals of the first series are a band behind its line, not whiskers."""


def levels(marks: Sequence[Level], frame: Frame, *, name: str, sentence: str) -> Plot:
    """Return the plot; the first series is joined by a line.

    >>> frame = Frame(("0", "1"), (0.0, 1.0), ("grade", "share"))
    >>> plot = levels([Level(0, 0.5, 0.25, 0.75), Level(1, None)], frame, name="l", sentence="")
    >>> plot.body.count("<circle"), plot.body.count("whisker")
    (1, 1)
    """
    step = (LEVELS_RIGHT - LEVELS_LEFT) / len(frame.labels)
    y = Scale(frame.ticks[0], frame.ticks[-1], LEVELS_TOP + DEEP, LEVELS_TOP)
    n_series = 1 + max((mark.series for mark in marks), default=0)

    def x(mark: Level) -> float:
        return LEVELS_LEFT + step * (mark.place + 0.5) + APART * (mark.series - (n_series - 1) / 2)

    body = _frame(frame, y, step)
    defined = [mark for mark in marks if mark.value is not None]
    first = [mark for mark in defined if mark.series == 0]
    bounded = [mark for mark in first if mark.low is not None and mark.high is not None]
    if frame.is_band and len(bounded) > 1:
        upper = [(x(mark), y(mark.high or 0.0)) for mark in bounded]
        lower = [(x(mark), y(mark.low or 0.0)) for mark in reversed(bounded)]
        body.append(path(upper + lower, "band", is_closed=True))
    if len(first) > 1:
        body.append(path([(x(mark), y(mark.value or 0.0)) for mark in first], "joined"))
    for mark in defined:
        at = (x(mark), y(mark.value or 0.0))
        has_ends = mark.low is not None and mark.high is not None
        if has_ends and not (frame.is_band and mark.series == 0):
            body.append(whisker(at, (y(mark.low or 0.0), y(mark.high or 0.0)), is_flat=False))
        kind = "hollow" if mark.is_hollow else "lead" if mark.series == 0 else ""
        body.append(linked(dot(at, kind, mark.title, series=mark.series), mark.href, mark.title))
        if frame.is_band and mark.series == 0:
            kind = "middle name" if mark.place == frame.chosen else "middle"
            body.append(text(at[0], at[1] - 9, f"{mark.value:z.2f}", kind))
    return Plot(name, sentence, LEVELS_TOP + DEEP + (50 if frame.notes else 36), "".join(body))


def _frame(frame: Frame, y: Scale, step: float) -> list[str]:
    body = []
    for tick in frame.ticks:
        label = f"{100 * tick:.0f} %" if frame.is_share else tick_label(tick, frame.ticks)
        body.append(line((LEVELS_LEFT, y(tick)), (LEVELS_RIGHT, y(tick)), "grid"))
        body.append(text(LEVELS_LEFT - 6, y(tick) + 4, label, "end"))
    if frame.shaded_from is not None:
        left = LEVELS_LEFT + step * frame.shaded_from
        body.append(box((left, LEVELS_TOP), (LEVELS_RIGHT - left, DEEP), "shaded"))
        body.append(text(LEVELS_RIGHT - 5, LEVELS_TOP + DEEP - 6, frame.shaded, "end"))
    if frame.chosen is not None:
        middle = LEVELS_LEFT + step * (frame.chosen + 0.5)
        body.append(line((middle, LEVELS_TOP), (middle, LEVELS_TOP + DEEP), "chosen"))
        body.append(text(middle, LEVELS_TOP - 4, frame.chosen_label, "middle name"))
    for place, label in enumerate(frame.labels):
        middle = LEVELS_LEFT + step * (place + 0.5)
        body.append(text(middle, LEVELS_TOP + DEEP + 15, label, "middle name"))
        if frame.notes:
            body.append(text(middle, LEVELS_TOP + DEEP + 30, frame.notes[place], "middle"))
    below = LEVELS_TOP + DEEP + (46 if frame.notes else 31)
    body.append(text(LEVELS_RIGHT, below, f"{frame.axes[0]} \N{RIGHTWARDS ARROW}", "end"))
    if frame.axes[1]:
        body.append(text(LEVELS_LEFT + 5, LEVELS_TOP + 11, f"\N{UPWARDS ARROW} {frame.axes[1]}"))
    return body
