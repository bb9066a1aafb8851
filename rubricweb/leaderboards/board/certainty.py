"""Tell how certain a board is, and hold its scores for the pages that analyse a board."""

from __future__ import annotations

from collections.abc import Collection as Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.max_t import ALPHA, PairedTest, p_error
from grading.statistics.mean_intervals import Intervals, mean_intervals
from grading.types import MIN_RATING
from rubricweb.grades.scoring import (
    CACHED_TABLES,
    MeasureSpec,
    RankIntervals,
    Scores,
    ScoreTable,
    rank_intervals,
    resolved,
)
from rubricweb.leaderboards.board import BoardSpec, Top
from rubricweb.leaderboards.board.scores import Basis, TopicItems, basis, score_units


@dataclass(frozen=True, eq=False)
class Certainty(RankIntervals):
    """Rank intervals of the runs, with the interval of each run's score."""

    intervals: Intervals

    @property
    def error_of_ends(self) -> float:
        """Return the largest Monte-Carlo standard error of an end of an interval; 0 without intervals."""
        return float(np.nanmax(self.intervals.error, initial=0.0))

    @property
    def error_of_p(self) -> float:
        """Return the Monte-Carlo standard error of a p-value at the level of the board."""
        return p_error(ALPHA, self.topics, self.test)


def certainty(scores: Scores, test: PairedTest, *, less_is_better: bool = False) -> Certainty | None:
    """Return the certainty of scores, shape (runs, topics).

    None where fewer than two topics or runs leave nothing to test.
    """
    ranks = rank_intervals(0.0 - scores if less_is_better else scores, test)
    if ranks is None:
        return None
    intervals = _intervals(scores.tobytes(), scores.shape)
    return Certainty(ranks.order, ranks.p, ranks.test, ranks.topics, intervals)


@lru_cache(maxsize=CACHED_TABLES)
def _intervals(content: bytes, shape: tuple[int, int]) -> Intervals:
    """Return the intervals of mean scores; those of scores that are shares end at 0 and at 1."""
    scores = np.frombuffer(content).reshape(shape)
    intervals = mean_intervals(scores)
    if not 0 <= np.nanmin(scores, initial=0) <= np.nanmax(scores, initial=1) <= 1:
        return intervals
    return Intervals(np.maximum(intervals.low, 0), np.minimum(intervals.high, 1), intervals.error)


def top(run_tags: Sequence[str], scores: Scores, ranks: RankIntervals | None) -> Top | None:
    """Return what can be said of the first run of a table of scores (runs, topics)."""
    if ranks is None:
        return None
    order = ranks.order
    first = tuple(sorted(run_tags[run] for run in order.first))
    not_behind, behind = int(order.not_behind_first.sum()) - len(first), int(order.behind_first.sum())
    return Top(ranks.can_tell, first, not_behind, behind, resolved(scores, ranks.test))


@dataclass(frozen=True)
class ScoredBoard:
    """The scores of a board with what they were computed from."""

    base: Basis
    table: ScoreTable

    @property
    def spec(self) -> BoardSpec:
        return self.base.spec

    @property
    def run_tags(self) -> tuple[str, ...]:
        return self.table.run_tags

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Shape (runs,), without the last digits of sums, which would untie runs."""
        return np.round(self.table.means(), TIED_DECIMALS)

    @cached_property
    def merits(self) -> Scores:
        """Return the scores such that higher is better, shape (runs, topics)."""
        return self.spec.measure.merits(self.table.scores)

    @cached_property
    def mean_merits(self) -> NDArray[np.float64]:
        """Return `means` such that higher is better, to order runs by, shape (runs,)."""
        return self.spec.measure.merits(self.means)

    @cached_property
    def ranks(self) -> RankIntervals | None:
        """Return the ranks that the topics leave open; None where there is nothing to test them by."""
        if not self.spec.measure.bootstraps_by_topic:
            return None
        return rank_intervals(self.merits, self.spec.test)

    @property
    def top(self) -> Top | None:
        """Return what can be said of the first run; None where there is nothing to test."""
        return top(self.run_tags, self.table.scores, self.ranks)

    @cached_property
    def by_run(self) -> dict[str, float]:
        return dict(zip(self.run_tags, self.means.tolist(), strict=True))

    @cached_property
    def merit_by_run(self) -> dict[str, float]:
        return dict(zip(self.run_tags, self.mean_merits.tolist(), strict=True))

    @property
    def is_ungraded(self) -> bool:
        """Return whether none of these items has a rating."""
        grades, items = self.base.grades, self.base.items
        ratings = (
            grades[t.topic_id].matrix.columns(items.get(t.topic_id, ())).ratings
            for t in self.base.pool.topics
        )
        return not any((matrix >= MIN_RATING).any() for matrix in ratings)

    def with_measure(self, measure: MeasureSpec) -> ScoredBoard:
        """Return the same board by another measure."""
        base = replace(self.base, spec=replace(self.spec, measure=measure))
        return ScoredBoard(base, score_units(base, measure))

    def with_items(self, kept: Mapping[int, Container[str]]) -> ScoredBoard:
        """Return the same board with only these items, by topic id."""
        topic_items = {
            topic_id: keep_items(items, kept.get(topic_id, ()))
            for topic_id, items in self.base.topic_items.items()
        }
        base = replace(self.base, topic_items=topic_items)
        return ScoredBoard(base, score_units(base, self.spec.measure))


def scored_board(spec: BoardSpec) -> ScoredBoard:
    base = basis(spec)
    return ScoredBoard(base, score_units(base, spec.measure))


def keep_items(items: TopicItems, kept: Container[str]) -> TopicItems:
    """Return the items of a topic without those that are not kept."""
    places = [place for place, uid in enumerate(items.uids) if uid in kept]
    return TopicItems(
        uids=tuple(items.uids[place] for place in places),
        weights=tuple(items.weights[place] for place in places),
        facets=tuple(items.facets[place] for place in places),
    )
