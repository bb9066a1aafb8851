"""The order of a run's passages by which measures of labels go: that of trec_eval 9, or of 10."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.types import TrecEval
from rubricweb.corpus.pools import CACHED_TOPICS, TopicPool

Scores = NDArray[np.float64]


@lru_cache(maxsize=CACHED_TOPICS)
def trec_rows(topic: TopicPool, version: TrecEval) -> NDArray[np.int32]:
    """Return `ranked_rows` in trec_eval's order."""
    places = trec_places(topic, version)
    return topic.ranked_rows if places is None else np.take_along_axis(topic.ranked_rows, places, axis=1)


@lru_cache(maxsize=CACHED_TOPICS)
def ordered_otherwise(topic: TopicPool) -> NDArray[np.bool_]:
    """Return whether trec_eval 9 and 10 order each run's passages differently, shape (runs,)."""
    scores = np.sort(topic.rankings.scores, axis=1)
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    is_close = (single[:, 1:] == single[:, :-1]) & (scores[:, 1:] != scores[:, :-1])
    if not is_close.any():
        return np.asarray(is_close.any(axis=1))
    usual = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    orders = (trec_places(topic, version) for version in TrecEval)
    nine, ten = (usual if places is None else places for places in orders)
    return np.asarray((nine != ten).any(axis=1))


@lru_cache(maxsize=CACHED_TOPICS)
def trec_places(topic: TopicPool, version: TrecEval) -> NDArray[np.intp] | None:
    """Return the places of each run's passages by score, then id, both descending.

    Scores are in single precision for trec_eval 9. Shape (runs, depth); None where all runs have their
    passages in that order already.
    """
    with np.errstate(over="ignore"):
        values: Scores = topic.rankings.scores
        if version is TrecEval.NINE:
            values = values.astype(np.float32).astype(np.float64)
    runs = np.flatnonzero((values[:, 1:] >= values[:, :-1]).any(axis=1))
    if not len(runs):
        return None
    known_ids = topic.known_ids
    of_id = np.empty(len(known_ids) + 1, dtype=np.int64)
    of_id[sorted(range(len(known_ids)), key=known_ids.__getitem__)] = np.arange(len(known_ids))
    of_id[-1] = -1  # after the end
    places = np.broadcast_to(np.arange(values.shape[1]), values.shape).copy()
    scores = np.where(np.isnan(values[runs]), -np.inf, values[runs])
    places[runs] = np.lexsort((-of_id[topic.rankings.rows[runs]], -scores), axis=1)
    return places
