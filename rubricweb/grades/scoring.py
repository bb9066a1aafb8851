"""Scores of all runs on all topics: a function of bank, grader config (or humans), runs and measure.

Each topic's scores are cached by what they stand on (grades, items, measure), so that retiring an item
computes one topic anew and finds the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures import rubric_cover, rubric_qrels, trec_eval
from grading.measures.rubric_qrels import LabelMode
from grading.types import MIN_RATING
from rubricweb.corpus.pools import CollectionPool, TopicPool
from rubricweb.grades.matrices import TopicGrades

RUBRIC_COVER = "rubric_cover"
CACHED_TOPIC_SCORES = 20_000

Uids = tuple[str, ...]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """Everything that a score depends on besides grades, bank and runs (MEASURES in docs/measures.md)."""

    name: str = RUBRIC_COVER
    min_grade: int = 4
    cutoff: int = 20
    mode: LabelMode = LabelMode.MAX
    min_answers: int = 1

    @property
    def is_cover(self) -> bool:
        return self.name == RUBRIC_COVER

    @property
    def level(self) -> int:
        """trec_eval's `level_for_rel`: the first label that counts as relevant."""
        return self.min_grade if self.mode is LabelMode.MAX else 1


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of shape (runs, topics). Topics without items or labels are NaN columns, left out of means."""

    run_tags: tuple[str, ...]
    topic_ids: tuple[int, ...]
    scores: Scores

    def means(self) -> Scores:
        """Shape (runs,): the mean over the topics that count; NaN if none does."""
        counted = self.scores[:, ~np.isnan(self.scores).any(axis=0)]
        return counted.mean(axis=1) if counted.size else np.full(len(self.run_tags), np.nan)


def score_table(
    pool: CollectionPool, grades: Mapping[int, TopicGrades], items: Mapping[int, Uids], measure: Measure
) -> ScoreTable:
    """Score every run on every topic. `items`: by topic id, the uids of the bank's active items."""
    return _table(
        pool, [topic_scores(grades[t.topic_id], items.get(t.topic_id, ()), measure) for t in pool.topics]
    )


def judgment_table(pool: CollectionPool, measure: Measure, *, level: int) -> ScoreTable:
    """The same by human judgments; `level` is the first relevant one. Only for trec_eval measures."""
    return _table(pool, [_judged_scores(topic, measure.name, level) for topic in pool.topics])


def _table(pool: CollectionPool, columns: list[Scores]) -> ScoreTable:
    scores = np.column_stack(columns) if columns else np.zeros((len(pool.run_tags), 0))
    return ScoreTable(pool.run_tags, tuple(topic.topic_id for topic in pool.topics), scores)


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def topic_scores(grades: TopicGrades, uids: Uids, measure: Measure) -> Scores:
    """Shape (runs,). NaN where the topic has no items (Rubric-Cover) or no labels (trec_eval measures)."""
    ratings = grades.matrix.columns(uids).ratings
    if measure.is_cover:
        return rubric_cover.cover(
            ratings, grades.pool.ranked_rows, cutoff=measure.cutoff, min_grade=measure.min_grade
        )
    return _trec_scores(grades.pool, topic_labels(grades, uids, measure), measure.name, measure.level)


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def judged_counts(grades: TopicGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Shape (2, runs): of each run's first k passages, how many have a grade for any item, and how many there
    are."""
    is_graded = (grades.matrix.columns(uids).ratings >= MIN_RATING).any(axis=1)
    with_outside = np.append(is_graded, np.False_)  # what row -1 points at
    graded = with_outside[grades.pool.ranked_rows[:, :k]].sum(axis=1)
    ranked = [min(k, len(doc_ids or ())) for doc_ids in grades.pool.ranked]
    return np.array([graded, ranked], dtype=np.int64)


def topic_labels(grades: TopicGrades, uids: Uids, measure: Measure) -> dict[str, int]:
    """By doc id, in pool order: the Rubric-Qrels label; passages without a grade are left out (unjudged)."""
    ratings = grades.matrix.columns(uids).ratings
    labels = rubric_qrels.labels(
        ratings, mode=measure.mode, min_grade=measure.min_grade, min_answers=measure.min_answers
    )
    pairs = zip(grades.pool.doc_ids, labels.tolist(), strict=True)
    return {doc_id: label for doc_id, label in pairs if label >= 0}


@lru_cache(maxsize=CACHED_TOPIC_SCORES)
def _judged_scores(topic: TopicPool, name: str, level: int) -> Scores:
    return _trec_scores(topic, topic.judgments, name, level)


def _trec_scores(topic: TopicPool, labels: Mapping[str, int], name: str, level: int) -> Scores:
    if not labels:
        return np.full(len(topic.ranked), np.nan)
    return trec_eval.topic_scores(labels, topic.scored, name, level=level)
