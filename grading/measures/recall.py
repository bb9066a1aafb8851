"""Recall at k."""

from __future__ import annotations

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, K, LabelledTopic, LabelMeasure


def recall(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the first k / relevant passages of the topic, shape (runs,).

    >>> import numpy as np
    >>> recall(LabelledTopic(np.array([[3, 0, 2], [3, 2, -1]]), np.array([0, 3, 2]), cutoff=2)).tolist()
    [0.5, 1.0]
    """
    return divide_or_zero(topic.relevant.sum(axis=1), topic.n_relevant)


RECALL = LabelMeasure(
    name="recall",
    label="recall",
    denominator="relevant passages of the first k / relevant passages of the topic",
    citation="Buckley and Voorhees 2005",
    scores=recall,
    number=K,
    suggested=("recall_100",),
)
