"""Precision at k."""

from __future__ import annotations

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, K, LabelledTopic, LabelMeasure, ShortName


def precision(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the first k / k, shape (runs,); a run with fewer than k has them all there.

    >>> import numpy as np
    >>> precision(LabelledTopic(np.array([[0, 3, 2], [3, -1, -1]]), np.array([0, 3, 2]), cutoff=2)).tolist()
    [0.5, 0.5]
    """
    return divide_or_zero(topic.relevant.sum(axis=1), topic.cutoff or 0)


PRECISION = LabelMeasure(
    name="P",
    label="P",
    denominator="relevant passages of the first k / k",
    citation="Buckley and Voorhees 2005",
    scores=precision,
    is_share_of_first=True,
    number=K,
    short_names={f"qrels-{grade}": ShortName("P_20", min_grade=grade) for grade in range(1, 6)},
    suggested=("P_10", "P_20"),
)
