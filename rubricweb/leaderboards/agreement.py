"""Compare the labels of graders with the judgments of the collection, passage by passage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.measures import cover
from grading.statistics.agreement import (
    COEFFICIENT,
    FIXED_PAIRINGS,
    Counts,
    binarised,
    cell_kappas,
    cohen_kappa,
    contingency,
    weighted_kappa,
)
from grading.statistics.mean_intervals import ConfidenceInterval, statistic_interval
from grading.types import MAX_RATING, MIN_RATING, Purpose
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import TopicPool
from rubricweb.corpus.run_slices import RunSlice, pool_of
from rubricweb.grades import visibility
from rubricweb.grades.configs import WHOLE_SCALE, kinds_of, scale_of, within_scale
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import MeasureSpec, Uids
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.scores import NOTHING, topic_items_of

MAX_ANSWERS = 100
MOST_ANSWERS = 5
"""The table of thresholds asks for up to so many items."""
NO_JUDGMENT = -99

Labels = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Labeller:
    """A grader over a bank; without a bank, one that labels passages."""

    collection: Collection
    config: GraderConfig
    bank: Bank | None
    runs: RunSlice | None = None
    """The runs whose pool is labelled; None for all."""

    @property
    def label(self) -> str:
        return self.config.label

    def units(self) -> list[tuple[TopicPool, TopicGrades, Uids]]:
        """Return the topics with their ratings and items, of which the labels are made."""
        visibility.refuse_sums(self.collection)
        pool, kinds = pool_of(self.collection, self.runs), kinds_of(self.config)
        items = topic_items_of(BoardSpec(self.collection, self.config, self.bank, kinds, MeasureSpec()))
        grades = matrices(self.config, pool)
        return [
            (topic, grades[topic.topic_id], items.get(topic.topic_id, NOTHING).uids) for topic in pool.topics
        ]


@dataclass(frozen=True)
class Agreement:
    """One grader's labels against the judgments."""

    labeller: Labeller
    by_topic: tuple[Counts, ...]
    """Per topic, shape (labels, judgments), both falling."""
    labels: tuple[int, ...]
    judgments: tuple[int, ...]
    min_answers: int = 1
    """The label is the best rating that so many items reach."""

    @property
    def counts(self) -> Counts:
        empty: Counts = np.zeros((len(self.labels), len(self.judgments)), dtype=np.int64)
        return np.asarray(sum(self.by_topic, start=empty))

    @cached_property
    def cell_kappas(self) -> NDArray[np.float64]:
        """Return kappa of each cell of `counts`: its label and its judgment, each against all others."""
        counts = self.counts
        return cell_kappas(counts) if counts.size else np.zeros(counts.shape)

    def best_fit(self, place: int) -> int | None:
        """Return which judgment, by its place, the label in this place agrees best with."""
        kappas = self.cell_kappas[place]
        return None if not kappas.size or np.isnan(kappas).all() else int(np.nanargmax(kappas))

    def fixed_pair(self, label: int, min_relevant: int) -> int | None:
        """Return the place of the judgment that the papers pair the label with; only for ratings 0 to 5."""
        if self.labeller.config.purpose != "rate" or scale_of(self.labeller.config) != WHOLE_SCALE:
            return None
        judgment = FIXED_PAIRINGS.get(min_relevant, {}).get(label)
        return self.judgments.index(judgment) if judgment in self.judgments else None

    def binary(self, min_grade: int, min_relevant: int) -> list[Counts]:
        """Return 2 x 2 counts by topic: labels from `min_grade` on by judgments from `min_relevant` on."""
        high = sum(label >= min_grade for label in self.labels)
        relevant = sum(judgment >= min_relevant for judgment in self.judgments)
        tables = binarised(np.array(self.by_topic), n_rows=high, n_columns=relevant) if self.by_topic else ()
        return list(tables)

    def kappa(self, min_grade: int, min_relevant: int) -> float | None:
        tables = self.binary(min_grade, min_relevant)
        return none_if_nan(cohen_kappa(np.array(tables).sum(axis=0)).item()) if tables else None

    def interval(self, min_grade: int, min_relevant: int) -> ConfidenceInterval:
        return kappa_interval(self.binary(min_grade, min_relevant))


@dataclass(frozen=True, slots=True)
class Between:
    """Two graders' labels of the passages that both labelled."""

    first: Labeller
    second: Labeller
    n: int
    kappa: float | None
    """Of labels from each threshold on, and below it."""
    interval: ConfidenceInterval
    graded: float | None
    """Of all labels; like `weighted` None where the graders' scales differ."""
    weighted: float | None
    """Of all labels, with quadratic weights."""


