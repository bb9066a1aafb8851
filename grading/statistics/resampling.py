"""The interval of a number that resampled topics give: agreement, correlation, advantage.

Topics are resampled (`bootstrap.resamples`), never passages or cells: those of one topic are not independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.means import LEVEL

MIN_DEFINED = 0.5
"""An interval needs at least this share of resamples with a defined value."""
Z = 1.959963984540054
"""The normal quantile of an interval of LEVEL."""


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """Both ends; NaN where it is undefined."""

    low: float
    high: float

    @property
    def is_defined(self) -> bool:
        return not np.isnan(self.low)


UNDEFINED = ConfidenceInterval(float("nan"), float("nan"))


def interval(values: NDArray[np.float64], *, level: float = LEVEL) -> ConfidenceInterval:
    """Return the percentile interval of resampled values; undefined ones are left out, unless they are too
    many.

    >>> interval(np.arange(101.0), level=0.5)
    ConfidenceInterval(low=25.0, high=75.0)
    >>> interval(np.array([1.0, np.nan, np.nan])).is_defined
    False
    """
    defined = values[~np.isnan(values)]
    if not values.size or defined.size < MIN_DEFINED * values.size:
        return UNDEFINED
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(defined, [tail, 100 - tail])
    return ConfidenceInterval(float(low), float(high))


def wilson(count: int, n: int, *, z: float = Z) -> ConfidenceInterval:
    """Return Wilson's interval of a share of independent cells; undefined without any.

    Wilson (1927): Probable Inference, the Law of Succession, and Statistical Inference. JASA 22.

    >>> found = wilson(9, 10)
    >>> round(found.low, 3), round(found.high, 3), wilson(0, 0).is_defined
    (0.596, 0.982, False)
    """
    if not n:
        return UNDEFINED
    share, spread = count / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * (share * (1 - share) / n + spread / (4 * n)) ** 0.5
    return ConfidenceInterval(max(0.0, middle - half), min(1.0, middle + half))
