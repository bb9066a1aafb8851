"""alpha-nDCG@k with the items of a bank as intents: what a passage adds that earlier ones did not cover.

Clarke et al., "Novelty and Diversity in Information Retrieval Evaluation" (SIGIR 2008). EXAM++ 4.3.2 and
Workbench 4.5 name it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grading.arrays import take_rows
from grading.measures.base import CUTOFF, MIN_GRADE, Floats, ItemMeasure, Mask, Rows
from grading.measures.ndcg import discounts
from grading.types import Ratings

ALPHA = 0.5
"""How much of an item's gain a passage loses for each earlier passage that covers it too."""


def alpha_ndcg(
    ratings: Ratings,
    ranked: Rows,
    *,
    cutoff: int = CUTOFF.default,
    min_grade: int = MIN_GRADE.default,
    doc_ids: Sequence[str] = (),
) -> Floats:
    """Return discounted novel gain / that of the greedy ideal order, shape (runs,); NaN where no passage
    covers any item.

    A passage covers the items that it is rated `min_grade` or more for. Of passages that gain as much, the
    ideal order takes the last of the `doc_ids`, as the published ndeval does, or else of the rows.

    Two passages cover the first of two items, a third the second; the run has the two first:
    (1 + 0.5 / log2(3)) / (1 + 1 / log2(3)).

    >>> ratings = np.array([[4, 0], [5, 0], [0, 4]], dtype=np.int8)
    >>> alpha_ndcg(ratings, np.array([[0, 1], [0, 2]], dtype=np.int32), cutoff=2).round(4).tolist()
    [0.8066, 1.0]
    """
    if cutoff < CUTOFF.lowest:
        raise ValueError(f"cutoff is {cutoff}, expected {CUTOFF.lowest} or more")
    reached = ratings >= min_grade
    ideal = _ideal(_by_id_descending(reached, doc_ids), cutoff)
    if ideal == 0:
        return np.full(len(ranked), np.nan)
    return _gains(take_rows(reached, ranked[:, :cutoff])) / ideal


def _gains(covered: Mask) -> Floats:
    """Return the discounted gains of rankings of shape (runs, depth, items)."""
    earlier: NDArray[np.int64] = np.cumsum(covered, axis=1) - covered
    gains = np.where(covered, (1 - ALPHA) ** earlier, 0.0).sum(axis=2)
    return np.asarray(gains @ discounts(covered.shape[1]))


def _by_id_descending(reached: Mask, doc_ids: Sequence[str]) -> Mask:
    if not doc_ids:
        return reached[::-1]
    return reached[sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)]


def _ideal(reached: Mask, cutoff: int) -> float:
    """Return the gain of the order that always takes the passage that gains most next.

    To find the best order is NP-hard.
    """
    left = reached[reached.any(axis=1)].astype(np.float64)
    worth = np.ones(reached.shape[1])
    total = 0.0
    for discount in discounts(min(cutoff, len(left))):
        gains = left @ worth
        best = int(gains.argmax())
        total += discount * float(gains[best])
        worth *= 1 - ALPHA * left[best]
        left[best] = 0
    return total


ALPHA_NDCG = ItemMeasure(
    name="alpha_ndcg",
    label="\N{GREEK SMALL LETTER ALPHA}-nDCG",
    denominator="gain / gain of the ideal order",
    citation="Clarke et al. 2008; Farzi and Dietz 2024 (EXAM++), 4.3.2",
    scores=lambda topic: alpha_ndcg(topic.ratings, topic.ranked, doc_ids=topic.doc_ids, **topic.reach),
    suggested=("alpha_ndcg",),
)
