"""Which of several numbers are as good as the best, by the intervals of their differences to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.resampling import UNDEFINED, ConfidenceInterval, interval

_DECIMALS = 12
Draws = NDArray[np.float64]
"""Shape (resamples,): the number over resampled topics; the same resamples for all that are compared."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One number beside the best of all."""

    behind: float
    """How much lower it is; 0 for the best."""
    interval: ConfidenceInterval
    """Of `behind`, over the same resampled topics for both: a paired comparison."""
    is_as_good: bool
    """The best, or so near that the interval holds 0."""

    @property
    def is_best(self) -> bool:
        return self.behind == 0


def standings(
    values: Sequence[float | None], draws: Sequence[Draws | None], *, within: float | None = None
) -> list[Standing | None]:
    """Each value beside the highest; None for a value that is void.

    With `within` a value is as good that is at most so much lower, whatever the intervals say (EXAM++, 5.1,
    takes 0.05). Where no interval is defined only the best is as good as itself.

    >>> near, far = np.array([0.4, 0.7]), np.array([0.1, 0.1])
    >>> found = standings([0.6, 0.55, 0.1, None], [np.array([0.5, 0.6]), near, far, None])
    >>> [one.is_as_good if one else None for one in found]
    [True, True, False, None]
    """
    known = [value for value in values if value is not None]
    if not known:
        return [None] * len(values)
    best = max(known)
    of_best = draws[values.index(best)]
    return [
        None if value is None else _standing(round(best - value, _DECIMALS), of_best, of_value, within)
        for value, of_value in zip(values, draws, strict=True)
    ]


def _standing(behind: float, best: Draws | None, draws: Draws | None, within: float | None) -> Standing:
    spread = UNDEFINED if best is None or draws is None else interval(best - draws)
    if within is not None:
        return Standing(behind, spread, behind <= within)
    return Standing(behind, spread, behind == 0 or (spread.is_defined and spread.low <= 0))
