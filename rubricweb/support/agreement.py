"""How far people agree with each model, from scratch and after its label was shown."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from grading.statistics.agreement import COEFFICIENT, ENOUGH_CELLS, Counts, cohen_kappa, contingency
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.support import Support
from rubricweb.corpus.models import Collection
from rubricweb.support.labels import Standing, judge_labels, standing_events
from rubricweb.support.models import SupportJudge

LABELS = [label.value for label in Support]


@dataclass(frozen=True, slots=True)
class Condition:
    """Labels that people and a model gave to the same citations."""

    counts: tuple[tuple[int, ...], ...]
    """Indexed by the person's label, then by the model's: none, partial, full."""
    topics: int
    kappa: float
    """Cohen's; NaN without pairs, and where all labels are one."""
    interval: ConfidenceInterval
    """Interval of kappa over topics."""

    @property
    def pairs(self) -> int:
        return sum(map(sum, self.counts))

    @property
    def confusion(self) -> list[tuple[str, tuple[int, ...]]]:
        """The counts from full to none, with the label of each line."""
        return [(label.name.lower(), self.counts[label][::-1]) for label in reversed(Support)]

    @property
    def exact(self) -> float:
        """The share of pairs with the same label; NaN without pairs."""
        same = sum(row[place] for place, row in enumerate(self.counts))
        return same / self.pairs if self.pairs else float("nan")

    @property
    def is_too_few(self) -> bool:
        return 0 < self.pairs < ENOUGH_CELLS

    @property
    def has_kappa(self) -> bool:
        return not (self.is_too_few or np.isnan(self.kappa))


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """People and one model."""

    judge: SupportJudge
    from_scratch: Condition
    post_edited: Condition
    """The person saw this model's label first."""


def agreement(collection: Collection) -> list[JudgeAgreement]:
    """Return the agreement of people with each model, over pairs of a person and a citation.

    Who saw another model's label before they labelled is in neither condition.
    """
    standing = standing_events(collection)
    return [
        _of_judge(judge, standing)
        for judge in collection.support_judges.filter(labels__isnull=False).distinct()
        if standing
    ]


def _of_judge(judge: SupportJudge, standing: Standing) -> JudgeAgreement:
    labels = judge_labels(judge)
    scratch: dict[int, list[tuple[int, int]]] = defaultdict(list)
    edited: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for citation, events in standing.items():
        rating = labels.get(citation, -1)
        for event in events.values():
            pair = int(event.label or 0), rating
            if event.seen_label is None:
                scratch[citation.topic_id].append(pair)
            elif event.seen_judge_id == judge.pk:
                edited[citation.topic_id].append(pair)
    return JudgeAgreement(judge, _condition(scratch), _condition(edited))


def _condition(by_topic: dict[int, list[tuple[int, int]]]) -> Condition:
    tables = [_table(pairs) for pairs in by_topic.values()]
    tables = [table for table in tables if table.sum()]
    counts = sum(tables, np.zeros((len(LABELS), len(LABELS)), dtype=np.int64))
    return Condition(
        counts=tuple(tuple(int(count) for count in row) for row in counts),
        topics=len(tables),
        kappa=float(cohen_kappa(counts)),
        interval=statistic_interval(
            np.array(tables).reshape(-1, *counts.shape), cohen_kappa, bounds=COEFFICIENT
        ),
    )


def _table(pairs: list[tuple[int, int]]) -> Counts:
    first, second = zip(*pairs, strict=True)
    return contingency(first, second, rows=LABELS, columns=LABELS)
