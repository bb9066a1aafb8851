"""Scores of all runs on all topics: a function of bank, grader config (or humans), runs and measure.

Each topic's scores are cached by what they stand on (grades, items, weights, measure), so that retiring an
item computes one topic anew and finds the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures import nuggets, ranked_labels, rubric_cover, rubric_qrels, trec_eval
from grading.measures.alpha_ndcg import alpha_ndcg
from grading.measures.nuggets import NuggetScore, Weighed
from grading.measures.rubric_qrels import LabelMode
from grading.statistics.uncertainty import mean_and_stderr
from grading.types import MIN_RATING, Importance, Ratings
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades.matrices import TopicGrades

RUBRIC_COVER = "rubric_cover"
NORMALISED_COVER = "normalised_cover"
WEIGHTED_COVER = "weighted_cover"
ALPHA_NDCG = "alpha_ndcg"
NUGGETS = "nuggets_"
"""Comes before the name of a nugget score: nuggets_strict_vital."""
ITEM_MEASURES = (
    RUBRIC_COVER,
    NORMALISED_COVER,
    WEIGHTED_COVER,
    ALPHA_NDCG,
    *(f"{NUGGETS}{score}" for score in NuggetScore),
)
"""Measures of which items a run covers; all others are trec_eval's, of labels."""
CACHED_TOPIC_SCORES = 20_000
CACHED_ORDERS = 2_000

Uids = tuple[str, ...]
Weights = tuple[Weighed, ...]
"""Of a topic's items, in their order."""
Scores = NDArray[np.float64]


class Definition(StrEnum):
    """PAPERS is ours; the others are the published Workbench's, which differs (see docs/measures.md)."""

    PAPERS = "papers"
    WORKBENCH = "workbench"
    WORKBENCH_0 = "workbench_0"
    """For run files whose ranks start at 0, of which it takes one passage more."""


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """Everything that a score depends on besides grades, bank and runs (MEASURES in docs/measures.md)."""

    name: str = RUBRIC_COVER
    min_grade: int = 4
    cutoff: int = 20
    mode: LabelMode = LabelMode.MAX
    min_answers: int = 1
    relevant: int = 0
    """The first label that trec_eval counts as relevant; 0 for what follows from the mode."""
    definition: Definition = Definition.PAPERS

    @property
    def is_cover(self) -> bool:
        return self.name == RUBRIC_COVER

    @property
    def is_trec(self) -> bool:
        """It looks at labels of passages; the others look at items."""
        return self.name not in ITEM_MEASURES

    @property
    def is_workbench(self) -> bool:
        return self.definition is not Definition.PAPERS

    @property
    def level(self) -> int:
        """trec_eval's `level_for_rel`: the first label that counts as relevant."""
        return self.relevant or (self.min_grade if self.mode is LabelMode.MAX else 1)

    @property
    def depth(self) -> int:
        """How many passages of a run a measure of items looks at."""
        return self.cutoff + (self.definition is Definition.WORKBENCH_0)

    @property
    def partial_grade(self) -> int:
        """The lowest grade that nugget scores take as partial support: half of full support, rounded up."""
        return (self.min_grade + 1) // 2


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of shape (runs, topics). Topics without items or labels are NaN columns, left out of means."""

    run_tags: tuple[str, ...]
    topic_ids: tuple[int, ...]
    scores: Scores

    def means(self) -> Scores:
        """Shape (runs,): the mean over the topics that count for the run; NaN if none does."""
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
    """The same by human judgments; `level` is the first relevant one. Only for trec_eval measures."""
    return _table(pool, [_judged_scores(topic, measure.name, level) for topic in pool.topics])


def _table(pool: CollectionPool, columns: list[Scores]) -> ScoreTable:
    scores = np.column_stack(columns) if columns else np.zeros((len(pool.run_tags), 0))
    return ScoreTable(pool.run_tags, tuple(topic.topic_id for topic in pool.topics), scores)


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def topic_scores(grades: TopicGrades, uids: Uids, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """Shape (runs,). NaN where the topic has no items or, for trec_eval's measures, no labels."""
    return fresh_scores(grades, uids, measure, weights)


