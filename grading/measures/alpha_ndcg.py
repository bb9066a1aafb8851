"""alpha-nDCG@k with the items of a bank as intents: what a passage adds that earlier ones did not cover.

Clarke et al., "Novelty and Diversity in Information Retrieval Evaluation" (SIGIR 2008). EXAM++ 4.3.2 and
Workbench 4.5 name it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grading.measures.rubric_cover import Rows
from grading.types import Ratings

ALPHA = 0.5
"""How much of an item's gain a passage loses for each earlier passage that covers it too."""


def alpha_ndcg(
    ratings: Ratings,
    ranked: Rows,
    *,
    cutoff: int = 20,
    min_grade: int = 4,
    doc_ids: Sequence[str] = (),
) -> NDArray[np.float64]:
    """Shape (runs,): discounted novel gain / that of the greedy ideal order; NaN where no passage covers any.

    A passage covers the items that it is rated `min_grade` or more for. Of passages that gain as much, the
    ideal order takes the last of the `doc_ids`, as the published ndeval does, or else of the rows.

    Two passages cover the first of two items, a third the second; the run has the two first:
    (1 + 0.5 / log2(3)) / (1 + 1 / log2(3)).

    >>> ratings = np.array([[4, 0], [5, 0], [0, 4]], dtype=np.int8)
    >>> alpha_ndcg(ratings, np.array([[0, 1], [0, 2]], dtype=np.int32), cutoff=2).round(4).tolist()
    [0.8066, 1.0]
    """
    if cutoff < 1:
        raise ValueError(f"cutoff is {cutoff}, expected 1 or more")
    reached = ratings >= min_grade
    ideal = _ideal(_by_id_descending(reached, doc_ids), cutoff)
    if ideal == 0:
        return np.full(len(ranked), np.nan)
    # The last row covers nothing: it is what -1 points at.
    with_outside = np.concatenate([reached, np.zeros((1, ratings.shape[1]), dtype=np.bool_)])
    return _gains(with_outside[ranked[:, :cutoff]]) / ideal


def _gains(covered: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Discounted gain of rankings of shape (runs, depth, items)."""
    earlier: NDArray[np.int64] = np.cumsum(covered, axis=1) - covered
    gains = np.where(covered, (1 - ALPHA) ** earlier, 0.0).sum(axis=2)
    found: NDArray[np.float64] = gains @ _discounts(covered.shape[1])
    return found


def _by_id_descending(reached: NDArray[np.bool_], doc_ids: Sequence[str]) -> NDArray[np.bool_]:
    if not doc_ids:
        return reached[::-1]
    return reached[sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)]


def _ideal(reached: NDArray[np.bool_], cutoff: int) -> float:
    """Of the order that always takes the passage that gains most: to find the best order is NP-hard."""
    left = reached[reached.any(axis=1)].astype(np.float64)
    worth = np.ones(reached.shape[1])
    total = 0.0
    for discount in _discounts(min(cutoff, len(left))):
        gains = left @ worth
        best = int(gains.argmax())
        total += discount * float(gains[best])
        worth *= 1 - ALPHA * left[best]
        left[best] = 0
    return total


def _discounts(depth: int) -> NDArray[np.float64]:
    return 1 / np.log2(np.arange(2, depth + 2, dtype=np.float64))
