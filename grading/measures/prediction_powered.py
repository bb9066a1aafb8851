"""Prediction-powered estimates: a grader's score of all cells, corrected by the few that people verified.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453), for a mean.
The verified cells must be drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
MIN_VERIFIED = 30
"""With fewer the normal approximation has no ground."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`half_width` of the interval; `trust` is how far the grader is used (lambda, 0 to 1)."""

    value: float
    half_width: float
    trust: float
    verified: int
    cells: int


def prediction_powered(
    said: NDArray[np.float64],
    verified: NDArray[np.bool_],
    truth: NDArray[np.float64],
    *,
    level: float = LEVEL,
) -> Estimate | None:
    """Mean of the truth over all cells, from what the grader `said` of each and the truth of the verified.

    All three are of shape (cells,); `truth` is read where `verified`. None with fewer than MIN_VERIFIED. Two
    imagined cells, one a miss of each sign, widen the interval: a sample without an error is no proof that
    there is none.

    >>> said = np.tile([1.0, 0.0], 200)
    >>> found = prediction_powered(said, np.arange(400) < 40, said)
    >>> round(found.value, 3), round(found.half_width, 3), found.verified
    (0.5, 0.084, 40)
    """
    n, rest = int(verified.sum()), int((~verified).sum())
    if n < MIN_VERIFIED:
        return None
    seen, others, true = said[verified], said[~verified], truth[verified]
    trust = _trust(true, seen, n / rest) if rest else 0.0
    missed = true - trust * seen
    value = float(missed.mean() + (trust * others.mean() if rest else 0.0))
    largest = float(np.abs(true).max(initial=0.0))
    spread = (float(((missed - missed.mean()) ** 2).sum()) + 2 * largest**2) / (n + 1)
    variance = spread / n + (trust**2 * float(others.var(ddof=1)) / rest if rest > 1 else 0.0)
    half = NormalDist().inv_cdf(0.5 + level / 2) * sqrt(variance)
    return Estimate(value, half, trust, n, n + rest)


def _trust(true: NDArray[np.float64], seen: NDArray[np.float64], ratio: float) -> float:
    """The lambda of least variance: Cov(Y, f) / ((1 + n / N) Var(f)), kept within 0 and 1."""
    spread = float(seen.var(ddof=1))
    if spread == 0:
        return 1.0
    together = float(np.cov(true, seen, ddof=1)[0, 1])
    return min(1.0, max(0.0, together / ((1 + ratio) * spread)))
