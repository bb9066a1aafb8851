"""Measures of novelty and diversity with the items of a bank as intents, beside alpha-nDCG.

ERR-IA: Chapelle, Metzler, Zhang and Grinspan, "Expected Reciprocal Rank for Graded Relevance" (CIKM 2009), 7.
NRBP: Clarke, Kolla and Vechtomova, "An Effectiveness Measure for Ambiguous and Underspecified Queries"
(ICTIR 2009). Both as ndeval computes them, divided by what a run would have whose every passage covers all.

D#-nDCG: Sakai and Song, "Evaluating Diversified Search Results Using Per-intent Graded Relevance" (SIGIR
2011).

All items count alike, whatever their weights, and only those that any passage of the pool covers. A passage
covers an item from the lowest grade on that counts.
"""

from __future__ import annotations

import numpy as np

from grading.arrays import take_rows
from grading.measures import CUTOFF, MIN_GRADE, Floats, ItemMeasure, Rows
from grading.measures.cover import covered_items
from grading.measures.gain import ALPHA, discounts, novel_gains
from grading.types import Ratings

PATIENCE = 0.5
"""NRBP's beta: the chance that a reader goes on to the next passage."""
INTENT_SHARE = 0.5
"""How much of D#-nDCG is intent recall (Sakai and Song's gamma)."""


def err_ia(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return novel gain / rank of the first k passages, over the most there could be, shape (runs,).

    A passage gains 1 for an item that none above it covers, half after one, a quarter after two. The most is
    that of k passages which all cover every item that any passage of the pool covers. NaN where none does.

    Two passages cover the first of two items, a third the second; the run has the two first:
    (1 + 0.5 / 2) / (2 + 2 * 0.5 / 2) = 0.5, and with the third in second place (1 + 1 / 2) / 2.5 = 0.6.

    >>> ratings = np.array([[4, 0], [5, 0], [0, 4]], dtype=np.int8)
    >>> err_ia(ratings, np.array([[0, 1], [0, 2]], dtype=np.int32), cutoff=2).round(4).tolist()
    [0.5, 0.6]
    """
    weights = 1 / np.arange(1, cutoff + 1, dtype=np.float64)
    most = float(weights @ (1 - ALPHA) ** np.arange(cutoff))
    return _novelty(ratings, ranked, weights, most, min_grade)


def nrbp(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return novel gain, halved with each rank, over the most there could be, shape (runs,).

    NRBP looks at all ranks; those after the 20th are worth less than 0.000001 together. The most is that of
    an endless run whose passages all cover every item that any passage of the pool covers. NaN where none
    does.

    As in `err_ia`: (1 + 0.5 / 2) * 0.75 / 2 and (1 + 1 / 2) * 0.75 / 2.

    >>> ratings = np.array([[4, 0], [5, 0], [0, 4]], dtype=np.int8)
    >>> nrbp(ratings, np.array([[0, 1], [0, 2]], dtype=np.int32)).round(4).tolist()
    [0.4688, 0.5625]
    """
    weights = PATIENCE ** np.arange(cutoff, dtype=np.float64)
    return _novelty(ratings, ranked, weights, 1 / (1 - (1 - ALPHA) * PATIENCE), min_grade)


def _novelty(ratings: Ratings, ranked: Rows, weights: Floats, most: float, min_grade: int) -> Floats:
    """Return novel gains weighted by rank, over `most` for each item that can be covered."""
    if not len(weights):
        raise ValueError(f"cutoff is below {CUTOFF.lowest}, expected {CUTOFF.lowest} or more")
    reached = ratings >= min_grade
    n_items = int(reached.any(axis=0).sum())
    if not n_items:
        return np.full(len(ranked), np.nan)
    gains = novel_gains(take_rows(reached, ranked[:, : len(weights)]))
    return np.asarray(gains @ weights[: gains.shape[1]]) / (most * n_items)


def d_sharp_ndcg(
    ratings: Ratings, ranked: Rows, *, cutoff: int = CUTOFF.default, min_grade: int = MIN_GRADE.default
) -> Floats:
    """Return the mean of intent recall and D-nDCG, shape (runs,).

    Intent recall is the share of the items that any passage of the pool covers which the first k passages
    cover. D-nDCG is nDCG@k with the sum of a passage's ratings as its gain; ratings below `min_grade` gain
    nothing. NaN where no passage covers an item.

    Gains 4, 5 and 4, of which the run has the two first: intent recall 1/2, D-nDCG (4 + 5 / log2(3)) /
    (5 + 4 / log2(3)).

    >>> ratings = np.array([[4, 0], [5, 0], [0, 4]], dtype=np.int8)
    >>> d_sharp_ndcg(ratings, np.array([[0, 1], [1, 2]], dtype=np.int32), cutoff=2).round(4).tolist()
    [0.7255, 1.0]
    """
    reached = ratings >= min_grade
    n_items = int(reached.any(axis=0).sum())
    if not n_items:
        return np.full(len(ranked), np.nan)
    gains = np.where(reached, ratings, 0).sum(axis=1, dtype=np.float64)
    ideal = np.sort(gains)[::-1][:cutoff]
    top = ranked[:, :cutoff]
    gained = take_rows(gains, top) @ discounts(top.shape[1])
    covered = covered_items(ratings, ranked, cutoff=cutoff, min_grade=min_grade).sum(axis=1) / n_items
    d_ndcg = gained / (ideal @ discounts(len(ideal)))
    return np.asarray(INTENT_SHARE * covered + (1 - INTENT_SHARE) * d_ndcg)


ERR_IA = ItemMeasure(
    name="err_ia",
    label="ERR-IA",
    denominator="novel gain / rank, over that of passages which all cover every item that can be covered",
    citation="Chapelle et al. 2009; as in ndeval",
    scores=lambda topic: err_ia(topic.ratings, topic.ranked, **topic.reach),
    suggested=("err_ia",),
)
NRBP = ItemMeasure(
    name="nrbp",
    label="NRBP",
    denominator="novel gain, halved with each rank, over that of passages which all cover every item that "
    "can be covered",
    citation="Clarke et al. 2009; as in ndeval",
    scores=lambda topic: nrbp(topic.ratings, topic.ranked, **topic.reach),
    suggested=("nrbp",),
)
D_SHARP_NDCG = ItemMeasure(
    name="d_sharp_ndcg",
    label="D#-nDCG",
    denominator="mean of covered items / items that any passage of the pool covers, and of nDCG with the sum "
    "of a passage's ratings >= {min_grade} as its gain",
    citation="Sakai and Song 2011",
    scores=lambda topic: d_sharp_ndcg(topic.ratings, topic.ranked, **topic.reach),
    suggested=("d_sharp_ndcg",),
)
