"""Precision at shares or multiples of R, the number of relevant passages. Defined as in trec_eval 9."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import MULTIPLE, RECALL_LEVEL, Floats, K, LabelledTopic, LabelMeasure, NumberInName

CITATION = "trec_eval"
ELEVEN = tuple(tenth / 10 for tenth in range(11))


def precision_at_recall(topic: LabelledTopic) -> Floats:
    """Return the highest precision from the recall level on that is in the measure's name, shape (runs,).

    >>> topic = LabelledTopic(np.array([[0, 3, 2, 0]]), np.array([0, 3, 2]), share=0.5)
    >>> precision_at_recall(topic).round(4).tolist(), eleven_point_average(topic).round(4).tolist()
    ([0.6667], [0.6667])
    """
    return _interpolated(topic, topic.share)


def eleven_point_average(topic: LabelledTopic) -> Floats:
    """Return the mean of `precision_at_recall` at 0, 0.1, ... 1, shape (runs,)."""
    return np.asarray(np.mean([_interpolated(topic, level) for level in ELEVEN], axis=0))


def precision_at_multiple(topic: LabelledTopic) -> Floats:
    """Return precision at X times R, X as in the measure's name, shape (runs,).

    >>> precision_at_multiple(LabelledTopic(np.array([[0, 3, 2]]), np.array([0, 3, 2]), share=0.5)).tolist()
    [0.0]
    """
    cutoff = _whole_share(topic, topic.share)
    return divide_or_zero(topic.relevant[:, :cutoff].sum(axis=1), cutoff)


def relative_precision(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the first k / the most that could be, shape (runs,).

    >>> relative_precision(LabelledTopic(np.array([[0, 3, 2]]), np.array([0, 3, 2]), cutoff=3)).tolist()
    [1.0]
    """
    return divide_or_zero(topic.relevant.sum(axis=1), min(topic.cutoff or 0, topic.n_relevant))


def _interpolated(topic: LabelledTopic, level: float) -> Floats:
    """The highest precision at or after the rank where a run has this share of the relevant passages."""
    n_found = np.cumsum(topic.relevant, axis=1)
    precisions = n_found / np.arange(1, n_found.shape[1] + 1, dtype=np.float64)
    counts = (n_found >= _whole_share(topic, level)) & (n_found > 0)
    return np.asarray(np.where(counts, precisions, 0.0).max(axis=1, initial=0.0))


def _whole_share(topic: LabelledTopic, share: float) -> int:
    """That share of R, upwards from a tenth over a whole number on, as trec_eval 9 has it; 10 rounds."""
    return int(share * topic.n_relevant + 0.9)


def _measure(
    name: str,
    scores: Callable[[LabelledTopic], Floats],
    denominator: str,
    number: NumberInName | None = None,
) -> LabelMeasure:
    return LabelMeasure(
        name=name, label=name, denominator=denominator, citation=CITATION, scores=scores, number=number
    )


RECALL_LEVEL_MEASURES = (
    _measure("11pt_avg", eleven_point_average, "mean of the interpolated precisions at recall 0, 0.1, ... 1"),
    _measure(
        "relative_P", relative_precision, "relevant passages of the first k / the most that could be", K
    ),
    _measure("iprec_at_recall", precision_at_recall, "highest precision from recall X on", RECALL_LEVEL),
    _measure(
        "Rprec_mult",
        precision_at_multiple,
        "precision at X times the number of relevant passages",
        MULTIPLE,
    ),
)
