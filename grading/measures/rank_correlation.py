"""Rank correlation of two leaderboards: Spearman and Kendall tau-b over the runs in both, average ranks for
ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Board = Mapping[str, float] | Sequence[float] | NDArray[np.float64]
"""Run tag -> score, or scores in an order that both boards share; higher is better. NaN = no score."""

MIN_RUNS = 3
TOO_FEW = "fewer than 3 runs in both"
ALL_TIED = "all tied"


@dataclass(frozen=True, slots=True)
class Correlation:
    """`value` in -1..1 over `n` runs; None when void, and then `reason` says why."""

    value: float | None
    n: int
    reason: str = ""


def from_ranks(ranks: Mapping[str, float]) -> dict[str, float]:
    """An official board of ranks (1 is best) as a board on which higher is better.

    >>> spearman(from_ranks({"a": 1, "b": 2, "c": 3}), {"a": 0.9, "b": 0.5, "c": 0.1}).value
    1.0
    """
    return {run_tag: -rank for run_tag, rank in ranks.items()}


def spearman(first: Board, second: Board) -> Correlation:
    """Spearman's rho; void with fewer than 3 runs in both boards, or when one board ties all of them.

    >>> round(spearman({"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 3, "b": 1, "c": 2, "d": 0}).value, 4)
    0.8
    """
    x, y = _paired(first, second)
    if reason := _void(x, y):
        return Correlation(None, len(x), reason)
    return Correlation(_cosine(_centred_ranks(x), _centred_ranks(y)), len(x))


def kendall(first: Board, second: Board) -> Correlation:
    """Kendall's tau-b; void as `spearman`. One swapped pair of six is (5 - 1) / 6.

    >>> round(kendall({"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 3, "b": 1, "c": 2, "d": 0}).value, 4)
    0.6667
    """
    x, y = _paired(first, second)
    if reason := _void(x, y):
        return Correlation(None, len(x), reason)
    return Correlation(_cosine(_pair_order(x), _pair_order(y)), len(x))


def _paired(first: Board, second: Board) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        shared = sorted(first.keys() & second.keys())
        x, y = np.array([[board[tag] for tag in shared] for board in (first, second)], dtype=np.float64)
    elif isinstance(first, Mapping) or isinstance(second, Mapping):
        raise TypeError("one board has run tags and the other none, expected two of a kind")
    else:
        x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if x.shape != y.shape:
            raise ValueError(f"{len(x)} scores against {len(y)}, expected the same runs in both")
    known = ~(np.isnan(x) | np.isnan(y))
    return x[known], y[known]


def _void(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    if len(x) < MIN_RUNS:
        return TOO_FEW
    return ALL_TIED if np.ptp(x) == 0 or np.ptp(y) == 0 else ""


def _centred_ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average ranks minus their mean: half-integers, hence exact."""
    _, place, shared = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.cumsum(shared) - (shared - 1) / 2)[place] - (len(scores) + 1) / 2


def _pair_order(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1, -1 or 0 (tied) for every ordered pair: tau-b is their cosine."""
    return np.sign(scores[:, np.newaxis] - scores[np.newaxis, :]).ravel()


def _cosine(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    # Not scipy.stats, which agrees (tests) but takes a second to import in each web process.
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))
