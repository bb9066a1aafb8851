"""nDCG: labels as gains, discounted by rank, over those of the ideal order.

Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques" (TOIS 2002), with the discount of
trec_eval, 1 / log2(1 + rank).
"""

from __future__ import annotations

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, K, LabelledTopic, LabelMeasure, Labels, ShortName, Threshold

CITATION = "Järvelin and Kekäläinen 2002"


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
    citation=CITATION,
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
    citation=CITATION,
    scores=ndcg,
    threshold=Threshold.NONE,
)
