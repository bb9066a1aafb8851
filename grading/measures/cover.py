"""Measures of ratings: Rubric-Cover, nugget scores, and relevance labels made from ratings.

Rubric-Cover@k is the share of a topic's items that a run's first k passages cover:
|{items rated >= t on at least one of the first k passages}| / |items of the bank|. Passages that are not
graded or not pooled cover nothing. With k = 20 and t = 4 in TREMA-UNH at TREC RAG (Farzi and Dietz 2024),
6.3.1.

Nugget scores tell how much of the vital nuggets, and of all, an answer supports: Pradeep et al. 2024,
"AutoNuggetizer" (arXiv 2411.09607), for assignments support, partial_support and not_support. An answer of
several passages supports what its best passage supports.

Rubric-Qrels are relevance labels of passages from the ratings of their items: the highest rating, or the best
that m items reach: RUBRIC (Farzi and Dietz 2024), 4.3; EXAM++, 4.3.2; TREMA-UNH at TREC RAG, 6.3.2. The count
of covered items: Workbench (Dietz 2024), 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide, divide_or_zero, take_rows
from grading.measures import (
    CUTOFF,
    MIN_GRADE,
    CellCredits,
    Floats,
    Formula,
    GradedTopic,
    ItemMeasure,
    Mask,
    Rows,
    ShortName,
    Weighed,
)
from grading.types import MIN_RATING, MISSING, USUAL_MIN_GRADE, Importance, Ratings

DENOMINATOR = "covered items / items that any passage of the pool covers"
REACH = "support is a grade >= {min_grade}, partial support >= {partial_grade}"
"""What counts as support, in denominators."""
UNJUDGED = -1
"""The label of a passage that has no rating; it is left out of a qrels file."""


def covered_items(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Mask:
    """Return which items each run covers, shape (runs, items).

    One of its first `cutoff` passages is rated `min_grade` or more for the item.

    Raises ValueError for a cutoff below 1.

    >>> ratings = np.array([[4, 0], [-1, 5]], dtype=np.int8)
    >>> covered_items(ratings, np.array([[0, -1], [1, 0]], dtype=np.int32)).tolist()
    [[True, False], [True, True]]
    """
    if cutoff < CUTOFF.lowest:
        raise ValueError(f"cutoff is {cutoff}, expected {CUTOFF.lowest} or more")
    return np.asarray(take_rows(ratings >= min_grade, ranked[:, :cutoff]).any(axis=1))


def deciding_rows(ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default) -> NDArray[np.int32]:
    """Return the row of the passage that decides whether a run covers an item, shape (runs, items).

    Of its first `cutoff` passages it is the one rated highest, the first of several; -1 for one outside the
    pool.

    >>> ratings = np.array([[4, 0], [4, 5], [1, -1]], dtype=np.int8)
    >>> deciding_rows(ratings, np.array([[0, 1], [2, -1]], dtype=np.int32)).tolist()
    [[0, 1], [2, 2]]
    """
    top = ranked[:, :cutoff]
    if not top.shape[1]:
        return np.full((len(top), ratings.shape[1]), -1, dtype=np.int32)
    best = take_rows(ratings, top, outside=MISSING).argmax(axis=1)
    return np.asarray(np.take_along_axis(top, best, axis=1), dtype=np.int32)


def cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / all items of the topic, shape (runs,); NaN where the topic has no items.

    Workbench, Figure 1: passages rated (4 4 0 0 4), (5 0 0 4 4) and (0 0 4 0 4) cover 5 of 5 items together
    at t = 4, the first alone 3 of 5.

    >>> ratings = np.array([[4, 4, 0, 0, 4], [5, 0, 0, 4, 4], [0, 0, 4, 0, 4]], dtype=np.int8)
    >>> cover(ratings, np.array([[0, 1, 2], [0, -1, -1]], dtype=np.int32)).tolist()
    [1.0, 0.6]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), ratings.shape[1])


def workbench_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / items rated on any passage, shape (runs,); 0 where none is.

    The definition of the Autograder Workbench, whose denominator knows no bank.
    Which runs it leaves out is the caller's: a topic that a run lacks is in no mean of that run.

    >>> ratings = np.array([[4, 0, -1]], dtype=np.int8)
    >>> workbench_cover(ratings, np.array([[0]], dtype=np.int32)).tolist()
    [0.5]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), max(_rated_items(ratings), 1))


def _rated_items(ratings: Ratings) -> int:
    return int((ratings >= MIN_RATING).any(axis=0).sum())


def equal_worths(topic: GradedTopic, n_items: int) -> Floats:
    """Return 1 / `n_items` for each item of the topic, shape (items,); NaN where `n_items` is 0."""
    return divide(np.ones(len(topic.items)), n_items)


RUBRIC_COVER = ItemMeasure(
    name="rubric_cover",
    label="Rubric-Cover",
    denominator="covered items / all items of the topic",
    citation="Farzi and Dietz 2024 (EXAM++), 4.3.1; Dietz 2024 (Workbench), 4.5",
    scores=lambda topic: cover(topic.ratings, topic.ranked, **topic.reach),
    worths=lambda topic: equal_worths(topic, len(topic.items)),
    workbench=Formula(
        scores=lambda topic: workbench_cover(topic.ratings, topic.ranked, **topic.reach),
        denominator="covered items / items rated on any passage of the topic",
        worths=lambda topic: equal_worths(topic, _rated_items(topic.ratings)),
    ),
    short_names={f"cover-{grade}": ShortName("rubric_cover", min_grade=grade) for grade in range(1, 6)},
    suggested=("rubric_cover",),
    has_estimate=True,
    cells=CellCredits(
        credit=lambda ratings, min_grade: (ratings >= min_grade).astype(np.float64),
        worths=lambda topic: equal_worths(topic, len(topic.items)),
    ),
)


def normalised_cover(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return covered items / items that any passage of the matrix covers, shape (runs,); NaN where none does.

    >>> ratings = np.array([[4, 0, 0], [0, 5, 0]], dtype=np.int8)
    >>> normalised_cover(ratings, np.array([[0], [-1]], dtype=np.int32)).tolist()
    [0.5, 0.0]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered.sum(axis=1), _coverable_items(ratings, min_grade))


def _coverable_items(ratings: Ratings, min_grade: int) -> int:
    return int((ratings >= min_grade).any(axis=0).sum())


def _scores(topic: GradedTopic) -> Floats:
    return normalised_cover(topic.ratings, topic.ranked, **topic.reach)


def _worths(topic: GradedTopic) -> Floats:
    return equal_worths(topic, _coverable_items(topic.ratings, topic.min_grade))


NORMALISED_COVER = ItemMeasure(
    name="normalised_cover",
    label="Normalised cover",
    denominator=DENOMINATOR,
    citation="Dietz 2024 (Workbench), 6",
    scores=_scores,
    worths=_worths,
    workbench=Formula(lambda topic: np.nan_to_num(_scores(topic)), DENOMINATOR, _worths),
    suggested=("normalised_cover",),
)


def weighted_cover(
    ratings: Ratings,
    ranked: Rows,
    weights: Sequence[float],
    *,
    cutoff: int = CUTOFF.default,
    min_grade: int = MIN_GRADE.default,
) -> Floats:
    """Return weights of the covered items / sum of the weights above 0, shape (runs,); NaN without any such.

    `weights` has one number an item. An item to avoid has a weight below 0: covering it costs, so a score may
    be below 0, and 1 is to cover all that is asked and nothing to avoid.

    >>> ratings = np.array([[4, 4, 5]], dtype=np.int8)
    >>> ranked = np.array([[0], [-1]], dtype=np.int32)
    >>> weighted_cover(ratings, ranked, [1.0, 0.5, -1.0]).round(4).tolist()
    [0.3333, 0.0]
    """
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    return divide(covered @ np.asarray(weights, dtype=np.float64), _whole(weights))


def _whole(weights: Sequence[float]) -> float:
    each = np.asarray(weights, dtype=np.float64)
    return float(each[each > 0].sum())


WEIGHTED_COVER = ItemMeasure(
    name="weighted_cover",
    label="Weighted cover",
    denominator="weight of covered items / sum of the weights above 0",
    citation="weights: Pradeep et al. 2024 (AutoNuggetizer); of items to avoid: ours",
    scores=lambda topic: weighted_cover(topic.ratings, topic.ranked, topic.weights, **topic.reach),
    worths=lambda topic: divide(topic.weights, _whole(topic.weights)),
    suggested=("weighted_cover",),
)


class NuggetScore(StrEnum):
    """STRICT counts full support only; the others give half a credit for partial support."""

    STRICT_VITAL = "strict_vital"
    STRICT_ALL = "strict_all"
    VITAL = "vital"
    ALL = "all"
    WEIGHTED = "weighted"
    """All nuggets by their weights: vital 1, okay 0.5."""
    STRICT_WEIGHTED = "strict_weighted"


def nugget_score(supported: Floats, nuggets: Sequence[Weighed], score: NuggetScore) -> Floats:
    """Return credit / number or weight of the nuggets that `score` looks at, shape (runs,).

    It is 0 without any such nugget.

    `supported` is of shape (runs, nuggets), as `support` makes it. A nugget to avoid belongs to the weighted
    scores only, where its weight is below 0. A failed assignment is no credit and stays in the denominator.

    >>> supported = np.array([[1.0, 0.5, 1.0, 0.0]])
    >>> nuggets = [(Importance.VITAL, 1.0)] * 2 + [(Importance.OKAY, 0.5)] * 2
    >>> [nugget_score(supported, nuggets, score).round(4).item() for score in NuggetScore]
    [0.5, 0.5, 0.75, 0.625, 0.6667, 0.5]
    """
    given = np.where(supported == 1, 1.0, 0.0) if score.startswith("strict") else supported
    each = np.array([_worth(importance, weight, score) for importance, weight in nuggets], dtype=np.float64)
    return divide_or_zero(given @ each, float(each[each > 0].sum()))


def _worth(importance: Importance, weight: float, score: NuggetScore) -> float:
    if score in (NuggetScore.WEIGHTED, NuggetScore.STRICT_WEIGHTED):
        return weight
    if score in (NuggetScore.VITAL, NuggetScore.STRICT_VITAL):
        return float(importance is Importance.VITAL)
    return float(importance is not Importance.AVOID)


def support(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, full: int = 2, partial: int = 1
) -> Floats:
    """Return how far each run supports each nugget, shape (runs, nuggets).

    1 where one of the first `cutoff` passages is rated `full` or more, 0.5 where one is rated `partial` or
    more, else 0.

    >>> ratings = np.array([[2, 1, 0], [0, 0, -2]], dtype=np.int8)
    >>> support(ratings, np.array([[0, 1]], dtype=np.int32), cutoff=2).tolist()
    [[1.0, 0.5, 0.0]]
    """
    top = take_rows(ratings, ranked[:, :cutoff], outside=MISSING)
    best = top.max(axis=1) if top.shape[1] else np.full((len(ranked), ratings.shape[1]), MISSING)
    return np.where(best >= full, 1.0, np.where(best >= partial, 0.5, 0.0))


def partial_grade(min_grade: int) -> int:
    """Return the lowest grade that is partial support: half of that of full support, rounded up.

    >>> partial_grade(2), partial_grade(5)
    (1, 3)
    """
    return (min_grade + 1) // 2


_DENOMINATORS = {
    NuggetScore.STRICT_VITAL: "credit / vital nuggets",
    NuggetScore.STRICT_ALL: "credit / vital and okay nuggets",
    NuggetScore.VITAL: "credit / vital nuggets",
    NuggetScore.ALL: "credit / vital and okay nuggets",
    NuggetScore.WEIGHTED: "weighted credit / sum of the weights above 0",
    NuggetScore.STRICT_WEIGHTED: "weighted credit / sum of the weights above 0",
}


def _measure(score: NuggetScore) -> ItemMeasure:
    def scores(topic: GradedTopic) -> Floats:
        if not topic.items:
            return np.full(len(topic.ranked), np.nan)
        full, partial = topic.min_grade, partial_grade(topic.min_grade)
        supported = support(topic.ratings, topic.ranked, cutoff=topic.cutoff, full=full, partial=partial)
        return nugget_score(supported, topic.items, score)

    def credit(ratings: Ratings, full: int) -> Floats:
        partial = 0.0 if score.startswith("strict") else 0.5
        return np.where(ratings >= full, 1.0, np.where(ratings >= partial_grade(full), partial, 0.0))

    def worths(topic: GradedTopic) -> Floats:
        each = np.array([_worth(importance, weight, score) for importance, weight in topic.items])
        return divide_or_zero(each, float(each[each > 0].sum()))

    name = f"nuggets_{score}"
    return ItemMeasure(
        name=name,
        label=f"Nuggets, {score.replace('_', ' ')}",
        denominator=f"{_DENOMINATORS[score]}; {REACH}",
        citation="Pradeep et al. 2024 (AutoNuggetizer)",
        scores=scores,
        suggested=(name,),
        cells=CellCredits(credit, worths),
        is_of_vital=score in (NuggetScore.VITAL, NuggetScore.STRICT_VITAL),
    )


NUGGET_SCORES = tuple(_measure(score) for score in NuggetScore)


class LabelMode(StrEnum):
    """How ratings become a label.

    MAX: the highest rating (0..5). BINARY: 1 if that is >= t, else 0. COUNT: how many items are rated >= t.
    CALIBRATED: the label that the highest rating is worth to people, by `statistics.calibrated_labels`.
    """

    MAX = "max"
    BINARY = "binary"
    COUNT = "count"
    CALIBRATED = "calibrated"


def labels(
    ratings: Ratings,
    *,
    mode: LabelMode = LabelMode.MAX,
    min_grade: int = USUAL_MIN_GRADE,
    min_answers: int = 1,
) -> NDArray[np.int16]:
    """Return an array of shape (passages,): the label of each passage, UNJUDGED where no item has a rating.

    With `min_answers` m, MAX and BINARY use the m-th highest rating, the best that at least m items reach; it
    is 0 where fewer than m items are rated. COUNT does not use it. Of CALIBRATED it is the rating that a map
    turns into the label. Raises ValueError for m below 1.

    Workbench, Figure 1:

    >>> ratings = np.array([[4, 4, 0, 0, 4], [5, 0, 0, 4, 4], [0, 0, 4, 0, 4]], dtype=np.int8)
    >>> labels(ratings).tolist()
    [4, 5, 4]
    >>> labels(ratings, min_answers=3).tolist()
    [4, 4, 0]
    >>> labels(ratings, mode=LabelMode.COUNT).tolist()
    [3, 3, 2]
    """
    if min_answers < 1:
        raise ValueError(f"min_answers is {min_answers}, expected 1 or more")
    if mode is LabelMode.COUNT:
        reached = (ratings >= min_grade).sum(axis=1)
    else:
        reached = _reached_by(ratings, min_answers)
        if mode is LabelMode.BINARY:
            reached = reached >= min_grade
    is_judged = (ratings >= MIN_RATING).any(axis=1)
    return np.where(is_judged, reached, UNJUDGED).astype(np.int16)


def _reached_by(ratings: Ratings, min_answers: int) -> NDArray[np.int8]:
    """Return an array of shape (passages,): the m-th highest rating, 0 where there are fewer."""
    passages, items = ratings.shape
    if items < min_answers:
        return np.zeros(passages, dtype=np.int8)
    nth = items - min_answers
    return np.maximum(np.partition(ratings, nth, axis=1)[:, nth], 0)
