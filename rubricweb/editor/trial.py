"""A weight trial: items switched on or off, alone or reweighted, and the board that results. Nothing is
saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grading.statistics import influence
from grading.types import Importance, Ratings
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import TopicPool, collection_pool
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.rank_intervals import RankIntervals, rank_intervals, span
from rubricweb.grades.scoring import MeasureSpec, Scores, ScoreTable, Uids, Weights, item_scores, score_table


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting of an item in a trial."""

    is_on: bool
    weight: float


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A run, before and after."""

    run_tag: str
    rank_before: int
    rank: int
    score_before: float
    score: float
    possible: str
    """The rank interval before: "2-5"."""
    is_beyond: bool
    """The new rank lies outside of it."""

    @property
    def rose(self) -> int:
        return self.rank_before - self.rank

    @property
    def fell(self) -> int:
        return -self.rose


@dataclass(frozen=True, slots=True)
class Trial:
    """The whole board, best run first."""

    rows: tuple[TrialRow, ...]
    swapped_pairs: int
    is_as_now: bool
    """The settings are how the bank stands."""
    ignores_weights: bool
    """Weights were changed, and the measure scores as with the old ones."""

    @property
    def largest_change(self) -> float:
        """Of a score."""
        return max((abs(row.score - row.score_before) for row in self.rows), default=0.0)

    @property
    def n_beyond(self) -> int:
        return sum(row.is_beyond for row in self.rows)

    @property
    def moved(self) -> list[TrialRow]:
        return [row for row in self.rows if row.rose]


@dataclass(frozen=True, slots=True)
class _BoardItem:
    pk: int
    uid: str
    importance: Importance
    weight: float


def trial(
    bank: Bank, topic: Topic, config: GraderConfig, measure: MeasureSpec, settings: Mapping[int, Setting]
) -> Trial:
    """Return the board with these settings of the topic's items, by pk; the others stay as they are.

    All other topics come from the cache, so only one topic is scored again.
    """
    pool = collection_pool(bank.collection)
    grades = matrices(config, pool)
    by_topic = _board_items(bank, config)
    items: dict[int, Uids] = {pk: tuple(item.uid for item in listed) for pk, listed in by_topic.items()}
    weights = {
        pk: tuple((item.importance, item.weight) for item in listed) for pk, listed in by_topic.items()
    }
    table = score_table(pool, grades, items, measure, weights)
    listed = by_topic.get(topic.pk, [])
    tried = [(item, setting) for item in listed if (setting := _setting(item, settings)).is_on]
    ratings = grades[topic.pk].matrix.columns([item.uid for item, _ in tried]).ratings
    new = tuple((item.importance, setting.weight) for item, setting in tried)
    old = tuple((item.importance, item.weight) for item, _ in tried)
    column = _scores(ratings, grades[topic.pk].pool, measure, new)
    scores = table.scores.copy()
    scores[:, table.topic_ids.index(topic.pk)] = column
    return _compared(
        table,
        ScoreTable(table.run_tags, table.topic_ids, scores),
        known=rank_intervals(table.scores) if measure.bootstraps_by_topic else None,
        is_as_now=new == old and len(tried) == len(listed),
        ignores_weights=new != old and _same(column, _scores(ratings, grades[topic.pk].pool, measure, old)),
    )


def _same(scores: Scores, others: Scores) -> bool:
    return bool(np.allclose(scores, others, rtol=0, atol=1e-12, equal_nan=True))


def _setting(item: _BoardItem, settings: Mapping[int, Setting]) -> Setting:
    return settings.get(item.pk) or Setting(is_on=True, weight=item.weight)


def _board_items(bank: Bank, config: GraderConfig) -> dict[int, list[_BoardItem]]:
    """By topic: the items that the grader grades; of two with the same wording the first counts."""
    rows = bank.all_items.active().of_kinds(kinds_of(config)).order_by("topic_id", "position", "pk")
    by_topic: dict[int, dict[str, _BoardItem]] = {}
    fields = ("topic_id", "pk", "revision__uid", "importance", "weight")
    for topic_id, pk, uid, importance, weight in rows.values_list(*fields):
        by_topic.setdefault(topic_id, {}).setdefault(uid, _BoardItem(pk, uid, Importance(importance), weight))
    return {topic_id: list(listed.values()) for topic_id, listed in by_topic.items()}


def _scores(ratings: Ratings, pool: TopicPool, measure: MeasureSpec, weights: Weights) -> Scores:
    """Not cached: the same slider position is rarely tried twice."""
    if not weights:
        return np.full(pool.n_runs, np.nan)
    return item_scores(pool, ratings, measure, weights)


def _compared(
    now: ScoreTable,
    tried: ScoreTable,
    *,
    known: RankIntervals | None,
    is_as_now: bool,
    ignores_weights: bool,
) -> Trial:
    before, after = now.means(), tried.means()
    old, new = influence.ranks(before).tolist(), influence.ranks(after).tolist()
    rows = []
    for run, tag in enumerate(now.run_tags):
        first, last = known.possible(run) if known else (1, len(old))
        possible, is_beyond = span(first, last), not first <= new[run] <= last
        scores = float(before[run]), float(after[run])
        rows.append(TrialRow(tag, old[run], new[run], *scores, possible, is_beyond))
    return Trial(
        tuple(sorted(rows, key=lambda row: (row.rank, row.rank_before))),
        len(influence.swapped_pairs(before, after)),
        is_as_now=is_as_now,
        ignores_weights=ignores_weights,
    )
