"""Matrices of human ratings, a grader's ratings with human corrections, and masks of drawn cells.

The rating of people together is the last adjudication if there is one, else the lower median.
"""

from __future__ import annotations

from collections.abc import Collection as Container, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.types import MISSING, GradeMatrix, Purpose
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CACHED_TOPICS, CollectionPool, TopicPool
from rubricweb.grades import verification, visibility
from rubricweb.grades.human_models import Draw, HumanGrade, HumanStamp
from rubricweb.grades.matrices import StampedCache, TopicGrades, matrices
from rubricweb.grades.models import GraderConfig

Key = tuple[int, int, int]
"""Topic, stamp of its human grades, and stamp of the collection."""
Drawn = tuple[int, int, str]
"""Draw, passage, and uid of the wording."""


class RatingSource(StrEnum):
    """The source of a board's ratings."""

    GRADER = "grader"
    HUMANS = "humans"
    CORRECTED = "corrected"
    """A grader's ratings, replaced by human ones where there are any."""


@dataclass(frozen=True, eq=False)
class HumanGrades(TopicGrades):
    """The combined human ratings of one topic; MISSING without one. A cache key by identity."""

    wrong: tuple[tuple[int, int, str, int | None], ...]
    """(config, row, uid, displayed rating) of cells found wrong by somebody, and rated by nobody."""
    drawn: Mapping[int, GradeMatrix]
    """Matrices of the same cells by draw: 1 where somebody rated a cell of this draw, else 0."""


@dataclass(frozen=True, eq=False)
class CheckedGrades(TopicGrades):
    """A grader's corrected ratings. A cell found wrong without a human rating is MISSING."""

    checked: GradeMatrix
    """Matrix of the same cells: 1 with a human rating or verdict, else 0."""

    drawn: Mapping[int, GradeMatrix]
    """Masks as in `HumanGrades.drawn`; may have cells that the grader's lack."""

    def drawn_in(self, uids: tuple[str, ...], draws: Iterable[int]) -> NDArray[np.bool_]:
        """Return a mask of the checked cells that a draw selected, shape (passages, items)."""
        checked = self.checked_in(uids)
        drawn = [self.drawn[draw].columns(uids).ratings == 1 for draw in draws if draw in self.drawn]
        return np.asarray(checked & np.any(drawn, axis=0)) if drawn else np.zeros_like(checked)

    def checked_in(self, uids: tuple[str, ...]) -> NDArray[np.bool_]:
        """Return a mask of the checked cells of these items, shape (passages, items)."""
        return np.asarray(self.checked.columns(uids).ratings == 1)


_cache: StampedCache[Key, HumanGrades] = StampedCache(CACHED_TOPICS)


def ratings_by(source: RatingSource, config: GraderConfig, pool: CollectionPool) -> Mapping[int, TopicGrades]:
    """Return the ratings of `source` by topic id."""
    if source is RatingSource.GRADER:
        return matrices(config, pool)
    return human_matrices(pool) if source is RatingSource.HUMANS else corrected(config, pool)


def corrected(config: GraderConfig, pool: CollectionPool) -> dict[int, CheckedGrades]:
    """Return by topic id the grader's ratings, replaced by human ones where there are any.

    For a grader that verifies answers: its verdicts, replaced by people's.
    """
    graded = matrices(config, pool)
    if config.purpose == Purpose.VERIFY:
        verdicts = verification.verdict_matrices(config, pool)
        return {topic_id: _correct_verdicts(graded[topic_id], verdicts[topic_id]) for topic_id in graded}
    human = human_matrices(pool)
    return {topic_id: _correct(config.pk, graded[topic_id], human[topic_id]) for topic_id in graded}


