"""A number by level, such as a share by grade or tau by threshold, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.plots.svg import Plot, Scale, box, dot, line, linked, path, text, tick_label, whisker

LEFT, RIGHT, TOP, DEEP = 42, 350, 16, 200
APART = 9
"""Units between the marks of two series above one level."""


@dataclass(frozen=True, slots=True)
class Level:
    """One number of one series; None is undefined and not drawn."""

    place: int
    """Of its level among the labels."""
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
    step = (RIGHT - LEFT) / len(frame.labels)
    y = Scale(frame.ticks[0], frame.ticks[-1], TOP + DEEP, TOP)
    n_series = 1 + max((mark.series for mark in marks), default=0)

    def x(mark: Level) -> float:
        return LEFT + step * (mark.place + 0.5) + APART * (mark.series - (n_series - 1) / 2)

    body = _frame(frame, y, step)
    known = [mark for mark in marks if mark.value is not None]
    first = [mark for mark in known if mark.series == 0]
    bounded = [mark for mark in first if mark.low is not None and mark.high is not None]
    if frame.is_band and len(bounded) > 1:
        upper = [(x(mark), y(mark.high or 0.0)) for mark in bounded]
        lower = [(x(mark), y(mark.low or 0.0)) for mark in reversed(bounded)]
        body.append(path(upper + lower, "band", is_closed=True))
    if len(first) > 1:
        body.append(path([(x(mark), y(mark.value or 0.0)) for mark in first], "joined"))
    for mark in known:
        at = (x(mark), y(mark.value or 0.0))
        has_ends = mark.low is not None and mark.high is not None
        if has_ends and not (frame.is_band and mark.series == 0):
            body.append(whisker(at, (y(mark.low or 0.0), y(mark.high or 0.0)), is_flat=False))
        kind = "hollow" if mark.is_hollow else "lead" if mark.series == 0 else ""
        body.append(linked(dot(at, kind, mark.title, series=mark.series), mark.href, mark.title))
        if frame.is_band and mark.series == 0:
            kind = "middle name" if mark.place == frame.chosen else "middle"
            body.append(text(at[0], at[1] - 9, f"{mark.value:z.2f}", kind))
    return Plot(name, sentence, TOP + DEEP + (50 if frame.notes else 36), "".join(body))


def _frame(frame: Frame, y: Scale, step: float) -> list[str]:
    body = []
    for tick in frame.ticks:
        label = f"{100 * tick:.0f} %" if frame.is_share else tick_label(tick, frame.ticks)
        body.append(line((LEFT, y(tick)), (RIGHT, y(tick)), "grid"))
        body.append(text(LEFT - 6, y(tick) + 4, label, "end"))
    if frame.shaded_from is not None:
        left = LEFT + step * frame.shaded_from
        body.append(box((left, TOP), (RIGHT - left, DEEP), "shaded"))
        body.append(text(RIGHT - 5, TOP + DEEP - 6, frame.shaded, "end"))
    if frame.chosen is not None:
        middle = LEFT + step * (frame.chosen + 0.5)
        body.append(line((middle, TOP), (middle, TOP + DEEP), "chosen"))
        body.append(text(middle, TOP - 4, frame.chosen_label, "middle name"))
    for place, label in enumerate(frame.labels):
        middle = LEFT + step * (place + 0.5)
        body.append(text(middle, TOP + DEEP + 15, label, "middle name"))
        if frame.notes:
            body.append(text(middle, TOP + DEEP + 30, frame.notes[place], "middle"))
    below = TOP + DEEP + (46 if frame.notes else 31)
    body.append(text(RIGHT, below, f"{frame.axes[0]} \N{RIGHTWARDS ARROW}", "end"))
    if frame.axes[1]:
        body.append(text(LEFT + 5, TOP + 11, f"\N{UPWARDS ARROW} {frame.axes[1]}"))
    return body
