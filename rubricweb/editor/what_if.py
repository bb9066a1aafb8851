"""What retiring or restoring an item, or another version of the bank, does to labels and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet

from grading.statistics import influence
from rubricweb.banks.models import Bank, BankVersion, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import rank_span
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades import configs, selectors
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import (
    MeasureSpec,
    ScoreTable,
    Uids,
    passage_labels,
    rank_intervals,
    score_table,
    topic_labels,
)


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A passage whose label, its highest rating, changes; None if no item has a rating."""

    doc_id: str
    before: int | None
    after: int | None
    was_covered: bool
    """Whether it had a rating at the threshold or above; `is_covered`: whether it has one afterwards."""
    is_covered: bool

    @property
    def crosses(self) -> bool:
        return self.was_covered != self.is_covered


@dataclass(frozen=True, slots=True)
class RunMove:
    """A run whose rank changes."""

    run_tag: str
    score_before: float
    score_after: float
    before: int
    after: int
    possible: str
    """The rank interval before: "2-5"."""
    is_beyond: bool
    """The new rank lies outside of it."""


@dataclass(frozen=True, slots=True)
class RunChanges:
    """How the runs stand on one board and on another of the same grader and measure."""

    moves: tuple[RunMove, ...]
    swapped_pairs: int
    rescored: int
    """Runs whose score changes, whether or not they move."""

    @classmethod
    def between(cls, before: ScoreTable, after: ScoreTable, measure: MeasureSpec) -> RunChanges:
        old, new = before.means(), after.means()
        n_swapped = len(influence.swapped_pairs(old, new))
        is_rescored = ~np.isclose(old, new, rtol=0, atol=1e-12, equal_nan=True)
        return cls(run_moves(before, after, measure), n_swapped, int(is_rescored.sum()))

    @property
    def n_beyond(self) -> int:
        return sum(move.is_beyond for move in self.moves)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The board before and after."""

    config: GraderConfig
    measure: MeasureSpec
    labels: tuple[LabelChange, ...]
    runs: RunChanges


@dataclass(frozen=True, eq=False)
class BoardInputs:
    """Everything that the boards of one bank, grader and measure are computed from."""

    config: GraderConfig
    measure: MeasureSpec
    pool: CollectionPool
    grades: Mapping[int, TopicGrades]
    items: Mapping[int, Uids]

    def table(self, items: Mapping[int, Uids]) -> ScoreTable:
        """Return the scores of each run, with other items in these topics."""
        return score_table(self.pool, self.grades, {**self.items, **items}, self.measure)


def board_inputs(bank: Bank, config: GraderConfig, measure: MeasureSpec) -> BoardInputs:
    pool = collection_pool(bank.collection)
    return BoardInputs(
        config, measure, pool, matrices(config, pool), selectors.graded_items(config, bank, bank.collection)
    )


def what_if(item: Item, config: GraderConfig, measure: MeasureSpec) -> WhatIf:
    """Return the effect of retiring an active item, or restoring a retired one."""
    outside, inside = _without_and_with(item, config)
    change = (outside, inside) if item.is_retired else (inside, outside)
    return _difference(board_inputs(item.bank, config, measure), item.topic_id, change)


def what_changed(item: Item, config: GraderConfig, measure: MeasureSpec) -> WhatIf:
    """Return the effect that retiring `item` had, or would have if it is active."""
    outside, inside = _without_and_with(item, config)
    change = (inside, outside) if item.is_retired else (outside, inside)
    return _difference(board_inputs(item.bank, config, measure), item.topic_id, change)


def _without_and_with(item: Item, config: GraderConfig) -> tuple[Uids, Uids]:
    kinds = tuple(str(kind) for kind in configs.kinds_of(config))
    rows = _others(item.bank_id, item.topic_id, kinds, item.pk)
    inside = sorted([*rows, (item.position, item.pk, item.revision.uid)])
    return _uids(rows), _uids(inside)


@compiled_once
def _others(bank: int, topic: int, kinds: tuple[str, ...], but: int) -> QuerySet[Item, Any]:
    items = Item.including_secret.active().filter(bank=bank, topic=topic, kind__in=kinds).exclude(pk=but)
    return items.values_list("position", "pk", "revision__uid")


def _uids(rows: list[tuple[int, int, str]]) -> Uids:
    """Return uids in the bank's order, so that a board of the same items finds its topic scores cached."""
    return tuple(dict.fromkeys(uid for _, _, uid in rows))


