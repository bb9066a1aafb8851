"""Score the runs of a board on its topics and items."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from math import isnan
from operator import itemgetter
from typing import Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.arrays import divide, take_rows
from grading.measures import Weighed
from grading.statistics.mean_intervals import mean_and_stderr
from grading.types import MIN_RATING, MISSING, Importance, ItemKind
from rubricweb.banks.models import Bank, BankVersion, Item, ItemRevision
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.corpus.run_slices import pool_of
from rubricweb.grades import visibility
from rubricweb.grades.engine.progress import topics_of
from rubricweb.grades.human_matrices import RatingSource, ratings_by
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import GradingJob
from rubricweb.grades.scoring import (
    MeasureSpec,
    Scores,
    ScoreTable,
    Uids,
    Weights,
    judgment_table,
    topic_scores,
)
from rubricweb.grades.selectors import graded_items
from rubricweb.leaderboards.board import BoardRow, BoardSpec, BoardTopic, MeasureColumn
from rubricweb.support import board as support

Grades = Mapping[int, TopicGrades]
Scorer = Callable[[TopicGrades, Uids, MeasureSpec, Weights], Scores]
MAX_PARTING = 5
IMPORTANCE = {str(importance): importance for importance in Importance}
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TopicItems:
    """The items of one topic or subtopic; one entry an item in each field."""

    uids: Uids = ()
    weights: Weights = ()
    facets: tuple[str, ...] = ()

    @property
    def n_vital(self) -> int:
        return sum(importance is Importance.VITAL for importance, _ in self.weights)

    def subtopics(self) -> dict[str, TopicItems]:
        """Return the items by subtopic in the order of the bank; those of the whole topic are under ""."""
        entries = zip(self.uids, self.weights, self.facets, strict=True)
        by_facet: dict[str, list[tuple[str, Weighed, str]]] = {}
        for entry in entries:
            by_facet.setdefault(entry[2], []).append(entry)
        return {facet: TopicItems(*zip(*rows, strict=True)) for facet, rows in by_facet.items()}


NOTHING = TopicItems()


def topic_items_of(spec: BoardSpec) -> dict[int, TopicItems]:
    """Return the items by topic id; of two with the same wording the first counts."""
    if spec.bank is None:
        graded = graded_items(spec.config, None, spec.collection)
        return {topic: TopicItems(uids, ((Importance.VITAL, 1.0),), ("",)) for topic, uids in graded.items()}
    return _topic_items(spec.bank, spec.kinds, spec.version)


@read_once
def _topic_items(
    bank: Bank, kinds: frozenset[ItemKind], version: BankVersion | None
) -> dict[int, TopicItems]:
    by_topic: dict[int, TopicItems] = {}
    for topic_id, rows in groupby(_rows(bank, kinds, version), key=itemgetter(0)):
        first: dict[str, tuple[Weighed, str]] = {}
        for _, uid, importance, weight, facet, _ in rows:
            first.setdefault(uid, ((IMPORTANCE[importance], weight), facet))
        weighed, facets = zip(*first.values(), strict=True)
        by_topic[topic_id] = TopicItems(tuple(first), weighed, facets)
    return by_topic


def wordings_of(spec: BoardSpec) -> dict[int, tuple[int, str]]:
    """Return (topic, uid) of the board's items by the key of their wording; none for a board of labels."""
    rows = _rows(spec.bank, spec.kinds, spec.version) if spec.bank else ()
    return {revision: (topic_id, uid) for topic_id, uid, *_, revision in rows}


def items_stamp(pool: CollectionPool, items: Mapping[int, Uids]) -> str:
    """Return twelve digits that change with the item set, and with nothing else."""
    digest = hashlib.sha256()
    for topic in pool.topics:
        for uid in sorted(items.get(topic.topic_id, ())):
            digest.update(f"{topic.query_id}\n{uid}\n".encode())
    return digest.hexdigest()[:12]


@read_once
def n_secret(spec: BoardSpec) -> int:
    """Return how many of the board's items are secret."""
    if spec.bank is None or not secret_wordings(spec.collection.pk):
        return 0
    rows = spec.version.all_entries if spec.version else spec.bank.all_items.active()
    item = "item__" if spec.version else ""
    kinds = [str(kind) for kind in spec.kinds]
    secret = rows.filter(**{f"{item}kind__in": kinds}, revision__is_secret=True)
    if spec.topic_slice:
        secret = secret.filter(**{f"{item}topic__query_id__in": list(spec.topic_slice.query_ids)})
    if spec.topic:
        secret = secret.filter(**{f"{item}topic__query_id": spec.topic})
    if spec.facet:
        secret = secret.filter(**{f"{item}facet_id": spec.facet})
    return secret.order_by().values("revision").distinct().count()


