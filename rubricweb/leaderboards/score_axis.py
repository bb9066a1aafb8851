"""An axis that ends at round numbers, and where dots and whiskers stand on it, in units of an SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 220, 38
"""Of the drawing in a row: as high as the row."""
EDGE = 12
STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Whisker:
    """A dot at `x` with a line from `low` to `high`."""

    x: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return round(self.high - self.low, 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """From `start` to `end`, with a line every `step`."""

    start: float
    end: float
    step: float = 0.0

    @property
    def labels(self) -> list[tuple[float, str]]:
        """The round numbers from its start to its end, with how they are written."""
        if not self.step:
            return []
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        count = round((self.end - self.start) / self.step)
        values = [self.start + number * self.step for number in range(count + 1)]
        return [(value, f"{value:.{decimals}f}") for value in values]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Where the lines stand, with their labels."""
        return [(self.at(value), label) for value, label in self.labels]

    @property
    def lines(self) -> str:
        """The lines of one row as the path of an SVG."""
        return "".join(f"M{x} 0V{HEIGHT}" for x, _ in self.ticks)

    def at(self, value: float) -> float:
        span = self.end - self.start
        share = (value - self.start) / span if span > 0 else 0.5
        return round(EDGE + share * (WIDTH - 2 * EDGE), 1)

    def whisker_of(self, value: float, low: float, high: float) -> Whisker:
        return Whisker(self.at(value), self.at(low), self.at(high))


def axis_of(ends: Sequence[float]) -> Axis | None:
    """Return an axis on which all these values fit and that ends at round numbers; None without values."""
    if not ends:
        return None
    low, high = min(ends), max(ends)
    step = _round_step((high - low) / 4)
    return Axis(math.floor(low / step) * step, math.ceil(high / step) * step, step)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten from `least` on.

    >>> _round_step(0.17), _round_step(0.05), _round_step(30)
    (0.2, 0.05, 50.0)
    """
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 0.1
    return next(round(factor * power, 9) for factor in STEPS if factor * power >= least - 1e-12)
