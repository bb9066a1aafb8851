"""Measures of gains that few but trec_eval have: G, binG, and nDCG averaged over some ranks.

Named and defined as in trec_eval; labels are the gains.
"""

from __future__ import annotations

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, LabelledTopic, LabelMeasure, Threshold
from grading.measures.ndcg import discounts

CITATION = "trec_eval"


def gain_g(topic: LabelledTopic) -> Floats:
    """Return the sum of gain / log2(2 + gain missed so far), divided by the ideal gain, shape (runs,).

    Missed is what the ideal order has by the same rank, at least 1 a rank, and the run lacks. Labels 2 and 1
    at ranks 2 and 3: (2 / log2(2 + 3 - 2) + 1 / log2(2 + 4 - 3)) / 3.

    >>> gain_g(LabelledTopic(np.array([[0, 2, 1]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6309]
    """
    gains, ideal = np.maximum(topic.ranked, 0), _ideal_gains(topic)
    cost = np.ones(gains.shape[1])
    cost[: len(ideal)] = np.maximum(ideal, 1)[: len(cost)]
    missed = np.cumsum(cost) - np.cumsum(gains, axis=1)
    return divide_or_zero((gains / np.log2(2 + missed)).sum(axis=1), ideal.sum())


def binary_g(topic: LabelledTopic) -> Floats:
    """Return the sum over relevant passages of 1 / log2(2 + those not relevant above it), divided by the
    relevant passages of the topic, shape (runs,).

    >>> binary_g(LabelledTopic(np.array([[0, 2, 1]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6309]
    """
    others_above = np.cumsum(~topic.relevant, axis=1)
    shares = np.where(topic.relevant, 1 / np.log2(2 + others_above), 0.0)
    return divide_or_zero(shares.sum(axis=1), topic.n_relevant)


def ndcg_at_relevant(topic: LabelledTopic) -> Floats:
    """Return nDCG at the rank of each passage with a gain, averaged over those of the topic, shape (runs,).

    For a passage that the run lacks, the gain of the whole run counts over that of the whole ideal order.

    >>> ndcg_at_relevant(LabelledTopic(np.array([[0, 2]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.4796]
    """
    gained, ideal = _gained(topic), _gained_down(_ideal_gains(topic))
    n_gains = len(ideal)
    if not n_gains:
        return np.zeros(len(gained))
    has_gain = topic.ranked > 0
    by_rank = np.minimum(np.arange(gained.shape[1]), n_gains - 1)
    at_gains = np.where(has_gain, gained / ideal[by_rank], 0.0).sum(axis=1)
    lacking = n_gains - has_gain.sum(axis=1)
    return np.asarray((at_gains + lacking * _last(gained) / ideal[-1]) / n_gains)


def ndcg_at_levels(topic: LabelledTopic) -> Floats:
    """Return nDCG where the ideal order passes to a lower label, averaged, shape (runs,).

    A run that is longer than the ideal order by two counts once more, at its end, as in trec_eval.

    >>> ndcg_at_levels(LabelledTopic(np.array([[1, 2, 0]]), np.array([0, 2, 1]))).round(4).tolist()
    [0.6799]
    """
    gained, gains = _gained(topic), _ideal_gains(topic)
    ideal = _gained_down(gains)
    if not topic.n_relevant or not gained.shape[1]:
        return np.zeros(len(gained))
    ends = np.flatnonzero(np.append(gains[1:] != gains[:-1], True))
    n_ranked = topic.n_ranked[:, np.newaxis]
    reached = np.take_along_axis(gained, np.clip(ends, 0, np.maximum(n_ranked - 1, 0)), axis=1)
    sums = (reached / ideal[ends]).sum(axis=1)
    is_longer = topic.n_ranked > len(gains) + 1
    sums = sums + np.where(is_longer, _last(gained) / ideal[-1], 0.0)
    return np.where(topic.n_ranked > 0, sums / (len(ends) + is_longer), 0.0)


def _ideal_gains(topic: LabelledTopic) -> Floats:
    """The gains of the topic above 0, highest first."""
    return np.sort(topic.judged[topic.judged > 0])[::-1].astype(np.float64)


def _gained(topic: LabelledTopic) -> Floats:
    """Return the discounted gain of each run down to each rank, shape (runs, depth)."""
    return _gained_down(np.maximum(topic.ranked, 0))


def _gained_down(gains: Floats) -> Floats:
    """Return the discounted sums of gains, shape (..., depth), down to each rank."""
    return np.cumsum(gains * discounts(gains.shape[-1]), axis=-1)


def _last(gained: Floats) -> Floats:
    """What each run has gained at its end, shape (runs,)."""
    return gained[:, -1] if gained.shape[1] else np.zeros(len(gained))


GAIN_MEASURES = (
    LabelMeasure(
        name="G",
        label="G",
        denominator="gain, discounted by the gain missed before / ideal gain",
        citation=CITATION,
        scores=gain_g,
        threshold=Threshold.NONE,
    ),
    LabelMeasure(
        name="Rndcg",
        label="Rndcg",
        denominator="nDCG at R levels",
        citation=CITATION,
        scores=ndcg_at_levels,
        threshold=Threshold.NONE,
    ),
    LabelMeasure(
        name="binG",
        label="binG",
        denominator="relevant passages, each / log2(2 + those not relevant above it), / relevant passages",
        citation=CITATION,
        scores=binary_g,
    ),
    LabelMeasure(
        name="ndcg_rel",
        label="ndcg_rel",
        denominator="nDCG, averaged over relevant passages",
        citation=CITATION,
        scores=ndcg_at_relevant,
        threshold=Threshold.NONE,
    ),
)
