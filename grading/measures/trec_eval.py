"""trec_eval's measures, by pytrec_eval, one topic and all runs at a time.

Ordering is trec_eval's: score in single precision, then document id, both descending. `-c` semantics: a run
without the topic scores 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import pytrec_eval
from numpy.typing import NDArray

from grading.errors import UnknownMeasure

SUPPORTED = (
    "11pt_avg",
    "G",
    "Rndcg",
    "Rprec",
    "binG",
    "bpref",
    "infAP",
    "map",
    "ndcg",
    "ndcg_rel",
    "recip_rank",
    "set_F",
    "set_P",
    "set_map",
    "set_recall",
    "set_relative_P",
    "utility",
)
"""Measures without a parameter."""
SUPPORTED_AT_CUTOFF = ("P", "map_cut", "ndcg_cut", "recall", "relative_P", "success")
"""Measures at a number of passages: `P_20`."""
SUPPORTED_AT_RECALL = ("iprec_at_recall",)
"""Measures at a level of recall: `iprec_at_recall_0.10`."""
SUPPORTED_AT_MULTIPLE = ("Rprec_mult",)
"""Measures at a multiple of the number of relevant passages: `Rprec_mult_0.50`."""
MAX_CUTOFF = 100_000

_AT_CUTOFF = re.compile(rf"({'|'.join(SUPPORTED_AT_CUTOFF)})[._]0*([1-9][0-9]*)")
_AT_RECALL = re.compile(rf"({'|'.join(SUPPORTED_AT_RECALL)})[._]([01]|[01]?\.[0-9]+)")
_AT_MULTIPLE = re.compile(rf"({'|'.join(SUPPORTED_AT_MULTIPLE)})[._]([0-9]{{1,2}}|[0-9]{{0,2}}\.[0-9]+)")
_TOPIC = "topic"


@lru_cache(maxsize=256)
def validate(measure: str) -> str:
    """trec_eval's own name of a measure. Raises `UnknownMeasure`, which lists the known ones.

    >>> validate("ndcg_cut.10"), validate("P_20"), validate("iprec_at_recall.0.1")
    ('ndcg_cut_10', 'P_20', 'iprec_at_recall_0.10')
    """
    if measure in SUPPORTED:
        return measure
    if (at := _AT_CUTOFF.fullmatch(measure)) and int(at[2][:9]) <= MAX_CUTOFF:
        return f"{at[1]}_{at[2]}"
    if (at := _AT_RECALL.fullmatch(measure)) and float(at[2]) <= 1:
        return f"{at[1]}_{float(at[2]):.2f}"
    if (at := _AT_MULTIPLE.fullmatch(measure)) and float(at[2]) > 0:
        return f"{at[1]}_{float(at[2]):.2f}"
    at_cutoff = ", ".join(f"{name}_K" for name in SUPPORTED_AT_CUTOFF)
    at_recall = ", ".join(f"{name}_X" for name in SUPPORTED_AT_RECALL)
    multiples = ", ".join(f"{name}_X" for name in SUPPORTED_AT_MULTIPLE)
    ranges = f"{at_cutoff} (K from 1 to {MAX_CUTOFF}), {at_recall} (X from 0 to 1), {multiples}"
    known = f"{', '.join(SUPPORTED)}, {ranges}"
    raise UnknownMeasure(f"no measure {measure!r}; known are {known}")


def takes_gains(measure: str) -> bool:
    """Whether the measure takes labels as gains, so that no first relevant label plays a part in it.

    >>> takes_gains("ndcg_cut_10"), takes_gains("P_20")
    (True, False)
    """
    return measure == "G" or "ndcg" in measure.lower()


def topic_scores(
    labels: Mapping[str, int],
    runs: Sequence[Mapping[str, float] | None],
    measure: str,
    *,
    level: int = 1,
) -> NDArray[np.float64]:
    """Shape (runs,): the measure of each run (document id -> score) for one topic; 0 for a run without the
    topic.

    `level` is the lowest relevant label (trec_eval -l); nDCG ignores it and takes the labels as gains. A
    topic without a relevant passage scores 0. Raises `UnknownMeasure`. Worked: labels 3 and 2 at ranks 2 and
    3 give nDCG@3 = (3/log2(3) + 2/log2(4)) / (3 + 2/log2(3)) = 0.6788 (Järvelin and Kekäläinen 2002, as
    trec_eval discounts).

    >>> run = {"d1": 9.0, "d2": 8.0, "d3": 7.0}
    >>> topic_scores({"d1": 0, "d2": 3, "d3": 2}, [run, None], "ndcg_cut_3").round(4).tolist()
    [0.6788, 0.0]
    """
    name = validate(measure)
    scores = np.zeros(len(runs))
    if not labels:
        return scores
    evaluator = pytrec_eval.RelevanceEvaluator({_TOPIC: labels}, {name}, relevance_level=level)
    for index, run in enumerate(runs):
        if run:
            scores[index] = evaluator.evaluate({_TOPIC: run})[_TOPIC][name]
    return scores
