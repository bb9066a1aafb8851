"""Scores of all runs on all topics, by bank, grader config (or humans), runs and measure; rank intervals.

Each topic's scores are cached by everything they depend on (grades, items, weights, measure), so that
retiring an item computes one topic anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan, take_rows
from grading.errors import UnknownMeasure
from grading.measures import (
    CUTOFF,
    MIN_ANSWERS,
    MIN_GRADE,
    NOT_POOLED,
    Formula,
    GradedTopic,
    ItemMeasure,
    LabelMeasure,
    Measure,
    Threshold,
    Weighed,
    cover,
    names,
    registry,
)
from grading.measures.cover import LabelMode, partial_grade
from grading.statistics.calibrated_labels import LabelMaps
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.max_t import MIN_TOPICS, PairedTest, pairwise_p, resolution
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_intervals import Order, order
from grading.types import MIN_RATING, GradeMatrix, Importance, TrecEval, facet_of
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.corpus.topic_pools import trec_places, trec_rows
from rubricweb.grades.matrices import TopicGrades

CACHED_TABLES = 64

Uids = tuple[str, ...]
Weights = tuple[Weighed, ...]
"""Weights of a topic's items, in their order."""
Scores = NDArray[np.float64]


class Definition(StrEnum):
    """The definition of a measure: PAPERS is ours, the others are the published Workbench's.

    They differ: see docs/measures.md.
    """

    PAPERS = "papers"
    WORKBENCH = "workbench"
    WORKBENCH_0 = "workbench_0"
    """For run files whose ranks start at 0, of which it takes one passage more."""


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """A measure with its parameters: what a score depends on besides grades, bank and runs."""

    name: str = registry.DEFAULT
    min_grade: int = MIN_GRADE.default
    cutoff: int = CUTOFF.default
    mode: LabelMode = LabelMode.MAX
    min_answers: int = MIN_ANSWERS.default
    relevant: int = 0
    """First relevant label; 0 for what follows from the mode."""
    definition: Definition = Definition.PAPERS
    trec_eval: TrecEval = TrecEval.NINE
    """Version whose order of a run's passages counts for measures of labels."""
    is_judged_only: bool = False
    """A measure of labels takes passages without a label out of the runs before it cuts them."""
    label_maps: LabelMaps | None = None
    """How grades become labels, where the mode is CALIBRATED."""
    spelling: str = field(default="", compare=False)
    """Its name in ir_measures' spelling, where that was typed."""

    @property
    def registered(self) -> Measure:
        """Raise `UnknownMeasure` for a name that is not in the registry."""
        return registry.find(self.name).measure

    @property
    def uses_labels(self) -> bool:
        """Return whether it uses labels of passages; other measures use items."""
        return not isinstance(self.registered, ItemMeasure)

    @property
    def takes_gains(self) -> bool:
        """Return whether there is no first relevant label: labels are gains, or any label counts."""
        return self.registered.threshold is not Threshold.PROMPT

    def merits(self, scores: Scores) -> Scores:
        """Return the scores such that higher is better, to order runs by: negated where less is better."""
        return 0.0 - scores if self.registered.less_is_better else scores

    @property
    def bootstraps_by_topic(self) -> bool:
        return self.registered.bootstraps_by_topic

    @property
    def is_workbench(self) -> bool:
        return self.definition is not Definition.PAPERS

    @property
    def formula(self) -> Formula:
        """Return what a measure of items computes.

        Raise `UnknownMeasure` where the Workbench does not define it.
        """
        measure = self.registered
        formula = None
        if isinstance(measure, ItemMeasure):
            formula = measure.workbench if self.is_workbench else measure.formula
        if formula is None:
            raise UnknownMeasure(f"the Workbench does not define {self.name}")
        return formula

    @property
    def is_sum_over_items(self) -> bool:
        """Return whether the score is a sum over items, so that each item's part is known."""
        return not self.uses_labels and self.formula.worths is not None

    @property
    def has_estimate(self) -> bool:
        """Return whether it can be estimated what people's ratings of all cells would give."""
        measure = self.registered
        if self.is_workbench:
            return False
        if isinstance(measure, ItemMeasure):
            return measure.has_estimate or measure.cells is not None
        return isinstance(measure, LabelMeasure) and measure.is_share_of_first

    @property
    def denominator(self) -> str:
        """Return the denominator of a measure of items."""
        partial = partial_grade(self.min_grade)
        return self.formula.denominator.format(min_grade=self.min_grade, partial_grade=partial)

    @property
    def label(self) -> str:
        """Return its usual name: Rubric-Cover@20, or trec_eval's name; the name of ir_measures if typed."""
        if self.spelling:
            return self.spelling
        return self.name if self.uses_labels else f"{self.registered.label}@{self.cutoff}"

    @property
    def label_with_threshold(self) -> str:
        has_none = self.takes_gains or self.spelling
        return self.label if has_none else f"{self.label} \N{GREATER-THAN OR EQUAL TO} {self.min_grade}"

    @property
    def ir_measures(self) -> str:
        """Return its name in ir_measures; empty where that has no such measure."""
        return names.in_ir_measures(
            self.name,
            cutoff=self.cutoff,
            min_grade=self.min_grade,
            level=self.level,
            is_judged_only=self.is_judged_only,
        )

    @property
    def other_name(self) -> str:
        """Return its name in the spelling that was not typed; empty where it has one name."""
        if self.spelling:
            return self.name if self.uses_labels else f"{self.name}@{self.cutoff}:{self.min_grade}"
        return "" if self.is_workbench else self.ir_measures

    @property
    def level(self) -> int:
        """Return the first label that counts as relevant; trec_eval's `level_for_rel`."""
        is_rating = self.mode in (LabelMode.MAX, LabelMode.CALIBRATED)
        return self.relevant or (self.min_grade if is_rating else 1)

    @property
    def order(self) -> str:
        """Return by what measures of labels order the passages of a run."""
        precision = "single" if self.trec_eval is TrecEval.NINE else "double"
        return f"by score in {precision} precision, then passage id, as trec_eval {self.trec_eval}"

    @property
    def depth(self) -> int:
        """Return how many passages of a run a measure of items uses."""
        return self.cutoff + (self.definition is Definition.WORKBENCH_0)

    @property
    def judged_at(self) -> int:
        """Return the depth that `judged@k` uses: the measure's own where it has one, else the cutoff."""
        return registry.find(self.name).cutoff or self.cutoff


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of shape (runs, topics). Topics without items or labels are NaN columns, left out of means."""

    run_tags: tuple[str, ...]
    topic_ids: tuple[int, ...]
    scores: Scores

    def means(self) -> Scores:
        """Return the mean over the topics that count for each run, shape (runs,); NaN if none does."""
        return mean_and_stderr(self.scores).mean


def score_table(
    pool: CollectionPool,
    grades: Mapping[int, TopicGrades],
    items: Mapping[int, Uids],
    measure: MeasureSpec,
    weights: Mapping[int, Weights] | None = None,
) -> ScoreTable:
    """Score every run on every topic. `items`: by topic id, the uids of the bank's active items.

    Without `weights` each item is vital and weighs 1.
    """
    weighed = weights or {}
    columns = [
        topic_scores(grades[t.topic_id], items.get(t.topic_id, ()), measure, weighed.get(t.topic_id, ()))
        for t in pool.topics
    ]
    return _table(pool, columns)


def judgment_table(pool: CollectionPool, measure: MeasureSpec, *, level: int) -> ScoreTable:
    """Score every run by human judgments, with a measure of labels; `level` is the first relevant one."""
    return _table(pool, [_judged_scores(topic, measure, level) for topic in pool.topics])


def _table(pool: CollectionPool, columns: list[Scores]) -> ScoreTable:
    scores = np.column_stack(columns) if columns else np.zeros((len(pool.run_tags), 0))
    return ScoreTable(pool.run_tags, tuple(topic.topic_id for topic in pool.topics), scores)


@lru_cache(maxsize=CACHED_TOPICS)
def topic_scores(grades: TopicGrades, uids: Uids, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """Return scores of shape (runs,), NaN where the topic lacks items or trec_eval's labels."""
    return fresh_scores(grades, uids, measure, weights)


