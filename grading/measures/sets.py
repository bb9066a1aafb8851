"""Measures of a run as a set: what it ranks, in whatever order. Named and defined as in trec_eval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grading.arrays import divide_or_zero
from grading.measures.base import Floats, LabelledTopic, LabelMeasure

CITATION = "trec_eval"


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


def _measure(name: str, scores: Callable[[LabelledTopic], Floats], denominator: str) -> LabelMeasure:
    return LabelMeasure(name=name, label=name, denominator=denominator, citation=CITATION, scores=scores)


SET_MEASURES = (
    _measure("set_F", set_f, "harmonic mean of set_P and set_recall"),
    _measure("set_P", set_precision, "relevant passages / passages of the run"),
    _measure("set_map", set_map, "set_P times set_recall"),
    _measure("set_recall", set_recall, "relevant passages of the run / relevant passages of the topic"),
    _measure(
        "set_relative_P", set_relative_precision, "relevant passages of the run / the most that could be"
    ),
    _measure("utility", utility, "relevant passages of the run - others of it"),
)
