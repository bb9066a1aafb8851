"""Measures of labels for all runs of a topic at once, from the labels of what they rank.

They equal trec_eval's own, which `trec_eval.topic_scores` asks run by run; that takes twenty times as long.
"""

from __future__ import annotations

from grading.errors import UnknownMeasure
from grading.measures import registry
from grading.measures.base import Floats, LabelledTopic, LabelMeasure, Labels


def is_known(name: str) -> bool:
    try:
        measure = registry.find(name).measure
    except UnknownMeasure:
        return False
    return isinstance(measure, LabelMeasure) and measure.scores is not None


def label_scores(ranked: Labels, judged: Labels, name: str, *, level: int = 1) -> Floats:
    """Return the scores, shape (runs,), of runs whose passages have the labels `ranked`, (runs, depth).

    The passages are in trec_eval's order, and those after a run's end have no label; `judged` has every label
    of the topic. Raise ValueError for a measure that only pytrec_eval computes.

    >>> import numpy as np
    >>> ranked = np.array([[0, 3, 2], [-1, -1, -1]])
    >>> label_scores(ranked, np.array([0, 3, 2]), "ndcg_cut_3").round(4).tolist()
    [0.6788, 0.0]
    >>> label_scores(ranked, np.array([0, 3, 2]), "P_2", level=3).tolist()
    [0.5, 0.0]
    """
    named = registry.find(name)
    if not isinstance(named.measure, LabelMeasure) or named.measure.scores is None:
        raise ValueError(f"{name} is none of those known here")
    return named.measure.scores(LabelledTopic(ranked, judged, level, named.cutoff))
