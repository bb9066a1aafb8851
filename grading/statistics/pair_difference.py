"""How far one run is ahead of another, and how many findings as clear as theirs chance would make."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan, sqrt

import numpy as np
from numpy.typing import NDArray

from grading.statistics.paired_tests import ALPHA, PairedTest, PValueMatrix, p_of_differences, smallest_p

Floats = NDArray[np.float64]
_STEPS = 20
"""Halvings, after which an end of an interval is known to a millionth of the range of the differences."""


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The first run's mean minus the second's, over the topics that count for both."""

    mean: float
    """NaN without topics."""
    low: float
    """The ends of the 95 % interval; infinite where so few topics exclude no difference."""
    high: float
    n_topics: int
    p: float
    n_found: int
    """Pairs of the table whose p-value is this one or less, this pair among them."""
    n_pairs: int

    @property
    def is_clear(self) -> bool:
        """The test tells the two apart, were they the only ones; then the interval excludes 0."""
        return self.p <= ALPHA

    @property
    def has_interval(self) -> bool:
        return self.high < inf and not isnan(self.mean)

    @property
    def by_chance(self) -> float:
        """How many of `n_found` to expect if no two runs differed: at most as many are wrong on average.

        The number of tests times the level (Benjamini and Hochberg 1995; Storey 2002 with all tests null).
        """
        return min(self.p * self.n_pairs, float(self.n_found))


def pair_difference(
    scores: Floats, p: PValueMatrix, first: int, second: int, test: PairedTest
) -> PairDifference:
    """Compare two rows of scores (runs, topics), given the p-values of all pairs by `test`.

    >>> from grading.statistics.paired_tests import p_values
    >>> scores = np.array([[0.9, 0.8, 0.7, 0.9], [0.1, 0.2, 0.3, 0.2], [0.8, 0.8, 0.8, 0.8]])
    >>> found = pair_difference(scores, p_values(scores, PairedTest.T), 0, 1, PairedTest.T)
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3), found.n_found, found.n_pairs
    (0.625, 0.353, 0.897, 2, 3)
    """
    differences = scores[first] - scores[second]
    known = differences[~np.isnan(differences)]
    pairs = p[np.triu_indices(len(p), k=1)]
    own = float(p[first, second])
    low, high = interval(known, test)
    return PairDifference(
        mean=float(known.mean()) if len(known) else float("nan"),
        low=low,
        high=high,
        n_topics=len(known),
        p=own,
        n_found=int((pairs <= own).sum()),
        n_pairs=len(pairs),
    )


def interval(differences: Floats, test: PairedTest) -> tuple[float, float]:
    """Return the differences, constant over topics, that the test does not reject at the level ALPHA.

    So interval and test never disagree (inversion of a test: Lehmann and Romano 2005, 3.5). `differences`
    has one value a topic, and none that is NaN.

    >>> low, high = interval(np.array([0.2, 0.1, 0.3, 0.2, 0.1, 0.3]), PairedTest.RANDOMISATION)
    >>> round(low, 3), round(high, 3)
    (0.1, 0.3)
    """
    n = len(differences)
    if smallest_p(n, test) > ALPHA:
        return -inf, inf
    return _t(differences) if test is PairedTest.T else _randomised(differences)


def _t(differences: Floats) -> tuple[float, float]:
    from scipy.special import stdtrit  # a tenth of a second that only this test needs

    n, mean = len(differences), float(differences.mean())
    half = float(stdtrit(n - 1, 1 - ALPHA / 2)) * float(differences.std(ddof=1)) / sqrt(n)
    return mean - half, mean + half


def _randomised(differences: Floats) -> tuple[float, float]:
    """Both ends by halving, between a difference that is rejected and the mean, which is not.

    Whether 0 is rejected is known before: no step may find anything else.
    """
    mean, margin = float(differences.mean()), 1e-9
    rejected = np.array([differences.min() - margin, differences.max() + margin])
    kept = np.array([mean, mean])
    end = 0 if mean > 0 else 1
    if p_of_differences(differences[np.newaxis], PairedTest.RANDOMISATION)[0] <= ALPHA:
        rejected[end] = 0.0
    elif rejected[end] * mean < 0:
        kept[end] = 0.0
    for _ in range(_STEPS):
        middle = (rejected + kept) / 2
        is_kept = p_of_differences(differences - middle[:, np.newaxis], PairedTest.RANDOMISATION) > ALPHA
        kept, rejected = np.where(is_kept, middle, kept), np.where(is_kept, rejected, middle)
    return float(rejected[0]), float(rejected[1])