def labellers(
    collection: Collection, configs: list[GraderConfig], banks: list[Bank], runs: RunSlice | None = None
) -> list[Labeller]:
    """Return each grader with each of the banks that it graded, on the pool of these runs."""
    bank_ids = {bank.pk for bank in banks}
    pairs: list[Labeller] = []
    for config in configs:
        if config.purpose == Purpose.DIRECT:
            pairs.append(Labeller(collection, config, None, runs))
        else:
            graded = banks_graded_by(config, collection)
            pairs += [Labeller(collection, config, bank, runs) for bank in graded if bank.pk in bank_ids]
    return pairs


def agreements(labellers: Iterable[Labeller], *, min_answers: int = 1) -> list[Agreement]:
    return [_agreement(labeller, min_answers) for labeller in labellers]


def kappa_interval(binary: Sequence[Counts]) -> ConfidenceInterval:
    """Return the interval of Cohen's kappa over topics, from 2 x 2 tables, one a topic."""
    tables = np.array(binary, dtype=np.int64).reshape(-1, 2, 2)
    return statistic_interval(tables, cohen_kappa, bounds=COEFFICIENT)


def threshold_kappas(labeller: Labeller, *, min_relevant: int) -> list[list[float | None]]:
    """Return kappa by items needed (1 to 5), then by threshold (1 to 5)."""
    agreements = [_agreement(labeller, needed) for needed in range(1, MOST_ANSWERS + 1)]
    return [[row.kappa(grade, min_relevant) for grade in range(1, MAX_RATING + 1)] for row in agreements]


def between(labellers: Sequence[Labeller], *, min_grade: int, min_answers: int = 1) -> list[Between]:
    """Return every pair of graders, over the passages that both labelled."""
    return [_between(first, second, min_grade, min_answers) for first, second in combinations(labellers, 2)]


def lowest(labeller: Labeller, min_grade: int) -> int:
    """Return the threshold for this grader's labels: of one that labels or checks, what its prompt states."""
    is_rating = labeller.config.purpose == Purpose.RATE
    return within_scale(labeller.config, min_grade if is_rating else None)


def _agreement(labeller: Labeller, min_answers: int) -> Agreement:
    """Return the agreement over passages with a label and a judgment.

    A passage with several judgments counts by its highest.
    """
    pairs = [
        (labels, topic.judgments_by_row(NO_JUDGMENT)[: len(topic.doc_ids)].astype(np.int64))
        for topic, labels in _labels(labeller, min_answers)
    ]
    judged = {int(value) for _, judgments in pairs for value in judgments} - {NO_JUDGMENT}
    highest = max((int(labels.max(initial=1)) for labels, _ in pairs), default=1)
    top = scale_of(labeller.config)[1] if labeller.config.purpose == "rate" else highest
    rows, columns = tuple(range(top, MIN_RATING - 1, -1)), tuple(sorted(judged, reverse=True))
    tables = [contingency(labels, judgments, rows=rows, columns=columns) for labels, judgments in pairs]
    counts = tuple(table for table in tables if table.any())
    return Agreement(labeller, counts, rows, columns, min_answers)


def _labels(labeller: Labeller, min_answers: int) -> list[tuple[TopicPool, Labels]]:
    """Return, by topic: the label of each pooled passage, -1 where it has none."""
    return [
        (topic, cover.labels(grades.matrix.columns(uids).ratings, min_answers=min_answers))
        for topic, grades, uids in labeller.units()
    ]


def _between(first: Labeller, second: Labeller, min_grade: int, min_answers: int) -> Between:
    lows = [lowest(labeller, min_grade) for labeller in (first, second)]
    ours_on, theirs_on = ((row.config.purpose, scale_of(row.config)) for row in (first, second))
    scale = list(range(MAX_RATING + 1))
    graded, binary, n = np.zeros((len(scale), len(scale)), dtype=np.int64), [], 0
    pairs = zip(_labels(first, min_answers), _labels(second, min_answers), strict=True)
    for (_, ours), (_, theirs) in pairs:
        judged = (ours >= MIN_RATING) & (theirs >= MIN_RATING)
        high, other = (labels[judged] >= low for labels, low in zip((ours, theirs), lows, strict=True))
        binary.append(contingency(high, other, rows=[1, 0], columns=[1, 0]))
        graded += contingency(ours[judged], theirs[judged], rows=scale, columns=scale)
        n += int(judged.sum())
    kappa = none_if_nan(cohen_kappa(np.array(binary).sum(axis=0)).item()) if binary else None
    spread = kappa_interval(binary)
    if ours_on != theirs_on:
        return Between(first, second, n, kappa, spread, None, None)
    all_labels = (none_if_nan(coefficient(graded).item()) for coefficient in (cohen_kappa, weighted_kappa))
    return Between(first, second, n, kappa, spread, *all_labels)
