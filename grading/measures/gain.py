"""Measures of gain: nDCG and its kin.

nDCG: labels as gains, discounted by rank, over those of the ideal order.

Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques" (TOIS 2002), with the discount of
trec_eval, 1 / log2(1 + rank).

Measures of gains that few but trec_eval have: G, binG, and nDCG averaged over some ranks.

Named and defined as in trec_eval; labels are the gains.

alpha-nDCG@k with the items of a bank as intents: what a passage adds that earlier ones did not cover.

Clarke et al., "Novelty and Diversity in Information Retrieval Evaluation" (SIGIR 2008). EXAM++ 4.3.2 and
Workbench 4.5 name it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide_or_zero, take_rows
from grading.measures import (
    CUTOFF,
    MIN_GRADE,
    Floats,
    ItemMeasure,
    K,
    LabelledTopic,
    LabelMeasure,
    Labels,
    Mask,
    Rows,
    ShortName,
    Threshold,
)
from grading.types import Ratings

NDCG_CITATION = "Järvelin and Kekäläinen 2002"


def ndcg(topic: LabelledTopic) -> Floats:
    """Return discounted gain / that of the ideal order, shape (runs,); 0 where no label is above 0.

    Labels 3 and 2 at ranks 2 and 3: (3 / log2(3) + 2 / log2(4)) / (3 + 2 / log2(3)).

    >>> ndcg(LabelledTopic(np.array([[0, 3, 2]]), np.array([0, 3, 2]), cutoff=3)).round(4).tolist()
    [0.6788]
    """
    ideal = np.sort(np.maximum(topic.judged, 0))[::-1][: topic.cutoff]
    return divide_or_zero(_discounted(topic.top), _discounted(ideal[np.newaxis]))


def discounts(depth: int) -> Floats:
    """Return what a gain counts at each rank, shape (depth,).

    >>> discounts(3).round(4).tolist()
    [1.0, 0.6309, 0.5]
    """
    return 1 / np.log2(np.arange(2, depth + 2, dtype=np.float64))


def _discounted(labels: Labels) -> Floats:
    return np.asarray(np.maximum(labels, 0) @ discounts(labels.shape[1]))


NDCG_CUT = LabelMeasure(
    name="ndcg_cut",
    label="nDCG",
    denominator="discounted gain of the first k passages / that of the ideal order",
    citation=NDCG_CITATION,
    scores=ndcg,
    number=K,
    threshold=Threshold.NONE,
    short_names={"qrels-ndcg": ShortName("ndcg_cut_20")},
    suggested=("ndcg_cut_10", "ndcg_cut_20"),
)
NDCG = LabelMeasure(
    name="ndcg",
    label="nDCG",
    denominator="discounted gain / that of the ideal order",
    citation=NDCG_CITATION,
    scores=ndcg,
    threshold=Threshold.NONE,
)


GAINS_CITATION = "trec_eval"


def gain_g(topic: LabelledTopic) -> Floats:
    """Return the sum of gain / log2(2 + gain missed so far), divided by the ideal gain, shape (runs,).

    Missed is what the ideal order has by the same rank, at least 1 a rank, and the run lacks. Labels 2 and 1
    at ranks 2 and 3: (2 / log2(2 + 3 - 2) + 1 / log2(2 + 4 - 3)) / 3.

    >>> gain_g(LabelledTopic(np.array([[0, 2, 1]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6309]
    """
    gains, ideal = np.maximum(topic.ranked, 0), _ideal_gains(topic)
    cost = np.ones(gains.shape[1])
    cost[: len(ideal)] = np.maximum(ideal, 1)[: len(cost)]
    missed = np.cumsum(cost) - np.cumsum(gains, axis=1)
    return divide_or_zero((gains / np.log2(2 + missed)).sum(axis=1), ideal.sum())


def binary_g(topic: LabelledTopic) -> Floats:
    """Return binary G, shape (runs,).

    It is the sum over relevant passages of 1 / log2(2 + those not relevant above it), divided by the relevant
    passages of the topic.

    >>> binary_g(LabelledTopic(np.array([[0, 2, 1]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6309]
    """
    others_above = np.cumsum(~topic.relevant, axis=1)
    shares = np.where(topic.relevant, 1 / np.log2(2 + others_above), 0.0)
    return divide_or_zero(shares.sum(axis=1), topic.n_relevant)


def ndcg_at_relevant(topic: LabelledTopic) -> Floats:
    """Return nDCG at the rank of each passage with a gain, averaged over those of the topic, shape (runs,).

    For a passage that the run lacks, the gain of the whole run counts over that of the whole ideal order.

    >>> ndcg_at_relevant(LabelledTopic(np.array([[0, 2]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.4796]
    """
    gained, ideal = _gained(topic), _gained_down(_ideal_gains(topic))
    n_gains = len(ideal)
    if not n_gains:
        return np.zeros(len(gained))
    has_gain = topic.ranked > 0
    by_rank = np.minimum(np.arange(gained.shape[1]), n_gains - 1)
    at_gains = np.where(has_gain, gained / ideal[by_rank], 0.0).sum(axis=1)
    lacking = n_gains - has_gain.sum(axis=1)
    return np.asarray((at_gains + lacking * _last(gained) / ideal[-1]) / n_gains)


def ndcg_at_levels(topic: LabelledTopic) -> Floats:
    """Return nDCG where the ideal order passes to a lower label, averaged, shape (runs,).

    A run that is longer than the ideal order by two counts once more, at its end, as in trec_eval.

    >>> ndcg_at_levels(LabelledTopic(np.array([[1, 2, 0]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6799]
    """
    gained, gains = _gained(topic), _ideal_gains(topic)
    ideal = _gained_down(gains)
    if not topic.n_relevant or not gained.shape[1]:
        return np.zeros(len(gained))
    ends = np.flatnonzero(np.append(gains[1:] != gains[:-1], True))
    n_ranked = topic.n_ranked[:, np.newaxis]
    reached = np.take_along_axis(gained, np.clip(ends, 0, np.maximum(n_ranked - 1, 0)), axis=1)
    sums = (reached / ideal[ends]).sum(axis=1)
    is_longer = topic.n_ranked > len(gains) + 1
    sums = sums + np.where(is_longer, _last(gained) / ideal[-1], 0.0)
    return np.where(topic.n_ranked > 0, sums / (len(ends) + is_longer), 0.0)


def _ideal_gains(topic: LabelledTopic) -> Floats:
    """Return the gains of the topic above 0, highest first."""
    return np.sort(topic.judged[topic.judged > 0])[::-1].astype(np.float64)


def _gained(topic: LabelledTopic) -> Floats:
    """Return the discounted gain of each run down to each rank, shape (runs, depth)."""
    return _gained_down(np.maximum(topic.ranked, 0))


def _gained_down(gains: Floats) -> Floats:
    """Return the discounted sums of gains, shape (..., depth), down to each rank."""
    return np.cumsum(gains * discounts(gains.shape[-1]), axis=-1)


def _last(gained: Floats) -> Floats:
    """Return what each run has gained at its end, shape (runs,)."""
    return gained[:, -1] if gained.shape[1] else np.zeros(len(gained))


GAIN_MEASURES = (
    LabelMeasure(
        name="G",
        label="G",
        denominator="gain, discounted by the gain missed before / ideal gain",
        citation=GAINS_CITATION,
        scores=gain_g,
        threshold=Threshold.NONE,
    ),
    LabelMeasure(
        name="Rndcg",
        label="Rndcg",
        denominator="nDCG at R levels",
        citation=GAINS_CITATION,
        scores=ndcg_at_levels,
        threshold=Threshold.NONE,
    ),
    LabelMeasure(
        name="binG",
        label="binG",
        denominator="relevant passages, each / log2(2 + those not relevant above it), / relevant passages",
        citation=GAINS_CITATION,
        scores=binary_g,
    ),
    LabelMeasure(
        name="ndcg_rel",
        label="ndcg_rel",
        denominator="nDCG, averaged over relevant passages",
        citation=GAINS_CITATION,
        scores=ndcg_at_relevant,
        threshold=Threshold.NONE,
    ),
)


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
    """Return discounted novel gain / that of the greedy ideal order, shape (runs,).

    It is NaN where no passage covers any item.

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
    gains = novel_gains(take_rows(reached, ranked[:, :cutoff]))
    return np.asarray(gains @ discounts(gains.shape[1])) / ideal


def novel_gains(covered: Mask) -> Floats:
    """Return what the passage at each rank adds, shape (runs, depth), of coverings (runs, depth, items).

    It gains 1 for an item that none above it covers, (1 - ALPHA) after one, (1 - ALPHA) squared after two.

    >>> novel_gains(np.array([[[True, True], [True, False]]])).tolist()
    [[2.0, 0.5]]
    """
    earlier: NDArray[np.int64] = np.cumsum(covered, axis=1) - covered
    return np.asarray(np.where(covered, (1 - ALPHA) ** earlier, 0.0).sum(axis=2))


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