def fresh_scores(grades: TopicGrades, uids: Uids, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """Return the scores of a topic from hypothetical grades, without caching them."""
    if measure.is_workbench:
        uids, weights = grades.matrix.item_ids, ()
    if measure.uses_labels:
        labels = passage_labels(grades, uids, measure)
        return _label_scores(grades.pool, labels, measure)
    return item_scores(grades.pool, grades.matrix.columns(uids), measure, weights)


def item_scores(pool: TopicPool, matrix: GradeMatrix, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """Return the scores, shape (runs,), by a measure of the items that the columns of `matrix` stand for."""
    return measure.formula.scores(graded_topic(pool, matrix, measure, weights))


def graded_topic(
    pool: TopicPool, matrix: GradeMatrix, measure: MeasureSpec, weights: Weights = ()
) -> GradedTopic:
    """Return the topic as measures of items see it; without `weights` each item is vital and weighs 1."""
    return GradedTopic(
        matrix.ratings,
        pool.ranked_rows,
        weights or ((Importance.VITAL, 1.0),) * len(matrix.item_ids),
        measure.depth,
        measure.min_grade,
        pool.doc_ids,
        None if matrix.contradicting is None else matrix.contradicted,
        tuple(facet_of(pool.query_id, uid) or uid for uid in matrix.item_ids),
    )


@lru_cache(maxsize=CACHED_TOPICS)
def judged_counts(grades: TopicGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Return the graded passages among each run's first k, and their total, shape (2, runs)."""
    is_graded = np.asarray((grades.matrix.columns(uids).ratings >= MIN_RATING).any(axis=1))
    graded = take_rows(is_graded, grades.pool.ranked_rows[:, :k]).sum(axis=1)
    return np.array([graded, np.minimum(k, grades.pool.lengths)], dtype=np.int64)


def topic_labels(grades: TopicGrades, uids: Uids, measure: MeasureSpec) -> dict[str, int]:
    """Return Rubric-Qrels labels by doc id, in pool order, without ungraded passages."""
    labels = passage_labels(grades, uids, measure).tolist()
    return {doc_id: label for doc_id, label in zip(grades.pool.doc_ids, labels, strict=True) if label >= 0}


def passage_labels(grades: TopicGrades, uids: Uids, measure: MeasureSpec) -> NDArray[np.int16]:
    """Return the Rubric-Qrels label of each passage of the pool, below 0 without a grade.

    The Workbench takes all items that the grader rated, whatever is asked.
    """
    matrix, mode = grades.matrix, measure.mode
    ratings = matrix.ratings if measure.is_workbench else matrix.columns(uids).ratings
    reached = {"min_grade": measure.min_grade, "min_answers": measure.min_answers}
    labels = cover.labels(ratings, mode=mode, **reached)
    if mode is not LabelMode.CALIBRATED:
        return labels
    if measure.label_maps is None:
        raise ValueError("calibrated labels without the maps that make them")
    return measure.label_maps.labels(grades.pool.topic_id, labels)


@lru_cache(maxsize=CACHED_TOPICS)
def _judged_scores(topic: TopicPool, measure: MeasureSpec, level: int) -> Scores:
    if not len(topic.judged.rows):
        return np.full(topic.n_runs, np.nan)
    judged = topic.judged.labels.astype(np.int16)
    ranked = _ranked_judgments(topic, measure.trec_eval)
    return _scored(topic, ranked, judged, measure, level)


@lru_cache(maxsize=CACHED_TOPICS)
def _ranked_judgments(topic: TopicPool, version: TrecEval) -> NDArray[np.int16]:
    """Return the judgment of each passage that a run ranks, shape (runs, depth), in trec_eval's order."""
    judged, places = topic.judgments_by_row(NOT_POOLED), trec_places(topic, version)
    rows = topic.rankings.rows if places is None else np.take_along_axis(topic.rankings.rows, places, axis=1)
    return take_rows(judged.astype(np.int16), rows, outside=NOT_POOLED)


def _label_scores(topic: TopicPool, labels: NDArray[np.int16], measure: MeasureSpec) -> Scores:
    """Return the scores, shape (runs,), from the labels of the pool, below 0 for a passage without one."""
    if not (labels >= 0).any():
        return np.full(topic.n_runs, np.nan)
    labels = np.where(labels < 0, np.int16(NOT_POOLED), labels)
    ranked = take_rows(labels, trec_rows(topic, measure.trec_eval), outside=NOT_POOLED)
    return _scored(topic, ranked, labels, measure, measure.level)


def _scored(
    topic: TopicPool, ranked: NDArray[np.int16], judged: NDArray[np.int16], measure: MeasureSpec, level: int
) -> Scores:
    return registry.label_scores(
        ranked,
        judged,
        measure.name,
        lengths=topic.lengths,
        level=level,
        is_judged_only=measure.is_judged_only,
    )


@dataclass(frozen=True, eq=False)
class RankIntervals:
    """Pairwise comparisons of the rows of a table of scores."""

    order: Order
    p: Scores
    """P-value of each pair, adjusted for all pairs, shape (runs, runs)."""
    test: PairedTest
    topics: int

    @property
    def can_tell(self) -> bool:
        """Return whether there are enough topics for any run to be clearly ahead of another."""
        return self.topics >= MIN_TOPICS

    def possible(self, run: int) -> tuple[int, int]:
        """Return the first and the last rank that the topics leave possible."""
        return int(self.order.first_possible[run]), int(self.order.last_possible[run])


def rank_intervals(scores: Scores, test: PairedTest = PairedTest.SIGN_FLIPS) -> RankIntervals | None:
    """Return the intervals for scores (runs, topics); None with fewer than two topics or runs."""
    topics = int((~np.isnan(scores)).any(axis=0).sum()) if scores.size else 0
    if topics < 2 or len(scores) < 2:
        return None
    order, p = _tested(scores.tobytes(), scores.shape, test)
    return RankIntervals(order, p, test, topics)


def resolved(scores: Scores, test: PairedTest) -> float | None:
    """Return the difference that the topics detect with the power of `max_t.POWER`; None if none."""
    return none_if_nan(_resolution(scores.tobytes(), scores.shape, test))


@lru_cache(maxsize=CACHED_TABLES)
def _tested(content: bytes, shape: tuple[int, int], test: PairedTest) -> tuple[Order, Scores]:
    scores = np.frombuffer(content).reshape(shape)
    means, p = np.round(mean_and_stderr(scores).mean, TIED_DECIMALS), pairwise_p(scores, test)
    return order(means, p), p


@lru_cache(maxsize=CACHED_TABLES)
def _resolution(content: bytes, shape: tuple[int, int], test: PairedTest) -> float:
    return resolution(np.frombuffer(content).reshape(shape), test)
