"""Draw numbers by category: tables of shaded cells, rows of bars or dots on one axis, and levels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from rubricweb.plots import (
    WIDTH,
    Plot,
    Scale,
    box,
    dot,
    line,
    linked,
    nice_ticks,
    path,
    places_of,
    shortened,
    signed,
    text,
    tick_label,
    whisker,
)

LEFT, TOP, ROW = 62, 24, 34
TOTAL = 44
"""The width of the last column, with the sum of a row."""
BINS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where a share has the next colour."""
THIN = 16
NAMES = 110
"""The width of the labels of rows."""
ROW_LEFT, RIGHT, ROW_TOP = 6, 354, 20
ROW_HEIGHT, TWO_LINES = 22, 34
NOTE = 56
"""Units that notes at the ends of rows take."""
LEVELS_LEFT, LEVELS_RIGHT, LEVELS_TOP, DEEP = 42, 350, 16, 200
APART = 9
"""Units between the marks of two series above one level."""
WIDER = 16
"""Units that a label of capitals takes beyond those of `shortened`."""
EQUAL = 5e-4
"""Smaller differences are hollow dots."""
MOST_TOPICS = 200
"""Topics that boards show one by one; of more, each mark is of neighbours."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """The scores of one row; None is missing, which is not 0."""

    label: str
    scores: tuple[float | None, ...]
    href: str = ""


def shade(share: float) -> int:
    """Return the colour of a share, 0 to 5.

    >>> [shade(share) for share in (0.0, 0.1, 0.6, 1.0)]
    [0, 1, 3, 5]
    """
    return bisect_right(BINS, share)


def topic_groups(topics: Sequence[str]) -> list[tuple[str, slice]]:
    """Return the marks of a board's topics, each with its name and its places: of one topic, or of several.

    >>> topic_groups(["q1", "q2"])
    [('q1', slice(0, 1, None)), ('q2', slice(1, 2, None))]
    >>> topic_groups(["q"] * 1_000)[-1]
    ('topics 996 to 1,000', slice(995, 1000, None))
    """
    if len(topics) <= MOST_TOPICS:
        return [(name, slice(place, place + 1)) for place, name in enumerate(topics)]
    size = -(-len(topics) // MOST_TOPICS)
    starts = range(0, len(topics), size)
    ends = [min(start + size, len(topics)) for start in starts]
    return [
        (f"topics {start + 1:,} to {end:,}", slice(start, end))
        for start, end in zip(starts, ends, strict=True)
    ]


def mean_of(scores: Sequence[float | None]) -> float | None:
    """Return the mean of those that are there; None of none.

    >>> mean_of([0.5, None, 1.0]), mean_of([None])
    (0.75, None)
    """
    counted = [score for score in scores if score is not None]
    return sum(counted) / len(counted) if counted else None


def confusion(
    counts: Sequence[Sequence[int]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
    sentence: str,
    corner: tuple[str, str],
) -> Plot:
    """Return how often each row met each column; colour is the share of the row. `corner` names both.

    >>> plot = confusion(
    ...     [[3, 1]], rows=["5"], columns=["0", "1"], name="c", sentence="", corner=("grade", "judged")
    ... )
    >>> "75 % of grade 5" in plot.body
    True
    """
    step = (WIDTH - LEFT - TOTAL) / max(1, len(columns))
    body = [text(LEFT - 8, TOP - 8, corner[1], "end"), text(WIDTH - 8, TOP - 8, "n", "end")]
    body += [text(LEFT + step * (n + 0.5), TOP - 8, label, "middle name") for n, label in enumerate(columns)]
    for place, (label, of_row) in enumerate(zip(rows, counts, strict=True)):
        top, total = TOP + ROW * place, sum(of_row)
        body.append(text(LEFT - 8, top + 21, f"{corner[0]} {label}", "end name"))
        for column, count in enumerate(of_row):
            share = count / total if total else 0.0
            title = f"{count:,} judged {columns[column]}: {100 * share:.0f} % of {corner[0]} {label}"
            left = LEFT + step * column
            body.append(box((left + 1, top + 1), (step - 2, ROW - 2), f"cell shade-{shade(share)}", title))
            kind = f"middle count on-{shade(share)}"
            body.append(text(left + step / 2, top + 21, f"{count:,}", kind))
        body.append(text(WIDTH - 8, top + 21, f"{total:,}", "end"))
    return Plot(name, sentence, TOP + ROW * len(rows) + 4, "".join(body))


def heat_map(rows: Sequence[HeatRow], columns: Sequence[str], *, name: str, sentence: str) -> Plot:
    """Return a row each with a cell a column: shares in six colours, dashed where one is missing.

    It is for paper: as wide as its columns need, with their labels below.

    >>> plot = heat_map([HeatRow("bm25", (0.5,))], ["t1"], name="h", sentence="")
    >>> "rotate(60)" in plot.body, plot.width
    (True, 360)
    """
    bottom = 8 + THIN * len(rows)
    body = []
    for place, row in enumerate(rows):
        top = 4 + THIN * place
        label = text(NAMES - 6, top + 12, shortened(row.label, NAMES - 6), "end name")
        body.append(linked(label, row.href, row.label))
        for column, score in enumerate(row.scores):
            kind = "cell missing" if score is None else f"cell shade-{shade(score)}"
            stated = "no score" if score is None else f"{score:z.3f}"
            title = f"{row.label}, {columns[column]}: {stated}"
            body.append(box((NAMES + THIN * column, top), (THIN - 1, THIN - 1), kind, title))
    body += [
        f'<g transform="translate({NAMES + THIN * column + 4} {bottom + 8}) rotate(60)">'
        f"{text(0, 0, shortened(label, 190))}</g>"
        for column, label in enumerate(columns)
    ]
    width = max(WIDTH, NAMES + THIN * len(columns) + 100)
    return Plot(name, sentence, bottom + 190, "".join(body), width)


@dataclass(frozen=True, slots=True)
class DotRow:
    """A score with its interval; None is undefined and leaves the row empty."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    before: float | None = None
    """Where it was: a hollow dot, joined to the full one."""
    href: str = ""
    kind: str = ""
    """`lead`, `out` or nothing."""
    note: str = ""
    """What stands at the end of the row."""


