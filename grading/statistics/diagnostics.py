"""Diagnostics: how hard items are, how well they discriminate, and how evenly the pool treats runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.mean_intervals import UNDEFINED, ConfidenceInterval, mean_intervals
from grading.types import MIN_RATING, USUAL_MIN_GRADE, Ratings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MinGrade = int | NDArray[np.int8]
"""The lowest rating that covers: one for all items, or one by item."""
MIN_CASES = 3
"""A correlation over fewer says nothing."""


_FIRST_PART = re.compile(r"[^-_.\s]+")


def difficulty(answers: Floats) -> Floats:
    """Return the share of cases (runs, or passages) that answer each item, shape (items,).

    NaN is missing.

    >>> difficulty(np.array([[1.0, 0.0], [1.0, np.nan], [0.0, 0.0]])).round(2).tolist()
    [0.67, 0.0]
    """
    is_given = ~np.isnan(answers)
    return divide(np.where(is_given, answers, 0.0).sum(axis=0), is_given.sum(axis=0))


def covered_shares(ratings: Ratings, *, min_grade: MinGrade = USUAL_MIN_GRADE) -> Floats:
    """Return of the rated passages the share that covers each item, shape (items,).

    It is `difficulty` in whole ratings.

    >>> covered_shares(np.array([[5, -1], [3, -2]], dtype=np.int8)).tolist()
    [0.5, nan]
    """
    return divide((ratings >= min_grade).sum(axis=0), (ratings >= MIN_RATING).sum(axis=0))


def discrimination(answers: Floats, rests: Floats) -> Floats:
    """Return Pearson's r of each item with `rests`, shape (items,).

    `rests` is the score of each case without that item.

    Both have shape (cases, items). It is the corrected item-total correlation (Nunnally 1978): above 0 where
    better cases answer the item, about 0 where it does not tell them apart, below 0 where it misleads. NaN
    with fewer than three cases, or where all of them do the same.

    >>> answers = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> rests = np.array([[0.9, 0.9], [0.8, 0.8], [0.2, 0.2], [0.1, 0.1]])
    >>> discrimination(answers, rests).round(2).tolist()
    [0.99, -0.14]
    """
    is_given = ~(np.isnan(answers) | np.isnan(rests))
    n = is_given.sum(axis=0)
    x, y = (_deviations(values, is_given) for values in (answers, rests))
    r = divide((x * y).sum(axis=0), np.sqrt((x * x).sum(axis=0) * (y * y).sum(axis=0)))
    r[n < MIN_CASES] = np.nan
    return r


def rest_means(answers: Floats) -> Floats:
    """Return for each case and item the mean of the case's other items: the shape of `answers`.

    NaN is missing.

    >>> rest_means(np.array([[1.0, 0.0, np.nan], [4.0, 2.0, 3.0]])).tolist()
    [[0.0, 1.0, 0.5], [2.5, 3.5, 3.0]]
    """
    is_given = ~np.isnan(answers)
    values = np.where(is_given, answers, 0.0)
    others = values.sum(axis=1, keepdims=True) - values
    return divide(others, is_given.sum(axis=1, keepdims=True) - is_given.astype(np.int64))


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
    """Return which passages of a pool of `n` only one team's runs have, shape (teams, passages).

    They are in the first `depth` of these runs.

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
    is_given = ~(np.isnan(own) | np.isnan(others)).any(axis=0)
    if not is_given.any() or not is_family.any() or is_family.all():
        return Advantage(None, UNDEFINED, int(is_given.sum()))
    gains = (own - others)[:, is_given]
    by_topic = gains[is_family].mean(axis=0) - gains[~is_family].mean(axis=0)
    interval = mean_intervals(by_topic[np.newaxis])
    spread = ConfidenceInterval(float(interval.low[0]), float(interval.high[0]))
    return Advantage(float(by_topic.mean()), spread, len(by_topic))


def as_answers(ratings: Ratings, min_grade: int) -> Floats:
    """Return 1 where a rating counts, 0 where it does not, NaN where there is none.

    >>> as_answers(np.array([[5, 3, -1]], dtype=np.int8), 4).tolist()
    [[1.0, 0.0, nan]]
    """
    return np.where(ratings >= MIN_RATING, (ratings >= min_grade).astype(np.float64), np.nan)


def _deviations(values: Floats, is_given: NDArray[np.bool_]) -> Floats:
    """Return deviations from the mean of the column; 0 where unknown."""
    kept = np.where(is_given, values, 0.0)
    means = divide(kept.sum(axis=0), is_given.sum(axis=0))
    return np.where(is_given, kept - np.where(np.isnan(means), 0.0, means), 0.0)


@dataclass(frozen=True, slots=True)
class Relevance:
    """Passages of a pool that people call relevant, or not; shape (passages,). Of others nobody said."""

    relevant: Mask
    not_relevant: Mask

    @classmethod
    def judged(cls, judgments: Sequence[int | None], *, min_relevant: int) -> Relevance:
        """Return the relevance by judgments, one a passage.

        >>> Relevance.judged([2, 0, None], min_relevant=1).not_relevant.tolist()
        [False, True, False]
        """
        is_judged = np.array([judgment is not None for judgment in judgments], dtype=np.bool_)
        reaches = np.array([judgment or 0 for judgment in judgments], dtype=np.int64) >= min_relevant
        return cls(is_judged & reaches, is_judged & ~reaches)

    @classmethod
    def rated(cls, by_people: Ratings, *, min_grade: int = USUAL_MIN_GRADE) -> Relevance:
        """Return the relevance by people's ratings, shape (passages, items).

        A passage is relevant as soon as one item is rated `min_grade`.

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
    """Return which passages are relevant and graded, but rated below the minimum grade, shape (passages,)."""
    is_graded = (ratings >= MIN_RATING).any(axis=1)
    return np.asarray(relevance.relevant & is_graded & ~(ratings >= min_grade).any(axis=1))


def is_ungraded(ratings: Ratings, relevance: Relevance) -> Mask:
    """Return an array of shape (passages,): relevant, without any rating."""
    return np.asarray(relevance.relevant & ~(ratings >= MIN_RATING).any(axis=1))


def families(run_tags: Sequence[str], patterns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Group runs by families: those whose tags the first fitting pattern (`bm25*`) fits.

    A run that no pattern fits goes by the beginning of its tag, before the first of - _ and dot.

    >>> families(["bm25_a", "bm25-b", "GPT4-web", "x"], ["GPT*"])
    {'bm25': ['bm25_a', 'bm25-b'], 'GPT*': ['GPT4-web'], 'x': ['x']}
    """
    by_family: dict[str, list[str]] = {}
    for run_tag in run_tags:
        fitting = next((pattern for pattern in patterns if fnmatchcase(run_tag, pattern)), "")
        beginning = _FIRST_PART.match(run_tag)
        by_family.setdefault(fitting or (beginning[0] if beginning else run_tag), []).append(run_tag)
    return by_family