def fresh_scores(grades: TopicGrades, uids: Uids, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """The same, not kept: for grades that are only supposed."""
    if measure.is_workbench:
        uids, weights = grades.matrix.item_ids, ()
    if measure.is_trec and ranked_labels.is_known(measure.name):
        labels = passage_labels(grades, uids, measure)
        return _label_scores(grades.pool, labels, measure.name, measure.level)
    if measure.is_trec:
        return _trec_scores(grades.pool, topic_labels(grades, uids, measure), measure.name, measure.level)
    return item_scores(grades.pool, grades.matrix.columns(uids).ratings, measure, weights)


def item_scores(pool: TopicPool, ratings: Ratings, measure: MeasureSpec, weights: Weights = ()) -> Scores:
    """Shape (runs,): a measure of the items that the columns of `ratings` stand for."""
    ranked, at = pool.ranked_rows, {"cutoff": measure.depth, "min_grade": measure.min_grade}
    weighed = weights or ((Importance.VITAL, 1.0),) * ratings.shape[1]
    if measure.name == WEIGHTED_COVER:
        return rubric_cover.weighted_cover(ratings, ranked, [weight for _, weight in weighed], **at)
    if measure.name == NORMALISED_COVER:
        found = rubric_cover.normalised_cover(ratings, ranked, **at)
        return np.nan_to_num(found) if measure.is_workbench else found
    if measure.name == ALPHA_NDCG:
        return alpha_ndcg(ratings, ranked, doc_ids=pool.doc_ids, **at)
    if measure.is_cover:
        cover = rubric_cover.workbench_cover if measure.is_workbench else rubric_cover.cover
        return cover(ratings, ranked, **at)
    if not ratings.shape[1]:
        return np.full(len(ranked), np.nan)
    full, partial = measure.min_grade, measure.partial_grade
    supported = nuggets.support(ratings, ranked, cutoff=measure.depth, full=full, partial=partial)
    return nuggets.nugget_score(supported, weighed, NuggetScore(measure.name.removeprefix(NUGGETS)))


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def judged_counts(grades: TopicGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Shape (2, runs): of each run's first k passages, how many have a grade for any item, and how many there
    are."""
    is_graded = (grades.matrix.columns(uids).ratings >= MIN_RATING).any(axis=1)
    with_outside = np.append(is_graded, np.False_)  # what row -1 points at
    graded = with_outside[grades.pool.ranked_rows[:, :k]].sum(axis=1)
    ranked = [min(k, len(doc_ids or ())) for doc_ids in grades.pool.ranked]
    return np.array([graded, ranked], dtype=np.int64)


def topic_labels(grades: TopicGrades, uids: Uids, measure: MeasureSpec) -> dict[str, int]:
    """By doc id, in pool order: the Rubric-Qrels label; passages without a grade are left out (unjudged)."""
    pairs = zip(grades.pool.doc_ids, passage_labels(grades, uids, measure).tolist(), strict=True)
    return {doc_id: label for doc_id, label in pairs if label >= 0}


def passage_labels(grades: TopicGrades, uids: Uids, measure: MeasureSpec) -> NDArray[np.int16]:
    """Shape (passages,): the Rubric-Qrels label of each passage of the pool, below 0 without a grade.

    The Workbench takes all items that the grader rated, whatever is asked.
    """
    matrix, mode = grades.matrix, measure.mode
    ratings = matrix.ratings if measure.is_workbench else matrix.columns(uids).ratings
    reached = {"min_grade": measure.min_grade, "min_answers": measure.min_answers}
    return rubric_qrels.labels(ratings, mode=mode, **reached)


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def _judged_scores(topic: TopicPool, name: str, level: int) -> Scores:
    if ranked_labels.is_known(name) and topic.judgments.keys() <= topic.row_of.keys():
        labels = np.full(len(topic.doc_ids), rubric_qrels.UNJUDGED, dtype=np.int16)
        labels[[topic.row_of[doc_id] for doc_id in topic.judgments]] = list(topic.judgments.values())
        return _label_scores(topic, labels, name, level)
    return _trec_scores(topic, topic.judgments, name, level)


def _trec_scores(topic: TopicPool, labels: Mapping[str, int], name: str, level: int) -> Scores:
    if not labels:
        return np.full(len(topic.ranked), np.nan)
    return trec_eval.topic_scores(labels, topic.scored, name, level=level)


def _label_scores(topic: TopicPool, labels: NDArray[np.int16], name: str, level: int) -> Scores:
    """The same for all runs at once, from the labels of the pool, below 0 without one."""
    if not (labels >= 0).any():
        return np.full(len(topic.ranked), np.nan)
    with_outside = np.append(labels, rubric_qrels.UNJUDGED)  # what row -1 points at
    return ranked_labels.label_scores(with_outside[_trec_rows(topic)], labels, name, level=level)


@lru_cache(maxsize=CACHED_ORDERS)
def _trec_rows(topic: TopicPool) -> NDArray[np.int32]:
    """`ranked_rows` as trec_eval orders them: by score in single precision, then id, both descending."""
    rows = topic.ranked_rows
    for run, (doc_ids, scores) in enumerate(zip(topic.ranked, topic.scores, strict=True)):
        if doc_ids and scores:
            single = np.array(scores, dtype=np.float32)
            if (single[1:] >= single[:-1]).any():
                rows = rows if rows is not topic.ranked_rows else rows.copy()
                ordered = sorted(range(len(doc_ids)), key=lambda n: (single[n], doc_ids[n]), reverse=True)
                rows[run, : len(doc_ids)] = topic.ranked_rows[run, ordered]
    return rows
