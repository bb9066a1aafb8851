"""Average precision: the mean of the precision at the rank of each relevant passage."""

from __future__ import annotations

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, K, LabelledTopic, LabelMeasure

CITATION = "Buckley and Voorhees 2005"


def average_precision(topic: LabelledTopic) -> Floats:
    """Return precisions at relevant passages / relevant passages of the topic, shape (runs,).

    >>> average_precision(LabelledTopic(np.array([[3, 0, 2]]), np.array([0, 3, 2]))).round(4).tolist()
    [0.8333]
    """
    relevant = topic.relevant
    precisions = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1, dtype=np.float64)
    return divide_or_zero(np.where(relevant, precisions, 0.0).sum(axis=1), topic.n_relevant)


AVERAGE_PRECISION = LabelMeasure(
    name="map",
    label="AP",
    denominator="sum of the precisions at relevant passages / relevant passages of the topic",
    citation=CITATION,
    scores=average_precision,
    suggested=("map",),
)
AVERAGE_PRECISION_CUT = LabelMeasure(
    name="map_cut",
    label="AP",
    denominator="sum of the precisions at relevant passages of the first k / relevant passages of the topic",
    citation=CITATION,
    scores=average_precision,
    number=K,
)
