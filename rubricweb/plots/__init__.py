"""Lay out SVG drawings, coloured by classes alone (static/css/plots.css), and draw marks on two axes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from django.conf import settings
from django.utils.safestring import SafeString

from grading.formats.tables import PrintedTable

WIDTH = 360
"""Units of a plot's width: at 390 px a unit is a little less than a pixel, so that 12 stays readable."""
GLYPHS = 6.4
"""Units that a letter takes on average."""
SHAPES = ("circle", "square", "diamond", "triangle")
"""By series: the shape tells them apart where colour does not."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of numbers; whoever shows it puts the same numbers beside it as a table."""

    name: str
    """The name of its file."""
    sentence: str
    """What it shows, for those who do not see it."""
    height: float
    body: str
    width: float = WIDTH

    @property
    def svg(self) -> SafeString:
        """Return the plot for a page: its links are one stop of the Tab key, and arrows move between them."""
        role = "group" if "<a " in self.body else "img"
        head = f'<svg class="plot" viewBox="0 0 {self.width} {self.height:g}" role="{role}"'
        return SafeString(
            f'{head} aria-label="{escape(self.sentence)}" data-plot="{escape(self.name)}">{self.body}</svg>'
        )

    @property
    def file(self) -> str:
        """Return the plot as a file of its own: light, without links, its styles inside."""
        size = f'width="{self.width}" height="{self.height:g}" viewBox="0 0 {self.width} {self.height:g}"'
        paper = f'<rect width="{self.width}" height="{self.height:g}" fill="#fff"/>'
        drawing = re.sub(r"<a [^>]*>|</a>", "", self.body)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size}><title>{escape(self.sentence)}'
            f"</title><style>{_light_styles()}</style>{paper}{drawing}</svg>\n"
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to places of a plot.

    >>> Scale(0, 2, 100, 200)(0.5)
    125.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers, evenly spaced, from one at or below `low` to one at or above `high`.

    >>> nice_ticks(0.03, 0.71), nice_ticks(3, 3)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [2.0, 2.5, 3.0, 3.5, 4.0])
    """
    if high <= low:
        low, high = (low - abs(low) / 3, low + abs(low) / 3) if low else (0.0, 1.0)
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * base for base in (1, 2, 5, 10) if power * base >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 10) + 0.0 for number in range(first, last + 1)]


def tick_label(value: float, ticks: Sequence[float]) -> str:
    """Return the number with as many decimals as the ticks need to differ.

    >>> tick_label(0.5, [0, 0.25, 0.5]), tick_label(2, [0, 2])
    ('0.50', '2')
    """
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=1.0)
    return f"{value:z.{places_of(step)}f}"


def places_of(step: float) -> int:
    """Return how many decimals tell numbers apart that lie a step from each other.

    >>> places_of(0.05), places_of(20)
    (2, 0)
    """
    return next((n for n in range(6) if abs(round(step, n) - step) < 1e-9), 6)


def signed(value: float, places: int) -> str:
    """Return the number with its sign, a true minus; what rounds to zero has none.

    >>> signed(0.25, 2), signed(-0.0004, 3), signed(-1, 1)
    ('+0.25', '0.000', '\N{MINUS SIGN}1.0')
    """
    rounded = f"{value:+z.{places}f}"
    return (rounded if float(rounded) else rounded[1:]).replace("-", "\N{MINUS SIGN}")


def text(x: float, y: float, label: str, kind: str = "") -> str:
    """Return a line of text; `kind` is a list of classes: `middle` and `end` say what stands at `x`."""
    return f'<text dir="auto" x="{x:.1f}" y="{y:.1f}"{_class(kind)}>{escape(label)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], kind: str, title: str = "") -> str:
    path = f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"
    return f'<path d="{path}"{_class(kind)}>{_title(title)}</path>'


def path(points: Sequence[tuple[float, float]], kind: str, *, is_closed: bool = False) -> str:
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}{"Z" if is_closed else ""}"{_class(kind)}/>'


def box(corner: tuple[float, float], size: tuple[float, float], kind: str, title: str = "") -> str:
    """Return a rectangle from its upper left corner."""
    place = f'x="{corner[0]:.1f}" y="{corner[1]:.1f}" width="{max(0.0, size[0]):.1f}" height="{size[1]:.1f}"'
    return f'<rect {place} rx="2"{_class(kind)}>{_title(title)}</rect>'


def dot(at: tuple[float, float], kind: str, title: str, *, series: int = 0, radius: float = 4.5) -> str:
    """Return a mark of that series, with what a pointer over it reads."""
    (x, y), r, shape = at, radius, SHAPES[series % len(SHAPES)]
    classes = _class(f"dot series-{series} {kind}".strip())
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"{classes}>{_title(title)}</circle>'
    corners = {
        "square": [(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
        "diamond": [(x, y - r * 1.3), (x + r * 1.3, y), (x, y + r * 1.3), (x - r * 1.3, y)],
        "triangle": [(x, y - r * 1.2), (x + r * 1.2, y + r), (x - r * 1.2, y + r)],
    }[shape]
    steps = "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)
    return f'<path d="M{steps}Z"{classes}>{_title(title)}</path>'


def linked(mark: str, href: str, title: str) -> str:
    """Return the mark as a link to what it stands for; as it is without an address."""
    return f'<a href="{escape(href)}" aria-label="{escape(title)}">{mark}</a>' if href else mark


def whisker(at: tuple[float, float], ends: tuple[float, float], kind: str = "", *, is_flat: bool) -> str:
    """Return an interval through `at`, with its ends as ticks: along x if it is flat, else along y."""
    (x, y), (low, high) = at, ends
    if is_flat:
        steps = f"M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 3:.1f}v6M{high:.1f} {y - 3:.1f}v6"
    else:
        steps = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6"
    return f'<path d="{steps}"{_class(f"whisker {kind}".strip())}/>'


def shortened(label: str, units: float) -> str:
    """Return the label, cut with an ellipsis where it is wider than so many units.

    >>> shortened("bm25_robertson", 50)
    'bm25_ro\N{HORIZONTAL ELLIPSIS}'
    """
    most = max(2, int(units / GLYPHS) + 1)
    return label if len(label) <= most else f"{label[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""


def _title(title: str) -> str:
    return f"<title>{escape(title)}</title>" if title else ""


@lru_cache(maxsize=1)
def _light_styles() -> str:
    """Return the styles of plots with the light value of each token in place of its name."""
    folder = settings.FILES_DIR / "static" / "css"
    tokens, styles = ((folder / name).read_text(encoding="utf-8") for name in ("tokens.css", "plots.css"))
    light = dict(re.findall(r"(--[\w-]+): light-dark\((#\w+),", tokens + styles))
    rules = " ".join(re.findall(r"^ *(\.plot[^{@]*\{[^}]*\})", styles, re.MULTILINE))
    return re.sub(r"\s+", " ", re.sub(r"var\((--[\w-]+)\)", lambda name: light[name[1]], rules))


@dataclass(frozen=True, slots=True)
class Fact:
    """One number at the foot, such as how many runs there are."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Picture:
    """What the tag `picture` shows. Without a plot it says what is missing, and which page brings it."""

    name: str
    """In ids and in the names of files."""
    title: str
    """What the numbers say, by rules."""
    subtitle: str = ""
    """How to read the plot."""
    plot: Plot | None = None
    facts: tuple[Fact, ...] = ()
    tabulate: Callable[[], PrintedTable | None] | None = None
    """Returns the same numbers as a table, which a page has when its reader opens it."""
    href: str = ""
    """What fills an empty frame: a page, and what its button says."""
    button: str = ""

    @property
    def has_sheet(self) -> bool:
        return self.tabulate is not None

    @property
    def sheet(self) -> PrintedTable | None:
        return self.tabulate() if self.tabulate else None


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


def _overlap(area: Area, other: Area) -> bool:
    return area[0] < other[2] and other[0] < area[2] and area[1] < other[3] and other[1] < area[3]
