"""Whether two runs differ: paired tests by topic, for all pairs of runs at once, two-sided.

Smucker, Allan and Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation" (CIKM 2007). A topic that one of the two runs does not count is left out of their pair.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import product

import numpy as np
from numpy.typing import NDArray

ALPHA = 0.05
SCREEN = 2_000
"""Sign flips of every pair. Pairs with EXCEEDED of them as extreme as what was seen need no more."""
EXCEEDED = 20
LEAST_FLIPS = 10_000
FLIPS_A_PAIR = 1.25 / ALPHA
"""The others are sampled until Holm's correction for so many pairs could call them different."""
MAX_RUNS = 100
"""With more runs that takes too long: use `t`."""
EXACT_TOPICS = 15
"""Up to so many topics every sign flip is tried."""
SEED = 20240717
_BLOCK = 2_000
_ROUNDING = 1e-9

Pairs = NDArray[np.float64]
"""Shape (runs, runs), symmetric: p-values, 1 on the diagonal."""


class PairedTest(StrEnum):
    RANDOMISATION = "randomisation"
    T = "t"


def p_values(scores: NDArray[np.float64], test: PairedTest, *, seed: int = SEED) -> Pairs:
    """P-values of all pairs of runs from scores of shape (runs, topics); 1 where fewer than two topics count.

    >>> scores = np.array([[0.9, 0.8, 0.7], [0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])
    >>> p_values(scores, PairedTest.RANDOMISATION)[0].tolist()
    [1.0, 0.25, 1.0]
    >>> p_values(scores, PairedTest.T)[0].round(4).tolist()
    [1.0, 0.0351, 1.0]
    """
    counted = ~np.isnan(scores)
    everywhere = scores[:, counted.any(axis=0)]
    if test is PairedTest.T:
        return _t(everywhere)
    if np.isnan(everywhere).any():
        return _randomised_one_by_one(everywhere, seed)
    return _randomised(everywhere, seed)


def _t(scores: NDArray[np.float64]) -> Pairs:
    from scipy.special import stdtr  # a quarter of a second that only this test needs

    counted = ~np.isnan(scores)
    values, shared = np.where(counted, scores, 0.0), counted.astype(np.float64)
    n = shared @ shared.T
    # Sums over the topics that both count.
    total = values @ shared.T - shared @ values.T
    squares = (values**2) @ shared.T + shared @ (values**2).T - 2 * values @ values.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total / n
        variance = np.maximum(squares - n * mean**2, 0) / (n - 1)
        statistic = np.abs(mean) / np.sqrt(variance / n)
        found = 2 * stdtr(n - 1, -statistic)
    is_equal = np.abs(total) <= _ROUNDING
    constant = variance <= _ROUNDING**2  # the same difference on every topic: t is infinite
    found = np.where(constant, 0.0, found)
    return np.where(is_equal | (n < 2) | np.isnan(found), 1.0, found)


def _randomised(scores: NDArray[np.float64], seed: int) -> Pairs:
    """Swapping the two runs' scores on a topic flips the sign of their difference there."""
    runs, topics = scores.shape
    first, second = np.triu_indices(runs, k=1)
    found = np.ones((runs, runs))
    if topics < 2 or not len(first):
        return found
    if topics <= EXACT_TOPICS:
        exceeded = _exceeded(_every_flip(topics), scores, first, second)
        p = exceeded / 2 ** (topics - 1)
    else:
        p = _sampled(scores, first, second, np.random.default_rng(seed))
    found[first, second] = found[second, first] = p
    return found


def _sampled(
    scores: NDArray[np.float64],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Besag and Clifford 1991: a pair whose p-value is plainly large is not sampled on; nor is one for which
    Hoeffding's bound says that it is smaller than any number of flips could show.
    """
    topics = scores.shape[1]
    flips_in_all = int(max(LEAST_FLIPS, FLIPS_A_PAIR * min(len(first), MAX_RUNS**2 // 2)))
    p = np.full(len(first), 1 / (flips_in_all + 1))
    open_pairs = np.flatnonzero(_hoeffding(scores, first, second) > 1 / (flips_in_all + 1))
    screen = _exceeded(_flips(SCREEN, topics, random), scores, first[open_pairs], second[open_pairs])
    p[open_pairs] = (screen + 1) / (SCREEN + 1)
    left, exceeded = open_pairs[screen < EXCEEDED], screen[screen < EXCEEDED]
    if not len(left):
        return p
    for start in range(SCREEN, flips_in_all, _BLOCK):
        flips = _flips(min(_BLOCK, flips_in_all - start), topics, random)
        exceeded += _exceeded(flips, scores, first[left], second[left])
    p[left] = (exceeded + 1) / (flips_in_all + 1)
    return p


def _hoeffding(
    scores: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Shape (pairs,): no smaller than the p-value: 2 exp(-s^2 / (2 sum d^2)) for differences d of sum s."""
    products = scores @ scores.T
    own = products.diagonal()
    squares = np.maximum(own[first] + own[second] - 2 * products[first, second], _ROUNDING)
    sums = scores.sum(axis=1)
    bound: NDArray[np.float64] = 2 * np.exp(-((sums[first] - sums[second]) ** 2) / (2 * squares))
    return bound


def _exceeded(
    flips: NDArray[np.float32], scores: NDArray[np.float64], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Shape (pairs,): in how many of the flips the sum of differences is at least as far from 0 as seen."""
    seen = np.abs(scores[first].sum(axis=1) - scores[second].sum(axis=1))
    # Single precision decides nothing that differs by more than its rounding.
    limit = (seen - 1e-5 * np.maximum(1.0, seen)).astype(np.float32)
    centred = (scores - scores.mean(axis=0)).astype(np.float32)
    found = np.zeros(len(first), dtype=np.int64)
    starts = np.flatnonzero(np.diff(first, prepend=-1))
    ends = np.append(starts[1:], len(first))
    for block in range(0, len(flips), _BLOCK):
        sums = centred @ flips[block : block + _BLOCK].T
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            apart = sums[second[start:end]] - sums[first[start]]
            np.abs(apart, out=apart)
            found[start:end] += np.count_nonzero(apart >= limit[start:end, np.newaxis], axis=1)
    return found


def _flips(n: int, topics: int, random: np.random.Generator) -> NDArray[np.float32]:
    return random.integers(2, size=(n, topics), dtype=np.int8).astype(np.float32) * 2 - 1


def _every_flip(topics: int) -> NDArray[np.float32]:
    """Half of them: the others are their mirror images."""
    return np.array([(1, *signs) for signs in product((1, -1), repeat=topics - 1)], dtype=np.float32)


def _randomised_one_by_one(scores: NDArray[np.float64], seed: int) -> Pairs:
    """Where runs count different topics, each pair has flips of its own."""
    found = np.ones((len(scores), len(scores)))
    for first, second in zip(*np.triu_indices(len(scores), k=1), strict=True):
        both = ~np.isnan(scores[[first, second]]).any(axis=0)
        pair = _randomised(scores[[first, second]][:, both], seed)
        found[first, second] = found[second, first] = pair[0, 1]
    return found