@dataclass(frozen=True, slots=True)
class Bars:
    """What falls and what rises, each with whose it is."""

    label: str
    low: float
    high: float
    low_label: str
    high_label: str
    href: str = ""


def dot_rows(
    rows: Sequence[DotRow], *, name: str, sentence: str, axis: str, names: float = 130, width: float = WIDTH
) -> Plot:
    """Return a row each on one axis; `names` is the width of the labels.

    >>> plot = dot_rows([DotRow("bm25", 0.5, 0.4, 0.6)], name="r", sentence="", axis="score")
    >>> plot.body.count("<circle"), plot.body.count("whisker")
    (1, 1)
    """
    drawn = [end for row in rows for end in (row.value, row.low, row.high, row.before) if end is not None]
    ticks = nice_ticks(min(drawn, default=0.0), max(drawn, default=1.0))
    end = width - ROW_LEFT
    right = end - (NOTE if any(row.note for row in rows) else 0)
    x, bottom = Scale(ticks[0], ticks[-1], names + 8, right - 8), ROW_TOP + ROW_HEIGHT * len(rows)
    body = []
    for tick in ticks:
        body.append(line((x(tick), ROW_TOP), (x(tick), bottom), "grid"))
        body.append(text(x(tick), ROW_TOP - 6, tick_label(tick, ticks), "middle"))
    for place, row in enumerate(rows):
        y = ROW_TOP + ROW_HEIGHT * (place + 0.5)
        body.append(text(names, y + 4, shortened(row.label, names - WIDER), "end name"))
        if row.value is None:
            continue
        ends = "" if row.low is None or row.high is None else f" ({row.low:z.3f} to {row.high:z.3f})"
        title = f"{row.label}: {row.value:z.3f}{ends}"
        if row.low is not None and row.high is not None:
            body.append(whisker((0, y), (x(row.low), x(row.high)), is_flat=True))
        if row.before is not None:
            body.append(line((x(row.before), y), (x(row.value), y), "joined"))
            body.append(dot((x(row.before), y), "hollow", f"{row.label} before: {row.before:z.3f}"))
        body.append(linked(dot((x(row.value), y), row.kind, title), row.href, title))
        body.append(text(end, y + 4, row.note, "end") if row.note else "")
    body.append(text(right, bottom + 14, f"{axis} \N{RIGHTWARDS ARROW}", "end"))
    return Plot(name, sentence, bottom + 20, "".join(body), width)


