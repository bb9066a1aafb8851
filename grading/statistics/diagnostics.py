"""Diagnostics: how hard items are, how well they discriminate, and how evenly the pool treats runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.mean_intervals import mean_intervals
from grading.statistics.resampling import UNDEFINED, ConfidenceInterval
from grading.types import MIN_RATING, USUAL_MIN_GRADE, Ratings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MinGrade = int | NDArray[np.int8]
"""The lowest rating that covers: one for all items, or one by item."""
MIN_CASES = 3
"""A correlation over fewer says nothing."""


def difficulty(answers: Floats) -> Floats:
    """Return an array of shape (items,): the share of cases (runs, or passages) that answer each item; NaN is
    missing.

    >>> difficulty(np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 0.0]])).round(2).tolist()
    [0.67, 0.0]
    """
    known = ~np.isnan(answers)
    return divide(np.where(known, answers, 0.0).sum(axis=0), known.sum(axis=0))


def covered_shares(ratings: Ratings, *, min_grade: MinGrade = USUAL_MIN_GRADE) -> Floats:
    """Return an array of shape (items,): of the rated passages the share that covers each item; `difficulty`
    in whole ratings.

    >>> covered_shares(np.array([[5, -1], [3, -2]], dtype=np.int8)).tolist()
    [0.5, nan]
    """
    return divide((ratings >= min_grade).sum(axis=0), (ratings >= MIN_RATING).sum(axis=0))


def discrimination(answers: Floats, rests: Floats) -> Floats:
    """Return an array of shape (items,): Pearson's r of each item with `rests`, the score of each case
    without that item.

    Both have shape (cases, items). It is the corrected item-total correlation (Nunnally 1978): above 0 where
    better cases answer the item, about 0 where it does not tell them apart, below 0 where it misleads. NaN
    with fewer than three cases, or where all of them do the same.

    >>> answers = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> rests = np.array([[0.9, 0.9], [0.8, 0.8], [0.2, 0.2], [0.1, 0.1]])
    >>> discrimination(answers, rests).round(2).tolist()
    [0.99, -0.14]
    """
    known = ~(np.isnan(answers) | np.isnan(rests))
    n = known.sum(axis=0)
    x, y = (_deviations(values, known) for values in (answers, rests))
    r = divide((x * y).sum(axis=0), np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0)))
    r[n < MIN_CASES] = np.nan
    return r


def rest_means(answers: Floats) -> Floats:
    """Return an array of the shape of `answers`: for each case and item, the mean of the case's other items;
    NaN is missing.

    >>> rest_means(np.array([[1.0, 0.0, np.nan], [4.0, 2.0, 3.0]])).tolist()
    [[0.0, 1.0, 0.5], [2.5, 3.5, 3.0]]
    """
    known = ~np.isnan(answers)
    values = np.where(known, answers, 0.0)
    others = values.sum(axis=1, keepdims=True) - values
    return divide(others, known.sum(axis=1, keepdims=True) - known.astype(np.int64))


@dataclass(frozen=True, slots=True)
class ItemPair:
    """Two items of a topic that are answered by the same passages."""

    first: int
    second: int
    overlap: float
    """Passages that both count for / passages that at least one counts for (Jaccard)."""
    n_both: int
    n_either: int


def redundant_pairs(
    ratings: Ratings, *, min_grade: int = USUAL_MIN_GRADE, min_overlap: float = 0.7, min_passages: int = 3
) -> list[ItemPair]:
    """Return pairs of items rated `min_grade` or more on nearly the same passages, most alike first.

    Pairs that fewer than `min_passages` passages count for are left out: they are alike by chance.

    >>> ratings = np.array([[5, 4, 0], [4, 4, 5], [5, 5, 0], [4, 0, 4]], dtype=np.int8)
    >>> redundant_pairs(ratings)
    [ItemPair(first=0, second=1, overlap=0.75, n_both=3, n_either=4)]
    """
    reached = (ratings >= min_grade).astype(np.int64)
    both = reached.T @ reached
    alone = np.diag(both)
    either = alone[:, np.newaxis] + alone[np.newaxis, :] - both
    overlap = divide(both, either)
    is_found = np.triu((overlap >= min_overlap) & (either >= min_passages), k=1)
    pairs = [
        ItemPair(
            first, second, float(overlap[first, second]), int(both[first, second]), int(either[first, second])
        )
        for first, second in zip(*(places.tolist() for places in np.nonzero(is_found)), strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-pair.overlap, -pair.n_both))


def contributed_alone(
    ranked: NDArray[np.int32], teams: Sequence[int], *, depth: int, n: int
) -> NDArray[np.bool_]:
    """Return an array of shape (teams, passages): the passages of a pool of `n` that only one team's runs
    have in their first `depth`.

    `ranked` has shape (runs, depth of the runs) with rows of the pool, -1 for none; `teams` says by run its
    team's number. Without that team nobody would have graded these (Zobel 1998, leave out unique).

    >>> ranked = np.array([[0, 1], [0, 2], [0, 2]], dtype=np.int32)
    >>> contributed_alone(ranked, [0, 1, 1], depth=2, n=4).tolist()
    [[False, True, False, False], [False, False, True, False]]
    """
    n_teams = max(teams, default=-1) + 1
    has = np.zeros((n_teams, n + 1), dtype=np.bool_)  # the last is what -1 points at
    for run, team in enumerate(teams):
        has[team, ranked[run, :depth]] = True
    has = has[:, :n]
    return np.asarray(has & (has.sum(axis=0) == 1))


@dataclass(frozen=True, slots=True)
class Advantage:
    """How much more the runs of a family gain than other runs where they are asked a family's own items."""

    value: float | None
    interval: ConfidenceInterval
    n_topics: int
    """Topics with items of the family and items of others."""


