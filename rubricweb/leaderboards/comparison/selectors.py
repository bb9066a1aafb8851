"""Two runs of a board beside each other, or one beside the mean of all runs."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from grading.arrays import best_first
from grading.statistics.max_t import ALPHA, PairedTest, interval
from grading.statistics.mean_intervals import resamples
from rubricweb.leaderboards.board.headline import headline
from rubricweb.leaderboards.board.scored import ScoredBoard

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopicPair:
    """A topic that counts for both."""

    topic_id: int
    query_id: str
    first: float
    second: float
    unit: int = 0
    """Its place among what the board averages: topics, or the subtopics of its one topic."""

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
    headline: str
    """What the board says of its runs; empty where it tests nothing."""
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
    return compare_rows(scored, *_places(scored, first, second))


def compare_rows(scored: ScoredBoard, one: int, other: int) -> RunComparison:
    """Compare two runs by their rows in the table of scores."""
    scores = scored.table.scores
    if _ahead(scores, one, other) < 0:
        one, other = other, one
    ranks = scored.ranks
    low, high = interval(scores[one] - scores[other], ranks.test) if ranks else (-inf, inf)
    return RunComparison(
        first=scored.run_tags[one],
        second=scored.run_tags[other],
        ahead=_ahead(scores, one, other),
        low=low,
        high=high,
        p=float(ranks.p[one, other]) if ranks and ranks.can_tell else None,
        test=ranks.test if ranks else scored.spec.test,
        headline=headline(scored.top, ranks.topics if ranks else 0),
        topics=topic_pairs(scored, scores[one], scores[other]),
    )


def topic_pairs(scored: ScoredBoard, ours: Floats, theirs: Floats) -> tuple[TopicPair, ...]:
    """Return the topics that count on both sides, by scores of shape (topics,); largest gain first."""
    pairs = [
        TopicPair(topic.topic_id, topic.query_id, float(ours[place]), float(theirs[place]), place)
        for place, (topic, _) in enumerate(scored.base.units())
        if not np.isnan([ours[place], theirs[place]]).any()
    ]
    return tuple(sorted(pairs, key=lambda pair: -pair.difference))


def mean_of_all(scored: ScoredBoard) -> Floats:
    """Return the mean of all runs on each topic, shape (topics,); NaN where a topic counts for none."""
    counted = ~np.isnan(scored.table.scores)
    totals = np.where(counted, scored.table.scores, 0.0).sum(axis=0)
    return np.where(counted.any(axis=0), totals / np.maximum(counted.sum(axis=0), 1), np.nan)


def redrawn_means(differences: Floats) -> Floats:
    """Return an array of shape (redraws,): the mean of differences, shape (topics,), by topics drawn anew.

    >>> redrawn_means(np.array([0.5, 0.5])).std().item()
    0.0
    """
    n = len(differences)
    return np.asarray(resamples(n) @ differences / n, dtype=np.float64)


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


def _ahead(scores: Floats, one: int, other: int) -> float:
    differences = scores[one] - scores[other]
    counted = differences[~np.isnan(differences)]
    return float(counted.mean()) if len(counted) else float("nan")