def n_hidden(spec: BoardSpec) -> int:
    """Return how many cells that would count on the board are hidden from the reader."""
    by_topic = visibility.hidden_cells(spec.collection.pk)
    if not any(hidden.ratings for hidden in by_topic.values()):
        return 0
    items, is_graded = topic_items_of(spec), spec.source is RatingSource.GRADER
    return sum(
        hidden.uids[revision] in items.get(topic, NOTHING).uids
        for topic, hidden in by_topic.items()
        for revision, _ in (hidden.graders if is_graded else hidden.ratings)
    )


@read_once
def secret_wordings(collection_id: int) -> set[tuple[int, str]]:
    """Return (topic, uid) of the wordings that no file may have, whoever makes it."""
    return set(_secret(collection_id))


@compiled_once
def _secret(collection: int) -> QuerySet[ItemRevision, Any]:
    rows = ItemRevision.including_secret.filter(is_secret=True, topic__collection=collection)
    return rows.values_list("topic_id", "uid")


@read_once
def _rows(bank: Bank, of_kinds: frozenset[ItemKind], version: BankVersion | None) -> Sequence[Sequence[Any]]:
    """Return rows of topic, uid, importance, weight, subtopic and wording."""
    kinds = [str(kind) for kind in of_kinds]
    if version is None:
        return [fields for kind, *fields in _active(bank.pk) if kind in kinds]
    then = version.all_entries.filter(item__kind__in=kinds)
    fields = ("item__topic_id", "revision__uid", "importance", "weight", "item__facet_id", "revision_id")
    return list(then.order_by("item__topic_id", "position", "pk").values_list(*fields))


@compiled_once
def _active(bank: int) -> QuerySet[Item, Any]:
    rows = Item.including_secret.active().filter(bank=bank).order_by("topic_id", "position", "pk")
    fields = ("kind", "topic_id", "revision__uid", "importance", "weight", "facet_id", "revision_id")
    return rows.values_list(*fields)


@dataclass(frozen=True)
class Basis:
    """What all columns of a board share. `topic_items` has the topics and subtopics that the board is of."""

    spec: BoardSpec
    pool: CollectionPool
    grades: Grades
    topic_items: Mapping[int, TopicItems]

    @cached_property
    def items(self) -> dict[int, Uids]:
        return {topic_id: listed.uids for topic_id, listed in self.topic_items.items()}

    @property
    def state(self) -> Hashable:
        """Return all that scores are computed from beside the spec: equal where nothing of it has changed.

        Grades are as the reader sees them: those from whom cells are hidden have others.
        """
        units = tuple(self.units())
        grades = tuple(self.grades[topic.topic_id] for topic, _ in units)
        return self.pool.run_tags, self.pool.run_pks, units, grades

    def units(self) -> list[tuple[TopicPool, TopicItems]]:
        """Return what the mean goes over: topics, or the subtopics of the board's one topic."""
        whole = [(topic, self.topic_items.get(topic.topic_id, NOTHING)) for topic in self.pool.topics]
        if not (self.spec.by_subtopic and self.spec.topic):
            return whole
        return [(topic, part) for topic, items in whole for part in items.subtopics().values()]


def basis(spec: BoardSpec) -> Basis:
    visibility.refuse_sums(spec.collection)
    pool = pool_of(spec.collection, spec.runs)
    if not spec.is_of_all_topics:
        pool = replace(pool, topics=tuple(topic for topic in pool.topics if spec.includes(topic.query_id)))
    return _basis_over(spec, pool)


