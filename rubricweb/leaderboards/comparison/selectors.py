"""Two runs of a board beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from grading.arrays import best_first
from grading.statistics.max_t import ALPHA, PairedTest, interval
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.board.headline import headline
from rubricweb.leaderboards.board.scored import ScoredBoard


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A topic that counts for both."""

    topic_id: int
    query_id: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The better run comes first."""

    first: str
    second: str
    ahead: float
    """The first one's mean minus the second's, over the topics that count for both; NaN without any."""
    low: float
    """The ends of the 95 % interval of `ahead`; infinite without one."""
    high: float
    p: float | None
    """Adjusted for all pairs of the board; None where nothing is tested: by measures that are no means over
    topics, or with too few topics.
    """
    test: PairedTest
    verdict: str
    """What the board says of its runs."""
    topics: tuple[TopicPair, ...]
    """The one with the largest difference for the first run comes first."""

    @property
    def has_interval(self) -> bool:
        return isfinite(self.low)

    @property
    def is_clear(self) -> bool:
        """By the board's test of all its pairs."""
        return self.p is not None and self.p <= ALPHA


class UnknownRun(Exception):
    """The board lacks such a run, or there is only one; the text says so."""


def compare(scored: ScoredBoard, first: str = "", second: str = "") -> RunComparison:
    """Compare two runs by name; empty names are the board's first and next. Raises UnknownRun."""
    one, other = _places(scored, first, second)
    tags = scored.run_tags
    scores = scored.table.scores
    if _ahead(scores, one, other) < 0:
        one, other = other, one
    ranks = scored.ranks
    low, high = interval(scores[one] - scores[other], ranks.test) if ranks else (-inf, inf)
    return RunComparison(
        first=tags[one],
        second=tags[other],
        ahead=_ahead(scores, one, other),
        low=low,
        high=high,
        p=float(ranks.p[one, other]) if ranks and ranks.can_tell else None,
        test=ranks.test if ranks else scored.spec.test,
        verdict=headline(scored.top, ranks.topics if ranks else 0),
        topics=_topics(scored, one, other),
    )


def named_topics(collection: Collection) -> dict[int, str]:
    """Return the topics by id, each with its query id and its query."""
    return {topic.pk: str(topic) for topic in collection.topics.only("query_id", "text")}


def _places(scored: ScoredBoard, first: str, second: str) -> tuple[int, int]:
    tags = scored.run_tags
    if len(tags) < 2:
        raise UnknownRun("A comparison takes two runs, and this board has fewer.")
    if unknown := {first, second} - {"", *tags}:
        raise UnknownRun(f"The board has no run {min(unknown)}; its runs are {', '.join(tags)}.")
    if first and first == second:
        raise UnknownRun("A comparison takes two different runs.")
    order = best_first(scored.means).tolist()
    one = tags.index(first) if first else next(run for run in order if tags[run] != second)
    return one, tags.index(second) if second else next(run for run in order if run != one)


def _ahead(scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]], one: int, other: int) -> float:
    differences = scores[one] - scores[other]
    known = differences[~np.isnan(differences)]
    return float(known.mean()) if len(known) else float("nan")


def _topics(scored: ScoredBoard, one: int, other: int) -> tuple[TopicPair, ...]:
    scores = scored.table.scores
    pairs = [
        TopicPair(topic.topic_id, topic.query_id, float(scores[one, place]), float(scores[other, place]))
        for place, (topic, _) in enumerate(scored.base.units())
        if not np.isnan(scores[[one, other], place]).any()
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.difference))