def human_matrices(pool: CollectionPool) -> dict[int, HumanGrades]:
    """Return matrices by topic id, for every topic of the pool; hidden cells are MISSING."""
    ids = tuple(topic.topic_id for topic in pool.topics)
    number = _stamps(pool.collection_id, ids[0] if len(ids) == 1 else None)
    keys = {topic_id: (topic_id, number.get(topic_id, 0), pool.stamp) for topic_id in ids}
    by_topic = {topic_id: grades for topic_id, key in keys.items() if (grades := _cache.get(key)) is not None}
    absent = [topic for topic in pool.topics if topic.topic_id not in by_topic]
    rated = {topic.topic_id for topic in absent if topic.topic_id in number}
    rows, drawn = (_current(rated), _drawn(rated)) if rated else ({}, {})
    for topic in absent:
        grades = _decided(topic, rows.get(topic.topic_id, ()), drawn.get(topic.topic_id, ()))
        by_topic[topic.topic_id] = _cache.keep(keys[topic.topic_id], grades)
    hidden = visibility.without_ratings(pool.collection_id, pool.by_topic)
    return {pk: _visible(grades, hidden[pk]) for pk, grades in by_topic.items()}


@read_once
def _stamps(collection_id: int, only: int | None) -> dict[int, int]:
    """Return those of the collection's topics, or of `only` one."""
    return dict(_of_collection(collection_id) if only is None else _of_topic(only))


@compiled_once
def _of_collection(collection: int) -> QuerySet[HumanStamp, tuple[int, int]]:
    return HumanStamp.objects.filter(topic__collection=collection).values_list("topic_id", "number")


@compiled_once
def _of_topic(topic: int) -> QuerySet[HumanStamp, tuple[int, int]]:
    return HumanStamp.objects.filter(topic=topic).values_list("topic_id", "number")


def _visible(grades: HumanGrades, hidden: visibility.Hidden) -> HumanGrades:
    return _without(grades, hidden.named(hidden.ratings)) if hidden.ratings else grades


@lru_cache(maxsize=CACHED_TOPICS)
def _without(grades: HumanGrades, cells: visibility.Names) -> HumanGrades:
    """Return the matrices as if nobody had rated these cells."""
    matrix, pool = grades.matrix, grades.pool
    hidden = visibility.mask_of(pool, matrix.item_ids, cells)
    return HumanGrades(
        pool,
        replace(matrix, ratings=np.where(hidden, MISSING, matrix.ratings).astype(np.int8)),
        tuple(wrong for wrong in grades.wrong if (wrong[2], pool.passage_pks[wrong[1]]) not in cells),
        {
            name: replace(drawn, ratings=np.where(hidden, 0, drawn.ratings).astype(np.int8))
            for name, drawn in grades.drawn.items()
        },
    )


def _current(topic_ids: set[int]) -> dict[int, list[HumanGrade]]:
    """Return by topic each person's latest event for each cell."""
    rows = HumanGrade.objects.filter(topic__in=topic_ids).select_related("revision").order_by("number")
    now = {(row.revision_id, row.passage_id, row.by_id): row for row in rows}
    by_topic: dict[int, list[HumanGrade]] = {}
    for row in sorted(now.values(), key=lambda row: row.pk):
        if not row.is_withdrawn:
            by_topic.setdefault(row.topic_id, []).append(row)
    return by_topic


def _drawn(topic_ids: set[int]) -> dict[int, set[Drawn]]:
    """Return by topic the rated cells of draws, whether or not they changed since."""
    rows = HumanGrade.objects.filter(topic__in=topic_ids, draw__isnull=False)
    by_topic: dict[int, set[Drawn]] = {}
    fields = rows.values_list("topic_id", "draw_id", "passage_id", "revision__uid")
    for topic_id, draw, passage, uid in fields.distinct():
        by_topic.setdefault(topic_id, set()).add((draw, passage, uid))
    return by_topic


def _decided(topic: TopicPool, rows: Iterable[HumanGrade], from_draws: Iterable[Drawn]) -> HumanGrades:
    row_of = {pk: row for row, pk in enumerate(topic.passage_pks)}
    cells: dict[tuple[int, str], list[HumanGrade]] = {}
    for row in rows:
        if row.passage_id in row_of:
            cells.setdefault((row_of[row.passage_id], row.revision.uid), []).append(row)
    uids = tuple(dict.fromkeys(uid for _, uid in cells))
    ratings = np.full((len(topic.doc_ids), len(uids)), MISSING, dtype=np.int8)
    drawn: dict[int, NDArray[np.int8]] = {}
    wrong: list[tuple[int, int, str, int | None]] = []
    for (passage, uid), events in cells.items():
        rating = decided(events)
        if rating is None:
            wrong += [(row.config_id, passage, uid, row.seen_rating) for row in events if row.config_id]
        else:
            ratings[passage, uids.index(uid)] = rating
    for draw, pk, uid in from_draws:
        if (row_of.get(pk, -1), uid) in cells:
            drawn.setdefault(draw, np.zeros_like(ratings))[row_of[pk], uids.index(uid)] = 1
    names = topic.query_id, topic.doc_ids, uids
    grades = GradeMatrix.of_outcomes(*names, ratings)
    random = [GradeMatrix(*names, cells) for cells in drawn.values()]
    return HumanGrades(topic, grades, tuple(wrong), dict(zip(drawn, random, strict=True)))


