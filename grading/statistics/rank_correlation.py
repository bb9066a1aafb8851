"""Correlation of two leaderboards over the runs in both.

Of the order of runs: Spearman and Kendall tau-b (average ranks for ties), and tau-AP, which weighs the top.
Of one board's order and the other's scores: tau-GAP. Of the scores of both: Pearson.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, divide_or_zero

Floats = NDArray[np.float64]
Board = Mapping[str, float] | Sequence[float] | Floats
"""Run tag -> score, or scores in an order that both boards share; higher is better. NaN = no score."""

MIN_RUNS = 3
CHUNK = 256
"""Resamples at a time: a matrix of pairs of runs each, which must not fill the memory."""
TOO_FEW = "fewer than 3 runs in both"
ALL_TIED = "all tied"
NO_GRADES = "no grades"
VOID_NAMES = {TOO_FEW: "too_few", ALL_TIED: "all_tied", NO_GRADES: "no_grades"}
"""What a program finds in the place of a value that is void."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """`value` in -1..1 over `n` runs; None when void, and then `reason` says why."""

    value: float | None
    n: int
    reason: str = ""


class Coefficient(StrEnum):
    SPEARMAN = "spearman"
    KENDALL = "kendall"
    TAU_AP = "tau_ap"
    TAU_GAP = "tau_gap"
    PEARSON = "pearson"

    @property
    def is_of_order(self) -> bool:
        """Return whether only the order of the runs counts, and not how far apart they are."""
        return self not in (Coefficient.TAU_GAP, Coefficient.PEARSON)


def from_ranks(ranks: Mapping[str, float]) -> dict[str, float]:
    """Return an official board of ranks (1 is best) as a board on which higher is better.

    >>> spearman(from_ranks({"a": 1, "b": 2, "c": 3}), {"a": 0.9, "b": 0.5, "c": 0.1}).value
    1.0
    """
    return {run_tag: -rank for run_tag, rank in ranks.items()}


def correlate(first: Board, second: Board, coefficient: Coefficient) -> Correlation:
    """Return the correlation of two boards; void with fewer than 3 runs in both, or when one board ties all.

    Of tau-AP and tau-GAP the second board is the official one.
    """
    x, y = _paired(first, second)
    if reason := _void(x, y):
        return Correlation(None, len(x), reason)
    return Correlation(float(_BY_ROW[coefficient](x[np.newaxis], y[np.newaxis])[0]), len(x))


def spearman(first: Board, second: Board) -> Correlation:
    """Return Spearman's rho.

    >>> round(spearman({"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 3, "b": 1, "c": 2, "d": 0}).value, 4)
    0.8
    """
    return correlate(first, second, Coefficient.SPEARMAN)


def kendall(first: Board, second: Board) -> Correlation:
    """Return Kendall's tau-b. One swapped pair of six is (5 - 1) / 6.

    >>> round(kendall({"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 3, "b": 1, "c": 2, "d": 0}).value, 4)
    0.6667
    """
    return correlate(first, second, Coefficient.KENDALL)


def kendalls(board: Floats, others: Floats) -> list[float | None]:
    """Return the value of `kendall` of the board with each row of `others`, shape (boards, runs).

    >>> kendalls(np.array([3.0, 2.0, 1.0]), np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    [1.0, -1.0, None]
    """
    if np.isnan(board).any() or np.isnan(others).any():
        return [kendall(board, other).value for other in others]
    ours = np.broadcast_to(_orders(board).ravel(), (len(others), board.size**2))
    values = _cosines(ours, _orders(others).reshape(len(others), -1)).tolist()
    return [None if _void(board, other) else value for other, value in zip(others, values, strict=True)]


def tau_ap(board: Board, official: Board) -> Correlation:
    """Return the AP correlation (Yilmaz, Aslam and Robertson 2008) of `board` with `official`.

    For each place of the board but the first: which share of the runs above it belong above it? Mean, then
    times 2 minus 1. Swapping the first two of four costs more than swapping the last two. Where runs are
    tied it is the mean over all orders of them (Urbano and Marrero 2017).

    >>> official = {"a": 4, "b": 3, "c": 2, "d": 1}
    >>> round(tau_ap({"a": 3, "b": 4, "c": 2, "d": 1}, official).value, 4)
    0.3333
    >>> round(tau_ap({"a": 4, "b": 3, "c": 1, "d": 2}, official).value, 4)
    0.7778
    """
    return correlate(board, official, Coefficient.TAU_AP)


def tau_gap(board: Board, official: Board) -> Correlation:
    """Return the gap-sensitive correlation (Gao and Oard, SIGIR 2015) of `board` with `official`.

    For each place of the board but the first: each run above it is as far from it, on the official board, as
    their official scores are apart; which share of these gaps lies with runs that belong above it? Mean, then
    times 2 minus 1. Swapping two runs costs more near the top, and more the further apart they officially
    are. A place that is officially tied with all above it is left out of the mean. As in auto-judge-evaluate,
    runs that the board ties keep the order of their tags, or that of the sequences.

    >>> official = {"a": 9, "b": 3, "c": 2, "d": 1}
    >>> round(tau_gap({"a": 3, "b": 4, "c": 2, "d": 1}, official).value, 4)
    0.3333
    >>> round(tau_gap({"a": 4, "b": 3, "c": 1, "d": 2}, official).value, 4)
    0.9259
    """
    return correlate(board, official, Coefficient.TAU_GAP)


def pearson(first: Board, second: Board) -> Correlation:
    """Return Pearson's r of the scores themselves; of a board of ranks, its ranks are the scores.

    >>> round(pearson({"a": 3, "b": 2, "c": 1, "d": 0}, {"a": 9, "b": 2, "c": 1, "d": 0}).value, 4)
    0.8854
    """
    return correlate(first, second, Coefficient.PEARSON)


def official_top(official: Mapping[str, float], k: int) -> dict[str, float]:
    """Return the runs whose official place is `k` or better, with those tied there, for a coefficient "@k".

    >>> official_top({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, 2)
    {'a': 0.9, 'b': 0.5, 'c': 0.5}
    """
    falling = sorted(official.values(), reverse=True)
    if not falling:
        return {}
    worst = falling[min(k, len(falling)) - 1]
    return {run_tag: value for run_tag, value in official.items() if value >= worst}


@dataclass(frozen=True, slots=True)
class Cost:
    """A run, and how much higher the correlation would be without it (below 0: lower)."""

    run_tag: str
    cost: float


def costliest(
    board: Mapping[str, float], official: Mapping[str, float], coefficient: Coefficient
) -> list[Cost]:
    """Return every run in both by what it costs the correlation, dearest first; empty where one is void.

    >>> costliest({"a": 1, "b": 4, "c": 3, "d": 2}, {"a": 4, "b": 3, "c": 2, "d": 1}, Coefficient.KENDALL)[0]
    Cost(run_tag='a', cost=1.0)
    """
    whole = correlate(board, official, coefficient).value
    shared = sorted(board.keys() & official.keys())
    costs = []
    for left_out in shared:
        rest = {run_tag: board[run_tag] for run_tag in shared if run_tag != left_out}
        without = correlate(rest, official, coefficient).value
        if whole is None or without is None:
            return []
        costs.append(Cost(left_out, without - whole))
    return sorted(costs, key=lambda cost: (-cost.cost, cost.run_tag))


def resampled(boards: Floats, official: Floats, coefficient: Coefficient) -> Floats:
    """Return the coefficient of each row of `boards`, (resamples, runs), with `official`, shape (resamples,).

    `official` has shape (runs,), or (resamples, runs) where it is resampled too. NaN where a row is void.

    >>> boards = np.array([[4.0, 3, 2, 1], [3, 4, 2, 1], [1, 1, 1, 1]])
    >>> resampled(boards, np.array([4.0, 3, 2, 1]), Coefficient.KENDALL).round(4).tolist()
    [1.0, 0.6667, nan]
    """
    theirs = np.broadcast_to(official, boards.shape)
    values = np.full(len(boards), np.nan)
    if boards.shape[1] < MIN_RUNS:
        return values
    for start in range(0, len(boards), CHUNK):
        part = slice(start, start + CHUNK)
        values[part] = _BY_ROW[coefficient](boards[part], theirs[part])
    return values


def _paired(first: Board, second: Board) -> tuple[Floats, Floats]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        shared = sorted(first.keys() & second.keys())
        x, y = np.array([[board[tag] for tag in shared] for board in (first, second)], dtype=np.float64)
    elif isinstance(first, Mapping) or isinstance(second, Mapping):
        raise TypeError("one board has run tags and the other none, expected two of a kind")
    else:
        x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if x.shape != y.shape:
            raise ValueError(f"{len(x)} scores against {len(y)}, expected the same runs in both")
    is_given = ~(np.isnan(x) | np.isnan(y))
    return x[is_given], y[is_given]


def _void(x: Floats, y: Floats) -> str:
    if len(x) < MIN_RUNS:
        return TOO_FEW
    return ALL_TIED if np.ptp(x) == 0 or np.ptp(y) == 0 else ""


def _orders(scores: Floats) -> NDArray[np.float32]:
    """Return 1 where the first is ahead of the second, -1 behind, 0 tied: shape (..., runs, runs)."""
    ahead = (scores[..., :, np.newaxis] > scores[..., np.newaxis, :]).astype(np.float32)
    return ahead - ahead.swapaxes(-1, -2)


# Each of these takes boards of shape (boards, runs) and compares row by row. scipy.stats agrees (tests), but
# takes a second to import in each web process.


def _kendalls(x: Floats, y: Floats) -> Floats:
    return _cosines(*(_orders(scores).reshape(len(scores), -1) for scores in (x, y)))


def _spearmans(x: Floats, y: Floats) -> Floats:
    return _cosines(*(_orders(scores).sum(axis=-1) for scores in (x, y)))


def _pearsons(x: Floats, y: Floats) -> Floats:
    is_void = (np.ptp(x, axis=-1) == 0) | (np.ptp(y, axis=-1) == 0)
    values = _cosines(*(scores - scores.mean(axis=-1, keepdims=True) for scores in (x, y)))
    return np.asarray(np.where(is_void, np.nan, values))


def _cosines(x: Floats | NDArray[np.float32], y: Floats | NDArray[np.float32]) -> Floats:
    both, ours, theirs = (np.einsum("ij,ij->i", *pair, dtype=np.float64) for pair in ((x, y), (x, x), (y, y)))
    return divide(both, np.sqrt(ours * theirs))


def _tau_aps(x: Floats, y: Floats) -> Floats:
    """Return tau-AP of each row.

    A run tied with t - 1 others below `a` runs has, over all orders, a, a + 1, ... a + t - 1 above it with
    equal chances; what the others that it is tied with add cancels out over the group.
    """
    ours, theirs = _orders(x), _orders(y)
    n = x.shape[-1]
    above = (ours < 0).sum(axis=-1)
    tied = (ours == 0).sum(axis=-1)
    agreed = ((ours < 0) * -theirs).sum(axis=-1, dtype=np.float64)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n + 1))])
    first = np.maximum(above, 1)
    weight = (harmonic[np.minimum(first + tied - 1, n)] - harmonic[first - 1]) / tied
    values = np.where(above > 0, agreed * weight, 0.0).sum(axis=-1) / (n - 1)
    is_void = (np.ptp(x, axis=-1) == 0) | (np.ptp(y, axis=-1) == 0)
    return np.asarray(np.where(is_void, np.nan, values))


def _tau_gaps(x: Floats, y: Floats) -> Floats:
    """Return tau-GAP of each row."""
    order = np.argsort(-x, axis=-1, kind="stable")
    theirs = np.take_along_axis(y, order, axis=-1)
    shares, n_places = np.zeros(len(x)), np.zeros(len(x))
    for place in range(1, x.shape[-1]):
        ahead = theirs[:, :place] - theirs[:, place, np.newaxis]
        gaps = np.abs(ahead).sum(axis=-1)
        shares += divide_or_zero(np.maximum(ahead, 0.0).sum(axis=-1), gaps)
        n_places += gaps > 0
    values = 2.0 * divide(shares, n_places) - 1.0
    is_void = (np.ptp(x, axis=-1) == 0) | (np.ptp(y, axis=-1) == 0)
    return np.asarray(np.where(is_void, np.nan, values))


_BY_ROW: Mapping[Coefficient, Callable[[Floats, Floats], Floats]] = {
    Coefficient.SPEARMAN: _spearmans,
    Coefficient.KENDALL: _kendalls,
    Coefficient.TAU_AP: _tau_aps,
    Coefficient.TAU_GAP: _tau_gaps,
    Coefficient.PEARSON: _pearsons,
}
