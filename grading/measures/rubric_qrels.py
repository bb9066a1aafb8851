"""Rubric-Qrels: relevance labels of passages from the ratings of their items.

The highest rating, or the best that m items reach: RUBRIC (Farzi and Dietz 2024), 4.3; EXAM++, 4.3.2;
TREMA-UNH at TREC RAG, 6.3.2. The count of covered items: Workbench (Dietz 2024), 4.5.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from grading.types import MIN_RATING, USUAL_MIN_GRADE, Ratings

UNJUDGED = -1
"""The label of a passage that has no rating; it is left out of a qrels file."""


class LabelMode(StrEnum):
    """MAX: the highest rating (0..5). BINARY: 1 if that is >= t, else 0. COUNT: how many items are rated >=
    t.
    """

    MAX = "max"
    BINARY = "binary"
    COUNT = "count"


def labels(
    ratings: Ratings,
    *,
    mode: LabelMode = LabelMode.MAX,
    min_grade: int = USUAL_MIN_GRADE,
    min_answers: int = 1,
) -> NDArray[np.int16]:
    """Return an array of shape (passages,): the label of each passage, UNJUDGED where no item has a rating.

    With `min_answers` m, MAX and BINARY use the m-th highest rating, the best that at least m items reach; it
    is 0 where fewer than m items are rated. COUNT does not use it. Raises ValueError for m below 1.

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