def differences(
    rows: Sequence[tuple[str, float]], *, name: str, sentence: str, heads: tuple[str, str], width: float
) -> Plot:
    """Return a bar a row, to the left or the right of zero; `heads` says whose the sides are.

    >>> plot = differences([("t1", 0.5), ("t2", 0.0)], name="d", sentence="", heads=("b", "a"), width=740)
    >>> plot.body.count("<rect"), plot.body.count("<circle")
    (1, 1)
    """
    most = max((abs(value) for _, value in rows), default=0.0)
    ticks = nice_ticks(-most, most, most=4)
    names, right = width * 0.4, width - ROW_LEFT - NOTE
    x, top = Scale(ticks[0], ticks[-1], names + 8, right), ROW_TOP + ROW_HEIGHT
    zero, bottom = x(0.0), top + ROW_HEIGHT * len(rows)
    body = [text(zero - 8, 11, f"\N{LEFTWARDS ARROW} {heads[0]}", "end")]
    body.append(text(zero + 8, 11, f"{heads[1]} \N{RIGHTWARDS ARROW}"))
    for tick in ticks:
        body.append(line((x(tick), top), (x(tick), bottom), "grid" if tick else "axis"))
        label = signed(tick, places_of(ticks[1] - ticks[0]))
        body.append(text(x(tick), top - 6, label, "middle"))
    for place, (label, value) in enumerate(rows):
        y, title = top + ROW_HEIGHT * (place + 0.5), f"{label}: {signed(value, 3)}"
        body.append(text(names, y + 4, shortened(label, names - 16), "end name"))
        body.append(text(width - ROW_LEFT, y + 4, signed(value, 3), "end"))
        if abs(value) < EQUAL:
            body.append(dot((zero, y), "hollow", title, radius=3))
        else:
            start, end = sorted((zero, x(value)))
            body.append(box((start, y - 7), (end - start, 14), "plus" if value > 0 else "minus", title))
    return Plot(name, sentence, bottom + 6, "".join(body), width)


def tornado(rows: Sequence[Bars], *, name: str, sentence: str, heads: tuple[str, str]) -> Plot:
    """Return two bars a row around a middle line; `heads` says what left and right of it mean.

    >>> bars = [Bars("Why?", -0.5, 0.25, "a", "b")]
    >>> tornado(bars, name="t", sentence="", heads=("loses most", "gains most")).body.count("<rect")
    2
    """
    most = max((max(-row.low, row.high) for row in rows), default=0.0) or 1.0
    middle, half = WIDTH / 2, 54
    bottom = ROW_TOP + TWO_LINES * len(rows)
    body = [text(middle - 6, 11, heads[0], "end"), text(middle + 6, 11, heads[1])]
    for place, row in enumerate(rows):
        top = ROW_TOP + TWO_LINES * place
        title = f"{row.label}: {row.low_label} {row.low:+z.4f}, {row.high_label} {row.high:+z.4f}"
        left, right = half * -row.low / most, half * row.high / most
        marks = text(ROW_LEFT, top + 11, shortened(row.label, RIGHT - ROW_LEFT), "name")
        marks += box((middle - left, top + 16), (left, 11), "bar minus", title)
        marks += box((middle, top + 16), (right, 11), "bar plus", title)
        body.append(linked(marks, row.href, title))
        body.append(line((middle, top + 14), (middle, top + 29), "axis"))
        room = middle - half - ROW_LEFT - 10
        body.append(text(middle - left - 4, top + 26, _labelled(row.low_label, row.low, room), "end"))
        body.append(text(middle + right + 4, top + 26, _labelled(row.high_label, row.high, room)))
    return Plot(name, sentence, bottom + 4, "".join(body))


def _labelled(label: str, value: float, room: float) -> str:
    """Return the number with its name, cut to the room that is left beside the longest bar."""
    change = signed(value, 4)
    return f"{change} {shortened(label, room - 54)}" if label else change


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
