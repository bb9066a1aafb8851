"""The topics on which the first runs of a board differ most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubricweb.leaderboards.board.tables import Basis
from rubricweb.leaderboards.board.types import BoardRow, LeaderTopic

MAX_LEADERS = 6
MAX_TOPICS = 8


def leader_topics(
    base: Basis, rows: Sequence[BoardRow], scores: NDArray[np.float64]
) -> tuple[LeaderTopic, ...]:
    """Return the topics by which the leading rows differ most, in the collection's order; none for a board of
    one topic. `scores` has the shape (rows, topics).
    """
    n_leading = sum(row.first == 1 for row in rows)
    if not n_leading or base.spec.topic:
        return ()
    leaders = scores[: min(max(n_leading, 2), MAX_LEADERS)]
    counts = np.asarray(~np.isnan(leaders).any(axis=0), dtype=np.bool_)
    spread = np.where(counts, np.ptp(leaders, axis=0), -1.0)
    widest = sorted(column for column in np.argsort(-spread, kind="stable")[:MAX_TOPICS] if counts[column])
    topics = [base.pool.topics[column] for column in widest]
    named = base.spec.collection.topics.filter(pk__in=[topic.topic_id for topic in topics])
    texts = dict(named.values_list("pk", "text"))
    return tuple(
        LeaderTopic(topic.topic_id, topic.query_id, texts[topic.topic_id], tuple(leaders[:, column].tolist()))
        for topic, column in zip(topics, widest, strict=True)
    )