def advantage(own: Floats, others: Floats, is_family: NDArray[np.bool_]) -> Advantage:
    """Return a difference of differences: (own - others) of the family's runs minus that of all other runs.

    `own` and `others`, shape (runs, topics), are the scores on the items that the family's model drafted, and
    on those that it did not. About 0 is fair; well above 0, a model's items favour its own runs. The interval
    is over topics.

    >>> own, others = np.array([[0.9, 0.7], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> round(advantage(own, others, np.array([True, False])).value, 2)
    0.3
    """
    known = ~(np.isnan(own) | np.isnan(others)).any(axis=0)
    if not known.any() or not is_family.any() or is_family.all():
        return Advantage(None, UNDEFINED, int(known.sum()))
    gains = (own - others)[:, known]
    by_topic = gains[is_family].mean(axis=0) - gains[~is_family].mean(axis=0)
    interval = mean_intervals(by_topic[np.newaxis])
    spread = ConfidenceInterval(float(interval.low[0]), float(interval.high[0]))
    return Advantage(float(by_topic.mean()), spread, len(by_topic))


def as_answers(ratings: Ratings, min_grade: int) -> Floats:
    """1 where a rating counts, 0 where it does not, NaN where there is none.

    >>> as_answers(np.array([[5, 3, -1]], dtype=np.int8), 4).tolist()
    [[1.0, 0.0, nan]]
    """
    return np.where(ratings >= MIN_RATING, (ratings >= min_grade).astype(np.float64), np.nan)


def _deviations(values: Floats, known: NDArray[np.bool_]) -> Floats:
    """From the mean of the column; 0 where unknown."""
    kept = np.where(known, values, 0.0)
    means = divide(kept.sum(axis=0), known.sum(axis=0))
    return np.where(known, kept - np.where(np.isnan(means), 0.0, means), 0.0)


