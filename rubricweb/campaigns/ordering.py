"""Choose and order the cells of a campaign: numpy over a topic's matrices.

The default order (`by_rank`) goes down the rankings of all runs alike, over the cells that the grader rates
at the threshold or above: runs have their scores from these, and no run is preferred. bench/human_minutes.py
compares it with others by the human time that they take.

The expected change of the leaderboard by a person's rating of one cell, under Rubric-Cover@k at threshold t:

    P(flip) x sum over neighbouring runs (a above b) of  closes(a, b) x d / (d + gap(a, b))

- P(flip) is the chance that the rating changes sides of t. Where the grader is sure with probability c:
  (1 - c) x the share of the five other ratings that lie on the other side. Where it does not say how sure it
  is: of its ratings of this level that people rated, the share that changed sides, smoothed by two imagined
  ones that halve with each step from the threshold (1/2 beside it, 1/4 one further). A cell that failed or
  is missing covers nothing; it flips with the share of the topic's rated cells that reach t.
- d = 1 / (items of the topic x topics with items) is what one covered item adds to a run's mean. A flip
  changes a run's mean only if the passage is among the run's first k and no other of them covers the item.
- closes(a, b) is 1 where the flip takes from a and not from b, or gives to b and not to a; among tied runs
  where it changes one of the two; else 0. d / (d + gap) is 1 for tied runs, 1/2 where the flip just makes
  them tie, and goes to 0 for runs far apart.

A sample for scores that are sums is drawn from units: cells of answers, or passages with all their cells.
Each unit is drawn with a chance that grows with what it adds to the runs' standard errors, half of it by the
chance that people turn what the grader says (`flip_chances`); `grading.statistics.cover_sample` has the
rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.measures import Rows
from grading.statistics.cover_sample import A_RUN, chances_of, expected_half_width, size_for
from grading.types import FAILED, MAX_RATING, Ratings
from rubricweb.grades.topic_ratings import UNJUDGED

UNSURE_BELOW = 0.6
"""A rating to which the grader gives less than this probability is unsure."""
IMAGINED = 2
TIED = 1e-12

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """One topic's cells, shape (passages, items) each, as the graders left them."""

    ratings: Ratings
    """Ratings by the grader that the campaign checks."""
    confidence: Floats
    """The grader's probability, 0..1; 0 if its reply held no rating, NaN if it reports none."""
    others: tuple[Ratings, ...]
    """Ratings by other graders."""
    judged: NDArray[np.int16]
    """The judgment of each passage."""
    in_top: Mask
    """Shape (runs, passages): among the run's first k."""
    min_relevant: int
    min_grade: int

    @property
    def high(self) -> Mask:
        return np.asarray(self.ratings >= self.min_grade)

    @property
    def rated(self) -> Mask:
        return np.asarray(self.ratings >= 0)


@dataclass(frozen=True, eq=False)
class Scores:
    """The priority of each cell, and the pair of neighbouring runs that it could swap (or -1)."""

    scores: Floats
    pairs: Places


def unsure(cells: Cells) -> Mask:
    return np.asarray((cells.ratings == FAILED) | (cells.confidence < UNSURE_BELOW))


