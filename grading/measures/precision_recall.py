"""Precision, recall and their kin, of rankings, of sets, and of pools that were judged in part.

bpref, how often passages judged not relevant stand above relevant ones: Buckley and Voorhees, "Retrieval
Evaluation with Incomplete Information" (SIGIR 2004).

infAP, average precision where a sample of the pool is judged: Yilmaz and Aslam, "Estimating Average Precision
with Incomplete and Imperfect Judgments" (CIKM 2006).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures import (
    MULTIPLE,
    NOT_POOLED,
    RECALL_LEVEL,
    Floats,
    K,
    LabelledTopic,
    LabelMeasure,
    NumberInName,
    ShortName,
    Threshold,
)

AP_CITATION = "Buckley and Voorhees 2005"
TREC_EVAL = "trec_eval"
ELEVEN = tuple(tenth / 10 for tenth in range(11))
EPSILON = 0.00001
"""Smooths the precision above a relevant passage, as in trec_eval."""


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
RECIPROCAL_RANK_CUT = LabelMeasure(
    name="recip_rank_cut",
    label="RR",
    denominator="1 / rank of the first relevant passage of the first k",
    citation="Voorhees 1999; ir_measures: RR@k",
    scores=reciprocal_rank,
    number=K,
)


def judged_share(topic: LabelledTopic) -> Floats:
    """Return passages with a label of the first k / those first k or, of a shorter run, all, shape (runs,).

    A label below 0 is none.

    >>> judged_share(LabelledTopic(np.array([[0, NOT_POOLED], [3, -1]]), np.array([0, 3]), cutoff=2)).tolist()
    [0.5, 0.5]
    """
    return divide_or_zero((topic.top >= 0).sum(axis=1), np.minimum(topic.n_ranked, topic.cutoff or 0))


JUDGED = LabelMeasure(
    name="judged",
    label="judged",
    denominator="passages with a label among the first k / passages of the first k",
    citation="ir_measures: Judged@k",
    scores=judged_share,
    threshold=Threshold.ANY,
    number=K,
)


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
    citation=AP_CITATION,
    scores=average_precision,
    suggested=("map",),
)
AVERAGE_PRECISION_CUT = LabelMeasure(
    name="map_cut",
    label="AP",
    denominator="sum of the precisions at relevant passages of the first k / relevant passages of the topic",
    citation=AP_CITATION,
    scores=average_precision,
    number=K,
)


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
    """Return the highest precision at or after the rank where a run has this share of the relevant."""
    n_found = np.cumsum(topic.relevant, axis=1)
    precisions = n_found / np.arange(1, n_found.shape[1] + 1, dtype=np.float64)
    counts = (n_found >= _whole_share(topic, level)) & (n_found > 0)
    return np.asarray(np.where(counts, precisions, 0.0).max(axis=1, initial=0.0))


def _whole_share(topic: LabelledTopic, share: float) -> int:
    """Return that share of R as a whole number, rounded up from a tenth, as trec_eval 9 does; 10 rounds."""
    return int(share * topic.n_relevant + 0.9)


def _at_level(
    name: str, scores: Callable[[LabelledTopic], Floats], denominator: str, number: NumberInName | None = None
) -> LabelMeasure:
    return LabelMeasure(
        name=name, label=name, denominator=denominator, citation=TREC_EVAL, scores=scores, number=number
    )


RECALL_LEVEL_MEASURES = (
    _at_level("11pt_avg", eleven_point_average, "mean of interpolated precisions at recall 0, 0.1, ... 1"),
    _at_level(
        "relative_P", relative_precision, "relevant passages of the first k / the most that could be", K
    ),
    _at_level("iprec_at_recall", precision_at_recall, "highest precision from recall X on", RECALL_LEVEL),
    _at_level(
        "Rprec_mult", precision_at_multiple, "precision at X times the number of relevant passages", MULTIPLE
    ),
)


def set_precision(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the run / passages of the run, shape (runs,).

    >>> topic = LabelledTopic(np.array([[3, 0, 2], [3, -1, -1]]), np.array([0, 3, 2, 1]), np.array([3, 1]))
    >>> set_precision(topic).round(4).tolist(), set_recall(topic).round(4).tolist()
    ([0.6667, 1.0], [0.6667, 0.3333])
    >>> set_f(topic).round(4).tolist(), set_map(topic).round(4).tolist()
    ([0.6667, 0.5], [0.4444, 0.3333])
    >>> set_relative_precision(topic).round(4).tolist(), utility(topic).tolist()
    ([0.6667, 1.0], [1.0, 1.0])
    """
    return divide_or_zero(topic.relevant.sum(axis=1), topic.n_ranked)


def set_recall(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the run / relevant passages of the topic, shape (runs,)."""
    return divide_or_zero(topic.relevant.sum(axis=1), topic.n_relevant)


def set_f(topic: LabelledTopic) -> Floats:
    """Return the harmonic mean of set_P and set_recall, shape (runs,)."""
    precision, recall = set_precision(topic), set_recall(topic)
    return divide_or_zero(2 * precision * recall, precision + recall)


def set_map(topic: LabelledTopic) -> Floats:
    """Return set_P times set_recall, shape (runs,)."""
    return np.asarray(set_precision(topic) * set_recall(topic))


def set_relative_precision(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the run / the most that a run of its length could have, shape (runs,)."""
    return divide_or_zero(topic.relevant.sum(axis=1), np.minimum(topic.n_ranked, topic.n_relevant))


def utility(topic: LabelledTopic) -> Floats:
    """Return relevant passages of the run - others of it, shape (runs,)."""
    return np.asarray(2.0 * topic.relevant.sum(axis=1) - topic.n_ranked)


def _of_set(name: str, scores: Callable[[LabelledTopic], Floats], denominator: str) -> LabelMeasure:
    return LabelMeasure(name=name, label=name, denominator=denominator, citation=TREC_EVAL, scores=scores)


SET_MEASURES = (
    _of_set("set_F", set_f, "harmonic mean of set_P and set_recall"),
    _of_set("set_P", set_precision, "relevant passages / passages of the run"),
    _of_set("set_map", set_map, "set_P times set_recall"),
    _of_set("set_recall", set_recall, "relevant passages of the run / relevant passages of the topic"),
    _of_set(
        "set_relative_P", set_relative_precision, "relevant passages of the run / the most that could be"
    ),
    _of_set("utility", utility, "relevant passages of the run - others of it"),
)


def bpref(topic: LabelledTopic) -> Floats:
    """Return bpref, shape (runs,).

    It is the sum over relevant passages of 1 - min(R, judged not relevant above it) / min(R, judged not
    relevant), divided by R, the number of relevant passages.

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
    """Return how many are above each rank, shape (runs, depth)."""
    return np.asarray(np.cumsum(mask, axis=1) - mask)


INFERRED_AP = LabelMeasure(
    name="infAP",
    label="infAP",
    denominator="average precision, inferred from a sample",
    citation="Yilmaz and Aslam 2006",
    scores=inferred_ap,
)