def _difference(now: BoardInputs, topic_id: int, change: tuple[Uids, Uids]) -> WhatIf:
    before, after = (now.table({topic_id: uids}) for uids in change)
    old, new = (topic_labels(now.grades[topic_id], uids, now.measure) for uids in change)
    doc_ids = now.pool.by_topic[topic_id].doc_ids
    min_grade = now.measure.min_grade
    pairs = [(doc_id, old.get(doc_id), new.get(doc_id)) for doc_id in doc_ids]
    return WhatIf(
        config=now.config,
        measure=now.measure,
        labels=tuple(
            LabelChange(doc_id, before, after, (before or 0) >= min_grade, (after or 0) >= min_grade)
            for doc_id, before, after in pairs
            if before != after
        ),
        runs=RunChanges.between(before, after, now.measure),
    )


def run_moves(before: ScoreTable, after: ScoreTable, measure: MeasureSpec) -> tuple[RunMove, ...]:
    """Return the runs whose rank changes, best new rank first."""
    row_of = {run_tag: row for row, run_tag in enumerate(before.run_tags)}
    old, new, intervals = before.means(), after.means(), rank_intervals(measure.merits(before.scores))
    moves = []
    for move in influence.moves(measure.merits(old), measure.merits(new), before.run_tags):
        run = row_of[move.run_tag]
        first, last = intervals.possible(run) if intervals else (1, len(row_of))
        possible, is_beyond = rank_span(first, last), not first <= move.after <= last
        scores = float(old[run]), float(new[run])
        moves.append(RunMove(move.run_tag, *scores, move.before, move.after, possible, is_beyond))
    return tuple(moves)


@dataclass(frozen=True, slots=True)
class LabelCount:
    """Passages of a topic whose label differs."""

    topic: Topic
    passages: int
    changed: int
    crossing: int
    """The number of them that are covered on one side only."""


@dataclass(frozen=True, slots=True)
class BoardDiff:
    """Two boards of the same grader and measure, at two versions of the bank."""

    config: GraderConfig
    measure: MeasureSpec
    labels: tuple[LabelCount, ...]
    runs: RunChanges

    @property
    def changed(self) -> int:
        return sum(count.changed for count in self.labels)

    @property
    def crossing(self) -> int:
        return sum(count.crossing for count in self.labels)


def board_diff(
    bank: Bank,
    versions: tuple[BankVersion | None, BankVersion | None],
    config: GraderConfig,
    measure: MeasureSpec,
) -> BoardDiff:
    """Return how the board differs between two versions; None stands for the bank as it is now."""
    now = board_inputs(bank, config, measure)
    none: dict[int, Uids] = dict.fromkeys(now.pool.by_topic, ())
    old, new = (
        none | selectors.items_by_topic(bank, configs.kinds_of(config), version) for version in versions
    )
    before, after = now.table(old), now.table(new)
    return BoardDiff(
        config=config,
        measure=measure,
        labels=_label_counts(bank, now, old, new),
        runs=RunChanges.between(before, after, now.measure),
    )


def _label_counts(
    bank: Bank, now: BoardInputs, old: dict[int, Uids], new: dict[int, Uids]
) -> tuple[LabelCount, ...]:
    differing = [topic_id for topic_id in now.pool.by_topic if old[topic_id] != new[topic_id]]
    topics = bank.collection.topics.in_bulk(differing)
    counts = []
    for topic_id in differing:
        grades = now.grades[topic_id]
        before, after = (passage_labels(grades, uids[topic_id], now.measure) for uids in (old, new))
        crosses = (before >= now.measure.min_grade) != (after >= now.measure.min_grade)
        changed = int(np.count_nonzero(before != after))
        counts.append(LabelCount(topics[topic_id], len(before), changed, int(np.count_nonzero(crosses))))
    return tuple(count for count in counts if count.changed)
