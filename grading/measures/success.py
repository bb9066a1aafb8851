"""Success at k."""

from __future__ import annotations

import numpy as np

from grading.measures.base import Floats, K, LabelledTopic, LabelMeasure


def success(topic: LabelledTopic) -> Floats:
    """Return 1 for each run that has a relevant passage among its first k, else 0, shape (runs,).

    >>> success(LabelledTopic(np.array([[0, 3], [0, -1]]), np.array([0, 3]), cutoff=2)).tolist()
    [1.0, 0.0]
    """
    return np.asarray(topic.relevant.any(axis=1), dtype=np.float64)


SUCCESS = LabelMeasure(
    name="success",
    label="success",
    denominator="1 if one of the first k passages is relevant, else 0",
    citation="Buckley and Voorhees 2005",
    scores=success,
    number=K,
)