@dataclass(frozen=True, slots=True)
class Relevance:
    """Passages of a pool that people call relevant, or not; shape (passages,). Of others nobody said."""

    relevant: Mask
    not_relevant: Mask

    @classmethod
    def judged(cls, judgments: Sequence[int | None], *, min_relevant: int) -> Relevance:
        """By judgments, one a passage.

        >>> Relevance.judged([2, 0, None], min_relevant=1).not_relevant.tolist()
        [False, True, False]
        """
        is_judged = np.array([judgment is not None for judgment in judgments], dtype=np.bool_)
        reaches = np.array([judgment or 0 for judgment in judgments], dtype=np.int64) >= min_relevant
        return cls(is_judged & reaches, is_judged & ~reaches)

    @classmethod
    def rated(cls, by_people: Ratings, *, min_grade: int = USUAL_MIN_GRADE) -> Relevance:
        """By ratings of people, shape (passages, items): relevant as soon as one item is rated `min_grade`.

        >>> Relevance.rated(np.array([[5, 0], [3, -1], [-1, -1]], dtype=np.int8)).relevant.tolist()
        [True, False, False]
        """
        is_rated = np.asarray((by_people >= MIN_RATING).any(axis=1), dtype=np.bool_)
        reaches = np.asarray((by_people >= min_grade).any(axis=1), dtype=np.bool_)
        return cls(reaches, is_rated & ~reaches)


@dataclass(frozen=True, slots=True)
class Spurious:
    """How often passages that are not relevant cover an item (Workbench, Dietz 2024, 4.4)."""

    item: int
    passages: tuple[int, ...]
    """Not relevant, yet rated the minimum grade or more; highest rating first."""
    n_graded: int
    """Not relevant passages with a rating for the item."""

    @property
    def count(self) -> int:
        return len(self.passages)

    @property
    def share(self) -> float | None:
        return self.count / self.n_graded if self.n_graded else None


def spurious_items(
    ratings: Ratings, relevance: Relevance, *, min_grade: MinGrade = USUAL_MIN_GRADE
) -> list[Spurious]:
    """Return one for each item, in their order; those that no such passage covers have no passages.

    >>> relevance = Relevance.judged([0, 0, 1, 3], min_relevant=2)
    >>> ratings = np.array([[4, 0], [5, -1], [-2, 0], [5, 5]], dtype=np.int8)
    >>> [(found.passages, found.n_graded) for found in spurious_items(ratings, relevance)]
    [((1, 0), 2), ((), 2)]
    """
    rows = np.flatnonzero(relevance.not_relevant)
    least = np.broadcast_to(min_grade, ratings.shape[1])
    spurious = []
    for item in range(ratings.shape[1]):
        column = ratings[rows, item]
        order = np.argsort(-column, kind="stable")
        covering = rows[order][column[order] >= least[item]]
        spurious.append(Spurious(item, tuple(covering.tolist()), int((column >= MIN_RATING).sum())))
    return spurious


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Relevant passages that no item covers, by row: the bank may lack a question (Workbench 4.4)."""

    uncovered: tuple[int, ...]
    """Graded, and the highest rating is below the minimum grade."""
    ungraded: tuple[int, ...]
    """No rating at all, so nothing can be said of them."""


def uncovered_passages(
    ratings: Ratings, relevance: Relevance, *, min_grade: MinGrade = USUAL_MIN_GRADE
) -> Uncovered:
    """Return the relevant passages without a covered item, in the order of the pool.

    >>> relevance = Relevance.judged([3, 2, 2, 0], min_relevant=2)
    >>> uncovered_passages(np.array([[3], [-1], [4], [0]], dtype=np.int8), relevance)
    Uncovered(uncovered=(0,), ungraded=(1,))
    """
    below = np.flatnonzero(is_uncovered(ratings, relevance, min_grade=min_grade))
    ungraded = np.flatnonzero(is_ungraded(ratings, relevance))
    return Uncovered(tuple(below.tolist()), tuple(ungraded.tolist()))


def is_uncovered(ratings: Ratings, relevance: Relevance, *, min_grade: MinGrade = USUAL_MIN_GRADE) -> Mask:
    """Return an array of shape (passages,): relevant and graded, and the highest rating is below the minimum
    grade.
    """
    is_graded = (ratings >= MIN_RATING).any(axis=1)
    return np.asarray(relevance.relevant & is_graded & ~(ratings >= min_grade).any(axis=1))


def is_ungraded(ratings: Ratings, relevance: Relevance) -> Mask:
    """Return an array of shape (passages,): relevant, without any rating."""
    return np.asarray(relevance.relevant & ~(ratings >= MIN_RATING).any(axis=1))
