"""The topics of a board: which count, how hard they are for its runs, and how far they part them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.types import MIN_RATING
from rubricweb.leaderboards.board.tables import Basis
from rubricweb.leaderboards.board.types import BoardRow, BoardTopic

MAX_PARTING = 5
Floats = NDArray[np.float64]


def counting_topics(
    base: Basis, scores: Floats, texts: Mapping[int, str]
) -> tuple[tuple[BoardTopic, ...], NDArray[np.intp]]:
    """Return the topics that count, the easiest first, and their columns in `scores`, shape (runs, units)."""
    counts = np.flatnonzero((~np.isnan(scores)).any(axis=0))
    easiest = counts[np.argsort(-np.nanmean(scores[:, counts], axis=0), kind="stable")]
    units = base.units()
    is_of_subtopics = base.spec.by_subtopic and bool(base.spec.topic)
    topics = tuple(
        BoardTopic(
            topic.topic_id,
            topic.query_id,
            texts[topic.topic_id],
            next(iter(items.facets), "") if is_of_subtopics else "",
        )
        for topic, items in (units[column] for column in easiest)
    )
    return topics, easiest


def scores_by_topic(scores: Floats, columns: NDArray[np.intp]) -> list[tuple[float | None, ...]]:
    """Return, for each run, its scores on those topics."""
    return [tuple(none_if_nan(score) for score in of_run) for of_run in scores[:, columns]]


def topics_without_items(base: Basis, texts: Mapping[int, str]) -> tuple[BoardTopic, ...]:
    """Return the topics that the bank asks nothing about; none for a board of one topic or of labels."""
    if base.spec.bank is None or base.spec.topic:
        return ()
    bare = [topic for topic in base.pool.topics if not base.items.get(topic.topic_id)]
    return tuple(BoardTopic(topic.topic_id, topic.query_id, texts[topic.topic_id]) for topic in bare)


def parting_topics(topics: Sequence[BoardTopic], rows: Sequence[BoardRow]) -> list[int]:
    """Return the places of the topics whose scores vary most over the runs, the widest first."""
    scores = np.array([row.by_topic for row in rows], dtype=np.float64).reshape(len(rows), len(topics))
    if len(rows) < 2 or not len(topics):
        return []
    complete = ~np.isnan(scores).any(axis=0)
    spread = np.where(complete, scores.std(axis=0), 0.0)
    widest = np.argsort(-spread, kind="stable")[:MAX_PARTING]
    return [int(place) for place in widest if spread[place] > 0]


def n_graded(base: Basis) -> int:
    """Return how many cells of the board's topics and items have a grade."""
    ratings = (base.grades[topic_id].matrix.columns(uids).ratings for topic_id, uids in base.items.items())
    return int(sum((of_topic >= MIN_RATING).sum() for of_topic in ratings))
