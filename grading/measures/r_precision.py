"""R-precision: precision at the number of relevant passages."""

from __future__ import annotations

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, LabelledTopic, LabelMeasure


def r_precision(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the first R / R, the number of relevant passages, shape (runs,).

    >>> import numpy as np
    >>> r_precision(LabelledTopic(np.array([[3, 0, 2]]), np.array([0, 3, 2]))).tolist()
    [0.5]
    """
    return divide_or_zero(topic.relevant[:, : topic.n_relevant].sum(axis=1), topic.n_relevant)


R_PRECISION = LabelMeasure(
    name="Rprec",
    label="R-precision",
    denominator="relevant passages of the first R / R, the relevant passages of the topic",
    citation="Buckley and Voorhees 2005",
    scores=r_precision,
    suggested=("Rprec",),
)