def spread(cells: Cells) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return the lowest and the highest rating of each cell by all graders; MAX + 1 and -1 without any."""
    stack = np.stack([cells.ratings, *cells.others])
    low = np.where(stack >= 0, stack, MAX_RATING + 1).min(axis=0)
    return low.astype(np.int8), np.where(stack >= 0, stack, -1).max(axis=0).astype(np.int8)


def against_judgment(cells: Cells) -> Mask:
    """Return a mask of cells covered though judged not relevant, or relevant and covering nothing."""
    is_judged, relevant = cells.judged != UNJUDGED, cells.judged >= cells.min_relevant
    covers = cells.high.any(axis=1)
    spurious = (is_judged & ~relevant)[:, np.newaxis] & cells.high
    return np.asarray(spurious | (relevant & ~covers)[:, np.newaxis] & cells.rated)


def disagreeing(cells: Cells) -> Mask:
    low, top = spread(cells)
    return np.asarray((low < cells.min_grade) & (top >= cells.min_grade) | against_judgment(cells))


def by_confidence(cells: Cells) -> Floats:
    """Return the doubt of each cell: 1 where grading failed, 0.5 without a reported confidence."""
    doubt = np.where(np.isnan(cells.confidence), 0.5, 1 - cells.confidence)
    return np.where(cells.ratings == FAILED, 1.0, np.where(cells.rated, doubt, 0.5))


def by_disagreement(cells: Cells) -> Floats:
    """Return the largest distance between graders, or grader and judgment, as a share of the scale."""
    low, top = spread(cells)
    apart = np.clip(top - low, 0, None) / MAX_RATING
    scale = max(int(cells.judged.max(initial=1)), 1)
    judged = np.clip(cells.judged, 0, None)[:, np.newaxis] / scale
    from_judgment = np.abs(judged - np.clip(cells.ratings, 0, None) / MAX_RATING)
    return np.asarray(np.maximum(apart, np.where(against_judgment(cells), from_judgment, 0.0)))


def by_rank(cells: Cells, ranked: Rows) -> Floats:
    """Return the priorities of the default order.

    Cells that the grader rates at the threshold or above come before the others; among either, cells whose
    passage some run ranks higher come first.

    `ranked` has the first k passages of the runs as rows, or -1; cells of other passages have 0.

    >>> cells = Cells(np.array([[5], [0], [5], [5]], np.int8), np.full((4, 1), np.nan), (),
    ...               np.zeros(4, np.int16), np.ones((2, 4), bool), 1, 4)
    >>> by_rank(cells, np.array([[0, 1], [1, 2]])).ravel().tolist()
    [1.5, 0.5, 1.25, 0.0]
    """
    best = np.full(len(cells.ratings) + 1, np.inf)
    np.minimum.at(best, ranked, np.broadcast_to(np.arange(ranked.shape[1]), ranked.shape))
    closeness = 1 / (2 + 2 * best[:-1, np.newaxis])
    return np.where(closeness > 0, cells.high + closeness, 0.0)


def flip_chances(cells: Cells, checked: Floats) -> Floats:
    """Return P(flip) of the module's formula by cell.

    `checked` says of each rating how many people rated and how many of these changed sides, shape (2, 6).

    >>> cells = Cells(np.array([[4, 0, -2]], np.int8), np.array([[0.5, np.nan, np.nan]]), (),
    ...               np.zeros(1, np.int16), np.ones((1, 1), bool), 1, 4)
    >>> flip_chances(cells, np.zeros((2, 6))).round(3).tolist()
    [[0.4, 0.062, 0.5]]
    """
    t = cells.min_grade
    levels = np.arange(MAX_RATING + 1)
    prior = 0.5 ** (np.abs(levels - (t - 0.5)) + 0.5)
    seen, flipped = checked
    by_level = (flipped + IMAGINED * prior) / (seen + IMAGINED)
    other_side = np.where(cells.high, t, MAX_RATING + 1 - t) / MAX_RATING
    of_level = by_level[np.clip(cells.ratings, 0, MAX_RATING)]
    chances = np.where(np.isnan(cells.confidence), of_level, (1 - cells.confidence) * other_side)
    reached = (cells.high.sum() + 0.5) / (cells.rated.sum() + 1)
    return np.asarray(np.where(cells.rated, chances, reached), dtype=np.float64)


def by_leaderboard(cells: Cells, chances: Floats, means: Floats, topics: int) -> Scores:
    """Return the expected change of the leaderboard by each cell; `means` are the runs' scores, none NaN.

    Two tied runs, of which only the first has the passage, which alone covers the only item of two topics:

    >>> cells = Cells(np.array([[5]], np.int8), np.array([[np.nan]]), (), np.zeros(1, np.int16),
    ...               np.array([[True], [False]]), 1, 4)
    >>> by_leaderboard(cells, np.array([[0.25]]), np.array([0.5, 0.5]), 2).scores.tolist()
    [[0.25]]
    """
    order = np.argsort(-means, kind="stable")
    gaps = -np.diff(means[order])
    if not len(gaps):
        return Scores(np.zeros(cells.ratings.shape), np.full(cells.ratings.shape, -1))
    step = _step(cells, topics)
    close = step / (step + gaps)
    upper, lower = _changed(cells, order)
    closes = np.where(cells.high, upper & ~lower, lower & ~upper)
    closes |= (gaps <= TIED)[:, np.newaxis, np.newaxis] & (upper ^ lower)
    weighed = closes * close[:, np.newaxis, np.newaxis]
    best = np.where(closes.any(axis=0), weighed.argmax(axis=0), -1)
    return Scores(chances * weighed.sum(axis=0), best)


def pair_doubts(cells: Cells, chances: Floats, means: Floats, topics: int) -> Floats:
    """Return what each cell adds to the variance of the difference of neighbouring runs.

    Shape (pairs, passages, items): the variance of a change by `d` with the cell's chance, where a flip
    changes exactly one of the two runs; else 0.

    >>> cells = Cells(np.array([[5]], np.int8), np.array([[np.nan]]), (), np.zeros(1, np.int16),
    ...               np.array([[True], [False]]), 1, 4)
    >>> pair_doubts(cells, np.array([[0.5]]), np.array([0.5, 0.5]), 2).tolist()
    [[[0.0625]]]
    """
    upper, lower = _changed(cells, np.argsort(-means, kind="stable"))
    return np.asarray((upper ^ lower) * (chances * (1 - chances) * _step(cells, topics) ** 2))


def _step(cells: Cells, topics: int) -> float:
    """Return what one covered item adds to a run's mean."""
    items = int(cells.ratings.shape[1])
    return 1 / (max(items, 1) * max(topics, 1))


