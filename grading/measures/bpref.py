"""bpref: how often passages judged not relevant stand above relevant ones.

Buckley and Voorhees, "Retrieval Evaluation with Incomplete Information" (SIGIR 2004).
"""

from __future__ import annotations

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, LabelledTopic, LabelMeasure


def bpref(topic: LabelledTopic) -> Floats:
    """Return the sum over relevant passages of 1 - min(R, judged not relevant above it) / min(R, judged not
    relevant), divided by R, the number of relevant passages, shape (runs,).

    >>> bpref(LabelledTopic(np.array([[0, 3, -1, 2]]), np.array([0, 0, 3, 2]))).tolist()
    [0.5]
    """
    relevant = topic.relevant
    not_relevant = (topic.top >= 0) & ~relevant
    n_not_relevant = int(((topic.judged >= 0) & (topic.judged < topic.level)).sum())
    bound = max(min(topic.n_relevant, n_not_relevant), 1)
    above = np.minimum(np.cumsum(not_relevant, axis=1), topic.n_relevant)
    return divide_or_zero(np.where(relevant, 1 - above / bound, 0.0).sum(axis=1), topic.n_relevant)


BPREF = LabelMeasure(
    name="bpref",
    label="bpref",
    denominator="relevant passages, each less the share of not relevant ones above it / relevant passages",
    citation="Buckley and Voorhees 2004",
    scores=bpref,
)
