"""Measures for pools that were judged in part.

bpref: how often passages judged not relevant stand above relevant ones.

Buckley and Voorhees, "Retrieval Evaluation with Incomplete Information" (SIGIR 2004).

infAP: average precision where a sample of the pool is judged.

Yilmaz and Aslam, "Estimating Average Precision with Incomplete and Imperfect Judgments" (CIKM 2006).
"""

from __future__ import annotations

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import NOT_POOLED, Floats, LabelledTopic, LabelMeasure


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


EPSILON = 0.00001
"""Smooths the precision above a relevant passage, as in trec_eval."""


def inferred_ap(topic: LabelledTopic) -> Floats:
    """Return the expected precision at relevant passages / relevant passages judged, shape (runs,).

    A passage with a label below 0 is pooled and not judged: it is taken for as relevant as the judged ones.

    >>> topic = LabelledTopic(np.array([[-1, 0, 3]]), np.array([-1, 0, 3]))
    >>> inferred_ap(topic).round(4).tolist()
    [0.3333]
    """
    relevant, n_above = topic.relevant, np.arange(topic.ranked.shape[1], dtype=np.float64)
    judged_above = _before(topic.ranked >= 0)
    pooled_above = _before(topic.ranked != NOT_POOLED)
    relevant_above = _before(relevant)
    precision_above = (relevant_above + EPSILON) / (judged_above + 2 * EPSILON)
    expected = (1 + pooled_above * precision_above) / (n_above + 1)
    return divide_or_zero(np.where(relevant, expected, 0.0).sum(axis=1), topic.n_relevant)


def _before(mask: np.ndarray) -> np.ndarray:
    """How many are above each rank, shape (runs, depth)."""
    return np.asarray(np.cumsum(mask, axis=1) - mask)


INFERRED_AP = LabelMeasure(
    name="infAP",
    label="infAP",
    denominator="average precision, inferred from a sample",
    citation="Yilmaz and Aslam 2006",
    scores=inferred_ap,
)
