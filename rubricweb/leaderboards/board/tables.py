"""Scores of all runs on what a board averages: topics, or the subtopics of one topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grading.statistics.mean_intervals import mean_and_stderr
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades import visibility
from rubricweb.grades.human_matrices import Source, ratings_by
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.scoring import (
    MeasureSpec,
    Scores,
    ScoreTable,
    Uids,
    Weights,
    judgment_table,
    topic_scores,
)
from rubricweb.leaderboards.board.items import NOTHING, TopicItems, topic_items_of
from rubricweb.leaderboards.board.types import BoardSpec, MeasureColumn
from rubricweb.support import board as support

Grades = Mapping[int, TopicGrades]
Scorer = Callable[[TopicGrades, Uids, MeasureSpec, Weights], Scores]


@dataclass(frozen=True, slots=True)
class Basis:
    """What all columns of a board share. `topic_items` has the topics and subtopics that the board is of."""

    spec: BoardSpec
    pool: CollectionPool
    grades: Grades
    topic_items: Mapping[int, TopicItems]

    @property
    def items(self) -> dict[int, Uids]:
        return {topic_id: listed.uids for topic_id, listed in self.topic_items.items()}

    def units(self) -> list[tuple[TopicPool, TopicItems]]:
        """Return what the mean goes over: topics, or the subtopics of the board's one topic."""
        whole = [(topic, self.topic_items.get(topic.topic_id, NOTHING)) for topic in self.pool.topics]
        if not (self.spec.by_subtopic and self.spec.topic):
            return whole
        return [(topic, part) for topic, items in whole for part in items.subtopics().values()]


def basis(spec: BoardSpec) -> Basis:
    visibility.refuse_sums(spec.collection)
    pool = collection_pool(spec.collection)
    if not spec.is_of_all_topics:
        pool = replace(pool, topics=tuple(topic for topic in pool.topics if spec.includes(topic.query_id)))
    return _basis_over(spec, pool)


def column_basis(base: Basis, column: MeasureColumn) -> Basis:
    """Return what a further column is scored on: the same topics and runs, and the items that its grader
    grades.
    """
    if column.config is None:
        return base if column.is_own else replace(base, spec=replace(base.spec, by_subtopic=False))
    has_version = base.spec.version is not None and column.bank == base.spec.bank
    spec = replace(
        base.spec,
        config=column.config,
        bank=column.bank,
        kinds=column.kinds,
        version=base.spec.version if has_version else None,
        source=Source.GRADER,
    )
    if column.bank is None:
        spec = replace(spec, facet="", by_subtopic=False)
    return _basis_over(spec, base.pool)


def _basis_over(spec: BoardSpec, pool: CollectionPool) -> Basis:
    """Return the basis of a board over the topics of this pool."""
    topic_items = {pk: items for pk, items in topic_items_of(spec).items() if pk in pool.by_topic}
    if spec.facet:
        topic_items = {
            topic: items.subtopics().get(spec.facet, NOTHING) for topic, items in topic_items.items()
        }
    return Basis(spec, pool, ratings_by(spec.source, spec.config, pool), topic_items)


def score_units(
    base: Basis, measure: MeasureSpec, grades: Grades | None = None, *, scorer: Scorer = topic_scores
) -> ScoreTable:
    """Shape (runs, units). NaN where nothing is asked, and where a topic that a run lacks is left out."""
    ratings = base.grades if grades is None else grades
    units = base.units()
    columns = [
        unit_scores(ratings[topic.topic_id], items, replace(base.spec, measure=measure), scorer)
        for topic, items in units
    ]
    return _table(base, (topic for topic, _ in units), columns)


def score_column(base: Basis, column: MeasureColumn) -> ScoreTable:
    """Return the scores of a further column on its `column_basis`, shape (runs, units)."""
    if column.support:
        topic_ids = [topic.topic_id for topic in base.pool.topics]
        scores = support.score_column(base.spec.collection, column.support, base.pool.run_pks, topic_ids)
        return _table(base, base.pool.topics, list(scores.T))
    if column.is_judgments:
        judged = judgment_table(base.pool, column.measure, level=column.measure.level)
        return _table(base, base.pool.topics, list(judged.scores.T))
    return score_units(base, column.measure)


def answered(units: Iterable[TopicPool]) -> NDArray[np.bool_]:
    """Return an array of shape (runs, units): whether the run has a ranking for the topic."""
    return np.array([topic.lengths > 0 for topic in units], dtype=np.bool_).T


def unit_scores(
    grades: TopicGrades, items: TopicItems, spec: BoardSpec, scorer: Scorer = topic_scores
) -> Scores:
    """Return an array of shape (runs,): of a topic, or of one subtopic of the board's one topic; a run may
    lack the topic.
    """
    each = [scorer(grades, part.uids, spec.measure, part.weights) for part in parts(items, spec)]
    if len(each) == 1:
        return each[0]
    return mean_and_stderr(np.column_stack(each)).mean


def parts(items: TopicItems, spec: BoardSpec) -> list[TopicItems]:
    """Return what the score of a topic is the mean over: its subtopics where the board asks for them."""
    is_whole = not spec.by_subtopic or spec.topic or len(set(items.facets)) < 2
    return [items] if is_whole else list(items.subtopics().values())


def _table(base: Basis, units: Iterable[TopicPool], columns: list[Scores]) -> ScoreTable:
    topics = list(units)
    scores = np.column_stack(columns) if columns else np.zeros((len(base.pool.run_tags), 0))
    if base.spec.skips_missing and topics:
        scores = np.where(answered(topics), scores, np.nan)
    return ScoreTable(base.pool.run_tags, tuple(topic.topic_id for topic in topics), scores)
