"""The commonest measures of trec_eval for all runs of a topic at once, from the labels of what they rank.

They equal trec_eval's own, which `trec_eval.topic_scores` asks run by run; that takes twenty times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.signedinteger[Any]]
"""Any label below 0 is that of a passage without one."""
Scores = NDArray[np.float64]
_NAME = re.compile(r"(P|recall|success|ndcg_cut|map_cut)_([0-9]+)|(map|recip_rank|ndcg|Rprec|bpref)")


def is_known(measure: str) -> bool:
    return _NAME.fullmatch(measure) is not None


def label_scores(ranked: Labels, judged: Labels, measure: str, *, level: int = 1) -> Scores:
    """Shape (runs,): a measure that `is_known` of runs whose passages have the labels `ranked` (runs, depth).

    The passages are in trec_eval's order, and those after a run's end have no label; `judged` has every label
    of the topic.

    >>> ranked = np.array([[0, 3, 2], [-1, -1, -1]])
    >>> label_scores(ranked, np.array([0, 3, 2]), "ndcg_cut_3").round(4).tolist()
    [0.6788, 0.0]
    >>> label_scores(ranked, np.array([0, 3, 2]), "P_2", level=3).tolist()
    [0.5, 0.0]
    """
    name = _NAME.fullmatch(measure)
    if name is None:
        raise ValueError(f"{measure} is none of those known here")
    kind, cutoff = name[1] or name[3], int(name[2]) if name[2] else ranked.shape[1]
    top = ranked[:, :cutoff]
    if kind.startswith("ndcg"):
        ideal = np.sort(np.maximum(judged, 0))[::-1]
        return _over(
            _discounted(top), float(_discounted(ideal[np.newaxis, : cutoff if name[2] else None])[0])
        )
    relevant = top >= level
    if kind == "P":
        return _over(relevant.sum(axis=1, dtype=np.float64), cutoff)
    if kind == "bpref":
        return _bpref(relevant, (top >= 0) & ~relevant, judged[judged >= 0] >= level)
    return _OF_RELEVANT[kind.removesuffix("_cut")](relevant, int((judged >= level).sum()))


def _recall(relevant: NDArray[np.bool_], whole: int) -> Scores:
    return _over(relevant.sum(axis=1, dtype=np.float64), whole)


def _success(relevant: NDArray[np.bool_], whole: int) -> Scores:
    return relevant.any(axis=1) * np.ones(len(relevant))


def _reciprocal_rank(relevant: NDArray[np.bool_], whole: int) -> Scores:
    if not relevant.shape[1]:
        return np.zeros(len(relevant))
    ranks: Scores = np.arange(1, relevant.shape[1] + 1, dtype=np.float64)
    return np.where(relevant.any(axis=1), 1 / ranks[relevant.argmax(axis=1)], 0.0)


def _average_precision(relevant: NDArray[np.bool_], whole: int) -> Scores:
    precisions = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1, dtype=np.float64)
    return _over(np.where(relevant, precisions, 0.0).sum(axis=1), whole)


def _r_precision(relevant: NDArray[np.bool_], whole: int) -> Scores:
    return _over(relevant[:, :whole].sum(axis=1, dtype=np.float64), whole)


def _bpref(relevant: NDArray[np.bool_], other: NDArray[np.bool_], judged: NDArray[np.bool_]) -> Scores:
    """1 - min(R, judged not relevant above it) / min(R, judged not relevant), summed over relevant / R."""
    whole = int(judged.sum())
    bound = min(whole, len(judged) - whole)
    above = np.minimum(np.cumsum(other, axis=1), whole)
    return _over(np.where(relevant, 1 - above / max(bound, 1), 0.0).sum(axis=1), whole)


_OF_RELEVANT: dict[str, Callable[[NDArray[np.bool_], int], Scores]] = {
    "recall": _recall,
    "success": _success,
    "recip_rank": _reciprocal_rank,
    "map": _average_precision,
    "Rprec": _r_precision,
}


def _discounted(labels: Labels) -> Scores:
    discounts = 1 / np.log2(np.arange(2, labels.shape[1] + 2, dtype=np.float64))
    found: Scores = np.maximum(labels, 0) @ discounts
    return found


def _over(numbers: Scores, whole: float) -> Scores:
    return np.asarray(numbers / whole) if whole else np.zeros(len(numbers))
