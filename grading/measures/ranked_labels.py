"""Measures of labels for all runs of a topic at once, from the labels of what they rank.

They are those of trec_eval 9, and tests compare them. Its C code stays out of this process: it reads before
its arrays, or for ever, where a topic has no label of 0 or more, and takes time and memory by the highest
label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grading.errors import UnknownMeasure
from grading.measures import registry
from grading.measures.base import Floats, LabelledTopic, LabelMeasure, Labels


def validate(name: str) -> str:
    """Return trec_eval's own name of a measure of labels. Raise `UnknownMeasure`, which lists the known ones.

    >>> validate("ndcg_cut.10"), validate("P_20"), validate("iprec_at_recall.0.1")
    ('ndcg_cut_10', 'P_20', 'iprec_at_recall_0.10')
    """
    named = registry.find(name)
    if not isinstance(named.measure, LabelMeasure):
        raise UnknownMeasure(f"{name} is a measure of items")
    return named.name


def label_scores(
    ranked: Labels,
    judged: Labels,
    name: str,
    *,
    lengths: NDArray[np.signedinteger[Any]] | None = None,
    level: int = 1,
) -> Floats:
    """Return the scores, shape (runs,), of runs whose passages have the labels `ranked`, (runs, depth).

    The passages are in trec_eval's order. What the judgments do not name, and what is after a run's end, has
    the label NOT_POOLED. `judged` has every label of the topic, `lengths` how many passages each run ranks
    (depth by default): a run without the topic has 0 and scores 0 (trec_eval -c). Where no label is relevant,
    every run scores 0, but by `utility`. `level` is the lowest relevant label (trec_eval -l); nDCG ignores it
    and takes the labels as gains. Raise `UnknownMeasure`.

    Labels 3 and 2 at ranks 2 and 3 give nDCG@3 = (3/log2(3) + 2/log2(4)) / (3 + 2/log2(3)) = 0.6788 (Järvelin
    and Kekäläinen 2002, as trec_eval discounts).

    >>> import numpy as np
    >>> ranked = np.array([[0, 3, 2], [-1, -1, -1]])
    >>> label_scores(ranked, np.array([0, 3, 2]), "ndcg_cut_3").round(4).tolist()
    [0.6788, 0.0]
    >>> label_scores(ranked, np.array([0, 3, 2]), "P_2", level=3).tolist()
    [0.5, 0.0]
    """
    named = registry.find(name)
    if not isinstance(named.measure, LabelMeasure):
        raise UnknownMeasure(f"{name} is a measure of items")
    topic = LabelledTopic(ranked, judged, lengths, level, named.cutoff, named.share)
    return named.measure.scores(topic)
