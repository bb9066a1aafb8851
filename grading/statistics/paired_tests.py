"""Whether two runs differ: paired tests by topic, for all pairs of runs at once, two-sided.

Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation" (CIKM 2007). A topic that one of the two runs does not count is left out of their pair. Nothing is
sampled: the p-value of the randomisation test is a count over all 2^n sign flips, so no seed moves it.
"""

from __future__ import annotations

from enum import StrEnum
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
CELLS = 4096
"""The sizes of the differences of a pair are rounded to whole numbers that sum to about this."""
EXACT_CELLS = 2 * CELLS
"""Up to this sum nothing is rounded where all differences are multiples of 1 / d."""
MAX_DENOMINATOR = 1000
MAX_RUNS = 100
MAX_TOPICS = 200
"""With more runs or topics counting takes too long: use `t`, which agrees with it on so many topics."""
_COUNTS = 25_000
"""Counts that are made together, of several pairs of runs: many hide numpy's overhead, few fit the cache."""
_ROUNDING = 1e-9

PValueMatrix = NDArray[np.float64]
"""Shape (runs, runs), symmetric: p-values, 1 on the diagonal."""
Ints = NDArray[np.int64]


class PairedTest(StrEnum):
    RANDOMISATION = "randomisation"
    T = "t"


def p_values(scores: NDArray[np.float64], test: PairedTest) -> PValueMatrix:
    """Return the p-values of all pairs of runs from scores of shape (runs, topics); 1 where fewer than two
    topics count.

    >>> scores = np.array([[0.9, 0.8, 0.7], [0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    >>> p_values(scores, PairedTest.RANDOMISATION)[0].tolist()
    [1.0, 0.25, 1.0]
    >>> p_values(scores, PairedTest.T)[0].round(4).tolist()
    [1.0, 0.0351, 1.0]
    """
    first, second = np.triu_indices(len(scores), k=1)
    matrix = np.ones((len(scores), len(scores)))
    p = p_of_differences(scores[first] - scores[second], test)
    matrix[first, second] = matrix[second, first] = p
    return matrix


def p_of_differences(differences: NDArray[np.float64], test: PairedTest) -> NDArray[np.float64]:
    """Return an array of shape (rows,): whether the mean of each row of differences (rows, topics) is 0; NaN
    is left out.

    >>> p_of_differences(np.array([[0.5, 0.5, 0.5, 0.5, np.nan]]), PairedTest.RANDOMISATION).tolist()
    [0.125]
    """
    if not differences.size:
        return np.ones(len(differences))
    return _t(differences) if test is PairedTest.T else _randomised(differences)


def smallest_p(topics: int, test: PairedTest) -> float:
    """Return the smallest p-value that the test can give with so many topics, whatever the scores."""
    if topics < 2:
        return 1.0
    return 0.0 if test is PairedTest.T else 2.0 ** (1 - min(topics, 1000))


def topics_needed(comparisons: int, *, alpha: float = ALPHA) -> int:
    """Return from how many topics on a randomisation test can pass Holm's first level, alpha / comparisons.

    >>> topics_needed(45), topics_needed(105)
    (11, 13)
    """
    return max(2, 1 + ceil(log2(comparisons / alpha)))


def _t(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import stdtr  # a tenth of a second that only this test needs

    counted = ~np.isnan(differences)
    values, n = np.where(counted, differences, 0.0), counted.sum(axis=1)
    total = values.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        deviations = np.where(counted, values - mean[:, np.newaxis], 0.0)
        variance = (deviations**2).sum(axis=1) / (n - 1)
        statistic = np.abs(mean) / np.sqrt(variance / n)
        p = 2 * stdtr(n - 1, -statistic)
    constant = variance <= _ROUNDING**2  # the same difference on every topic: t is infinite
    p = np.where(constant, 0.0, p)
    return np.where((np.abs(total) <= _ROUNDING) | (n < 2) | np.isnan(p), 1.0, p)


def _randomised(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Swapping the two runs' scores on a topic flips the sign of their difference there.

    With sizes w of the differences as whole numbers, W their sum and s the sum that was seen, a flip is as
    extreme as s if the sizes of one sign sum to (W - s) / 2 at most: subsets are counted by their sums, topic
    by topic (the shift algorithm: Streitberg and Roehmel 1986; Pagano and Tritchler 1983). Rounded sizes make
    an exact test too, of a mean that is rounded to less than a hundredth of its standard error.
    """
    sizes, seen = _whole_numbers(differences)
    n = (sizes > 0).sum(axis=1)
    reach = (sizes.sum(axis=1) - seen) // 2
    p = np.ones(len(differences))
    left = np.argsort(reach, kind="stable")[::-1]  # the deepest first
    while len(left):
        at_once = max(1, _COUNTS // (int(reach[left[0]]) + 1))
        rows, left = left[:at_once], left[at_once:]
        p[rows] = _subsets(sizes[rows], reach[rows]) * 2.0 ** (1 - n[rows])
    return np.minimum(p, 1.0)


def _whole_numbers(differences: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Return the sizes of the differences in units of their row, ascending, shape (rows, topics); and their
    sums.
    """
    known = np.where(np.isnan(differences), 0.0, differences)
    sizes = np.abs(known)
    totals = sizes.sum(axis=1)
    scale = CELLS / np.maximum(totals, _ROUNDING)
    if denominator := _denominator(sizes):
        scale = np.where(totals * denominator <= EXACT_CELLS, denominator, scale)
    whole = np.rint(known * scale[:, np.newaxis]).astype(np.int64)
    return np.sort(np.abs(whole), axis=1), np.abs(whole.sum(axis=1))


def _denominator(sizes: NDArray[np.float64]) -> int | None:
    """Return the least d of which all sizes are multiples of 1 / d; None if there is none up to
    MAX_DENOMINATOR.
    """
    ascending = np.sort(sizes.round(12), axis=None)
    left = ascending[np.diff(ascending, prepend=-1.0) > 0]  # np.unique would import numpy.ma, 45 ms
    for denominator in range(1, MAX_DENOMINATOR + 1):
        multiples = left * denominator
        if np.abs(multiples - np.rint(multiples)).max() < 1e-7:
            return denominator
    return None


def _subsets(sizes: Ints, reach: Ints) -> NDArray[np.float64]:
    """Return an array of shape (rows,): how many subsets of the sizes above 0 sum to `reach` at most."""
    rows, deepest = len(sizes), int(reach.max())
    depth = np.arange(deepest + 1)[:, np.newaxis]
    counts = np.zeros((2 * deepest + 2, rows))  # below row deepest + 1, where nothing is: sums under 0
    counts[deepest + 1] = 1.0
    known = counts[deepest + 1 :].reshape(-1)
    cells = (depth + deepest + 1) * rows + np.arange(rows)
    for column in sizes.T:
        shift = np.where(column > 0, np.minimum(column, deepest + 1), deepest + 1)
        if (shift <= deepest).any():
            known += counts.take(cells - shift * rows).reshape(-1)
    return np.asarray(np.where(depth <= reach, counts[deepest + 1 :], 0.0).sum(axis=0))