class Decidable(Protocol):
    """A person's event, as far as a decision reads it."""

    @property
    def how(self) -> str: ...

    @property
    def rating(self) -> int | None: ...


def decided(events: Iterable[Decidable]) -> int | None:
    """Return the one rating of these latest events, oldest first; None without any."""
    rated = [(row.how, row.rating) for row in events if row.rating is not None]
    decisions = [rating for how, rating in rated if how == HumanGrade.How.ADJUDICATED]
    if decisions:
        return decisions[-1]
    ratings = sorted(rating for _, rating in rated)
    return ratings[(len(ratings) - 1) // 2] if ratings else None


@lru_cache(maxsize=CACHED_TOPICS)
def _correct_verdicts(graded: TopicGrades, verdicts: TopicGrades) -> CheckedGrades:
    uids = graded.matrix.item_ids
    by_people = verdicts.matrix.columns(uids).ratings
    has_answer = (graded.matrix.ratings >= 0) & (by_people != MISSING)
    ratings = np.where(has_answer, by_people, graded.matrix.ratings).astype(np.int8)
    names = (graded.pool.query_id, graded.pool.doc_ids, uids)
    checked = GradeMatrix(*names, has_answer.astype(np.int8))
    return CheckedGrades(graded.pool, GradeMatrix(*names, ratings), checked, {})


@lru_cache(maxsize=CACHED_TOPICS)
def _correct(config_id: int, graded: TopicGrades, human: HumanGrades) -> CheckedGrades:
    uids = tuple(dict.fromkeys((*graded.matrix.item_ids, *human.matrix.item_ids)))
    by_people = human.matrix.columns(uids).outcomes
    ratings = graded.matrix.columns(uids).outcomes.copy()
    checked = (by_people != MISSING).astype(np.int8)
    for config, row, uid, seen_rating in human.wrong:
        column = uids.index(uid)
        if config == config_id and ratings[row, column] == seen_rating:
            ratings[row, column], checked[row, column] = MISSING, 1
    ratings = np.where(by_people != MISSING, by_people, ratings)
    query_id, doc_ids = graded.pool.query_id, graded.pool.doc_ids
    return CheckedGrades(
        graded.pool,
        GradeMatrix.of_outcomes(query_id, doc_ids, uids, ratings),
        GradeMatrix(query_id, doc_ids, uids, checked),
        human.drawn,
    )


def uniform_draws(collection: Collection, revisions: Container[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the draws, by primary key, that sampled all cells of these wordings alike, and the others."""
    draws, wordings = _draws(collection.pk), set(revisions)
    uniform = {pk for pk, design, drawn in draws if design == Draw.Design.CELLS and wordings <= set(drawn)}
    return frozenset(uniform), frozenset(pk for pk, *_ in draws) - uniform


@compiled_once
def _draws(collection: int) -> QuerySet[Draw, tuple[int, str, list[int]]]:
    return Draw.objects.filter(collection=collection).values_list("pk", "design", "revisions")


def drawn_mask(human: HumanGrades, uids: tuple[str, ...], draws: Iterable[int]) -> NDArray[np.bool_]:
    """Return a mask of the rated cells of these draws, shape (passages, items)."""
    mask = np.zeros((len(human.pool.doc_ids), len(uids)), dtype=np.bool_)
    for draw in draws:
        if draw in human.drawn:
            mask |= human.drawn[draw].columns(uids).ratings == 1
    return mask