def _changed(cells: Cells, order: NDArray[np.intp]) -> tuple[Mask, Mask]:
    """Return whether a flip changes the upper and the lower run, by pair of neighbours, passage and item.

    It does where the passage is among the run's first k and no other of them covers the item.
    """
    top = cells.in_top[order].astype(np.int32)
    covering = top @ cells.high.astype(np.int32)  # runs x items
    alone = np.where(cells.high, covering[:, np.newaxis, :] == 1, covering[:, np.newaxis, :] == 0)
    changed = top[:, :, np.newaxis].astype(np.bool_) & alone
    return changed[:-1], changed[1:]


@dataclass(frozen=True, eq=False)
class CellOrder:
    """The chosen cells in order: which are random, and with which probability."""

    places: Places
    is_random: Mask
    probability: float


def draw(scores: Floats, *, size: int, random_share: float, seed: int) -> CellOrder:
    """Choose `size` of the population: a share by lot, spread evenly, and the highest of the others between.

    >>> drawn = draw(np.array([0.0, 3.0, 1.0, 2.0]), size=3, random_share=0.3, seed=1)
    >>> int(drawn.is_random.sum()), drawn.probability
    (1, 0.25)
    """
    lot = np.random.default_rng(seed).permutation(len(scores))
    size = min(size, len(scores))
    by_lot = int(np.ceil(round(random_share * size, 9)))
    rest = lot[by_lot:]
    rest = rest[np.argsort(-scores[rest], kind="stable")][: size - by_lot]
    quota = np.arange(1, size + 1) * by_lot // max(size, 1)
    is_random = np.diff(quota, prepend=0) > 0
    places = np.empty(size, dtype=np.int64)
    places[is_random], places[~is_random] = lot[:by_lot], rest
    return CellOrder(places, is_random, by_lot / len(scores) if len(scores) else 0.0)


def checked_levels(pairs: Sequence[tuple[Ratings, Ratings]], min_grade: int) -> Floats:
    """Return, by the grader's rating, how many cells people rated and how many changed sides: (2, 6).

    >>> checked_levels([(np.array([[5, 5, 0]], np.int8), np.array([[5, 1, -1]], np.int8))], 4)[:, 5].tolist()
    [2.0, 1.0]
    """
    counts = np.zeros((2, MAX_RATING + 1))
    for ratings, truth in pairs:
        both = (ratings >= 0) & (truth >= 0)
        flipped = both & ((ratings >= min_grade) != (truth >= min_grade))
        counts += [np.bincount(ratings[mask], minlength=MAX_RATING + 1) for mask in (both, flipped)]
    return counts


Place = tuple[int, tuple[int, int]]
"""The number of a topic; a row and a column."""


@dataclass(frozen=True, eq=False)
class SampledUnits:
    cells: tuple[tuple[Place, ...], ...]
    """The cells that settle each unit."""
    chances: Floats
    """The chance of each unit to be drawn."""
    size: int
    """How many units are drawn."""
    half_width: float | None
    """Half the expected width of the interval of a middling run's score; None without units."""


def sampled_units(
    topics: Sequence[Cells], flips: Sequence[Floats], *, are_passages: bool, n_cells: int | None
) -> SampledUnits:
    """Gather the units of what the runs rank, and how many of them `n_cells` cells are.

    By default they are as many as give the mean run A_RUN units. `flips` has, by topic, the chance
    that people turn the grader's rating, shape (passages, items).
    """
    places: list[tuple[Place, ...]] = []
    doubts, weights = [], []
    for number, (cells, flip) in enumerate(zip(topics, flips, strict=True)):
        n_items = flip.shape[1]
        rows = np.flatnonzero(cells.in_top.any(axis=0))
        each = [[(number, (row, column)) for column in range(n_items)] for row in rows.tolist()]
        of_runs = cells.in_top[:, rows] / np.maximum(cells.in_top.sum(axis=1, keepdims=True), 1) / len(topics)
        if are_passages:
            places += [tuple(cells_of) for cells_of in each]
            doubts.append(label_flips(cells.high[rows], flip[rows]))
            weights.append(of_runs)
        else:
            places += [(place,) for cells_of in each for place in cells_of]
            doubts.append(flip[rows].ravel())
            weights.append(np.repeat(of_runs / max(n_items, 1), n_items, axis=1))
    if not places:
        return SampledUnits((), np.zeros(0), 0, None)
    weighed, doubted = np.concatenate(weights, axis=1), np.concatenate(doubts)
    size = size_for(weighed, doubted, A_RUN)
    if n_cells is not None:
        size = min(len(places), max(1, round(n_cells * len(places) / sum(map(len, places)))))
    chances = chances_of(weighed, doubted, size)
    return SampledUnits(tuple(places), chances, size, expected_half_width(weighed, doubted, chances))


def label_flips(high: np.typing.NDArray[np.bool_], flips: Floats) -> Floats:
    """Return an array of shape (passages,): the chance that people turn whether a passage covers any item.

    >>> high = np.array([[True, False], [False, False]])
    >>> label_flips(high, np.array([[0.5, 0.2], [0.5, 0.2]])).round(2).tolist()
    [0.4, 0.6]
    """
    keeps_none = np.where(high, flips, 1 - flips).prod(axis=1)
    return np.asarray(np.where(high.any(axis=1), keeps_none, 1 - keeps_none))