def column_basis(base: Basis, column: MeasureColumn) -> Basis:
    """Return the basis of a further column: the same topics and runs, and the items of its grader."""
    if column.config is None:
        return base if column.is_own else replace(base, spec=replace(base.spec, by_subtopic=False))
    has_version = base.spec.version is not None and column.bank == base.spec.bank
    spec = replace(
        base.spec,
        config=column.config,
        bank=column.bank,
        kinds=column.kinds,
        version=base.spec.version if has_version else None,
        source=RatingSource.GRADER,
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
    units, spec = base.units(), replace(base.spec, measure=measure)
    columns = [unit_scores(ratings[topic.topic_id], items, spec, scorer) for topic, items in units]
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
    """Return the scores on a topic, or on one subtopic of the board's one topic, shape (runs,).

    A run may lack the topic.
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


def current_shares(base: Basis, k: int) -> NDArray[np.float64]:
    """Return the graded share of the cells of the first k passages, shape (runs,).

    NaN for a run that waits for no grade.
    """
    jobs = _jobs(base.spec.collection.pk, base.spec.config.pk)
    waiting = topics_of(GradingJob.objects.filter(pk__in=jobs)) if jobs else ()
    totals = np.zeros((2, len(base.pool.run_tags)))
    if waiting:
        for topic, items in base.units():
            missing, cells = missing_counts(base.grades[topic.topic_id], items.uids, k)
            totals += (missing if topic.topic_id in waiting else 0 * missing, cells)
    missing, cells = totals
    return np.where(missing > 0, divide(cells - missing, cells), np.nan)


@compiled_once
def _jobs(collection: int, config: int) -> QuerySet[GradingJob, int]:
    """Return the jobs that have not ended."""
    states = (*GradingJob.WORKED_ON, GradingJob.State.PAUSED, GradingJob.State.WAITING)
    jobs = GradingJob.objects.filter(collection=collection, config=config, state__in=states)
    return jobs.values_list("pk", flat=True)


@lru_cache(maxsize=CACHED_TOPICS)
def missing_counts(grades: TopicGrades, uids: Uids, k: int) -> NDArray[np.int64]:
    """Return how many cells of each run's first k pooled passages lack a grade, and all; shape (2, runs)."""
    missing = (grades.matrix.columns(uids).ratings == MISSING).sum(axis=1)
    top = grades.pool.ranked_rows[:, :k]
    of_top = take_rows(missing, top).sum(axis=1)
    return np.array([of_top, (top >= 0).sum(axis=1) * len(uids)], dtype=np.int64)


def counting_topics(
    base: Basis, scores: Floats, texts: Mapping[int, str]
) -> tuple[tuple[BoardTopic, ...], NDArray[np.intp]]:
    """Return the topics that count, the easiest first, and their columns in `scores`, shape (runs, units)."""
    counts = np.flatnonzero((~np.isnan(scores)).any(axis=0))
    easiest = counts[np.argsort(-np.nanmean(scores[:, counts], axis=0), kind="stable")]
    units = base.units()
    is_of_subtopics = base.spec.by_subtopic and bool(base.spec.topic)
    topics = tuple(
        BoardTopic(
            topic.topic_id,
            topic.query_id,
            texts[topic.topic_id],
            next(iter(items.facets), "") if is_of_subtopics else "",
        )
        for topic, items in (units[column] for column in easiest)
    )
    return topics, easiest


def scores_by_topic(scores: Floats, columns: NDArray[np.intp]) -> list[tuple[float | None, ...]]:
    """Return, for each run, its scores on those topics."""
    rows: list[list[float]] = scores[:, columns].tolist()
    return [tuple(None if isnan(score) else score for score in row) for row in rows]


def topics_without_items(base: Basis, texts: Mapping[int, str]) -> tuple[BoardTopic, ...]:
    """Return the topics that the bank asks nothing about; none for a board of one topic or of labels."""
    if base.spec.bank is None or base.spec.topic:
        return ()
    bare = [topic for topic in base.pool.topics if not base.items.get(topic.topic_id)]
    return tuple(BoardTopic(topic.topic_id, topic.query_id, texts[topic.topic_id]) for topic in bare)


def parting_topics(topics: Sequence[BoardTopic], rows: Sequence[BoardRow]) -> list[int]:
    """Return the places of the topics whose scores vary most over the runs, the widest first."""
    scores = np.array([row.by_topic for row in rows], dtype=np.float64).reshape(len(rows), len(topics))
    if len(rows) < 2 or not len(topics):
        return []
    complete = ~np.isnan(scores).any(axis=0)
    spread = np.where(complete, scores.std(axis=0), 0.0)
    widest = np.argsort(-spread, kind="stable")[:MAX_PARTING]
    return [int(place) for place in widest if spread[place] > 0]


def n_graded(base: Basis) -> int:
    """Return how many cells of the board's topics and items have a grade."""
    ratings = (base.grades[topic_id].matrix.columns(uids).ratings for topic_id, uids in base.items.items())
    return int(sum((of_topic >= MIN_RATING).sum() for of_topic in ratings))
