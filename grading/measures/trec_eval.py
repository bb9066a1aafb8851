"""trec_eval's measures, by pytrec_eval, one topic and all runs at a time.

Ordering is trec_eval's: score in single precision, then document id, both descending. `-c` semantics: a run
without the topic scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytrec_eval
from numpy.typing import NDArray

from grading.errors import UnknownMeasure
from grading.measures import registry
from grading.measures.base import LabelMeasure

_TOPIC = "topic"


def validate(name: str) -> str:
    """Return trec_eval's own name of a measure of labels. Raise `UnknownMeasure`, which lists the known ones.

    >>> validate("ndcg_cut.10"), validate("P_20"), validate("iprec_at_recall.0.1")
    ('ndcg_cut_10', 'P_20', 'iprec_at_recall_0.10')
    """
    named = registry.find(name)
    if not isinstance(named.measure, LabelMeasure):
        raise UnknownMeasure(f"{name} is a measure of items")
    return named.name


def topic_scores(
    labels: Mapping[str, int],
    runs: Sequence[Mapping[str, float] | None],
    measure: str,
    *,
    level: int = 1,
) -> NDArray[np.float64]:
    """Return the measure of each run (document id -> score) for one topic, shape (runs,); 0 for a run without
    the topic.

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
