"""How labels and ranks differ between two versions of a bank, by grader."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubricweb.banks.models import Bank, BankVersion
from rubricweb.corpus.models import Topic
from rubricweb.editor.what_if import BoardInputs, RunChanges, board_inputs
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec, Uids, passage_labels
from rubricweb.grades.selectors import items_by_topic


@dataclass(frozen=True, slots=True)
class LabelCount:
    """One topic: passages whose label differs."""

    topic: Topic
    passages: int
    changed: int
    crossing: int
    """Of these, the passages that are covered on one side only."""


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
    """None stands for the bank as it is now."""
    now = board_inputs(bank, config, measure)
    none: dict[int, Uids] = dict.fromkeys(now.pool.by_topic, ())
    old, new = (none | items_by_topic(bank, kinds_of(config), version) for version in versions)
    before, after = now.table(old), now.table(new)
    return BoardDiff(
        config=config,
        measure=measure,
        labels=_label_counts(bank, now, old, new),
        runs=RunChanges.between(before, after),
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
