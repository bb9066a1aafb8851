"""Reciprocal rank."""

from __future__ import annotations

import numpy as np

from grading.measures.base import Floats, LabelledTopic, LabelMeasure


def reciprocal_rank(topic: LabelledTopic) -> Floats:
    """Return 1 / the rank of the first relevant passage, shape (runs,); 0 where none is ranked.

    >>> reciprocal_rank(LabelledTopic(np.array([[0, 3], [0, -1]]), np.array([0, 3]))).tolist()
    [0.5, 0.0]
    """
    relevant = topic.relevant
    if not relevant.shape[1]:
        return np.zeros(len(relevant))
    return np.where(relevant.any(axis=1), 1 / (1.0 + relevant.argmax(axis=1)), 0.0)


RECIPROCAL_RANK = LabelMeasure(
    name="recip_rank",
    label="RR",
    denominator="1 / rank of the first relevant passage",
    citation="Voorhees 1999",
    scores=reciprocal_rank,
    suggested=("recip_rank",),
)
