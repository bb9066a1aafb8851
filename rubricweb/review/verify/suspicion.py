"""Ratings and verdicts that look wrong.

The answer contradicts them, the grader was unsure, or others disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.parsing.words import is_unanswerable
from grading.types import MAX_RATING, MISSING, GradeMatrix, ItemKind, Outcome, Purpose, Ratings
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades import configs
from rubricweb.grades.matrices import TopicGrades, topic_grades
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.selectors import ON_ITEMS
from rubricweb.grades.topic_ratings import ratings_of
from rubricweb.review.selectors import LOW_CONFIDENCE, confidences_of
from rubricweb.review.verify import TopicCells

IN_PASSAGE, UNANSWERABLE, OFF_PASSAGE = 0, 1, 2
WEIGHTS = {UNANSWERABLE: 1.0, OFF_PASSAGE: 0.6}
UNSURE_WEIGHT = APART_WEIGHT = 0.5
OFF_PASSAGE_WEIGHT = 0.3
NEAR, FAR = 60, 40
"""Percent of closeness to an accepted answer, from which a wrong verdict and below which a right one is
suspicious.
"""
FAR_APART = 2
"""Ratings that differ by this much disagree."""
CACHED_TOPICS = 500


@dataclass(frozen=True, eq=False)
class Suspicions:
    """What makes the cells of one topic suspicious: arrays of shape (passages, items)."""

    graded: Ratings
    answers: Ratings
    """IN_PASSAGE, UNANSWERABLE, OFF_PASSAGE, or MISSING without a known answer."""
    confidences: Ratings
    others: Mapping[GraderConfig, Ratings]
    min_grades: NDArray[np.int8]
    """The threshold of each item."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """Return the scores, 0 where nothing is suspicious."""
        is_high = self.graded >= self.min_grades
        scores = sum(weight * (is_high & (self.answers == code)) for code, weight in WEIGHTS.items())
        is_unsure = (self.confidences >= 0) & (self.confidences < LOW_CONFIDENCE)
        scores = scores + UNSURE_WEIGHT * is_unsure * (1 - self.confidences / 100)
        apart = self.apart
        scores = scores + APART_WEIGHT * (apart >= FAR_APART) * apart / MAX_RATING
        return np.where(self.graded >= 0, scores, 0.0).round(9)

    @property
    def apart(self) -> NDArray[np.int16]:
        """Return the distance to the furthest other grader."""
        apart = np.zeros(self.graded.shape, dtype=np.int16)
        for ratings in self.others.values():
            is_both = (ratings >= 0) & (self.graded >= 0)
            apart = np.maximum(apart, np.where(is_both, np.abs(ratings.astype(np.int16) - self.graded), 0))
        return apart

    def reasons(self, row: int, column: int) -> list[str]:
        """Return human-readable reasons, most important first."""
        rating, confidence = int(self.graded[row, column]), int(self.confidences[row, column])
        is_high = rating >= self.min_grades[column]
        reasons = []
        if is_high and self.answers[row, column] == UNANSWERABLE:
            reasons.append(f"rated {rating}, but the extracted answer says that there is none")
        if is_high and self.answers[row, column] == OFF_PASSAGE:
            reasons.append(f"rated {rating}, but the extracted answer is not in the passage")
        if 0 <= confidence < LOW_CONFIDENCE:
            reasons.append(f"the grader's confidence is {confidence} %")
        for config, ratings in self.others.items():
            other = int(ratings[row, column])
            if other >= 0 and abs(other - rating) >= FAR_APART:
                reasons.append(f"rated {rating}, by {config} {other}")
        return reasons


@dataclass(frozen=True, eq=False)
class AnswerSuspicions:
    """What makes verdicts on the answers of one topic suspicious: arrays of shape (passages, items)."""

    graded: Ratings
    """1 right, 0 wrong."""
    closeness: Ratings
    """The closeness to the nearest accepted answer, in percent."""
    answers: Ratings
    """IN_PASSAGE, UNANSWERABLE, OFF_PASSAGE, or MISSING without a known answer."""
    others: Mapping[GraderConfig, Ratings]
    """1 where another grader rates the item covered, or its answer right, else 0."""

    @property
    def scores(self) -> NDArray[np.float64]:
        """Return the scores, 0 where nothing is suspicious; a wrong verdict on a near answer comes first."""
        closeness = self.closeness / 100
        scores = np.where(self.graded == 0, (self.closeness >= NEAR) * (1 + closeness), 0.0)
        scores += np.where((self.graded == 1) & (self.closeness < FAR), 1 - closeness, 0.0)
        scores += OFF_PASSAGE_WEIGHT * ((self.graded == 1) & (self.answers == OFF_PASSAGE))
        for verdicts in self.others.values():
            scores += APART_WEIGHT * ((verdicts >= 0) & (verdicts != self.graded))
        return np.where(self.graded >= 0, scores, 0.0).round(9)

    def reasons(self, row: int, column: int) -> list[str]:
        """Return human-readable reasons, most important first."""
        is_right, closeness = bool(self.graded[row, column]), int(self.closeness[row, column])
        reasons = []
        if not is_right and closeness >= NEAR:
            reasons.append("judged wrong, but near an accepted answer")
        if is_right and closeness < FAR:
            reasons.append("judged right, but far from every accepted answer")
        if is_right and self.answers[row, column] == OFF_PASSAGE:
            reasons.append("judged right, but the answer is not in the passage")
        for config, verdicts in self.others.items():
            other = int(verdicts[row, column])
            if other >= 0 and bool(other) != is_right:
                verdict = "covered" if other else "not covered"
                if config.purpose == Purpose.VERIFY:
                    verdict = "right" if other else "wrong"
                reasons.append(f"{config}: {verdict}")
        return reasons


def suspicions(
    rater: Rater, pool: CollectionPool, cells: TopicCells, *, min_grade: int | None
) -> Suspicions | AnswerSuspicions:
    """Return the suspicions on the cells of one topic of the pool."""
    graders = _graders_of(cells.pool.topic_id)
    others = [config for config in graders if config not in rater.configs]
    graded = ratings_of(cells.rated, cells.columns, len(cells.pool.doc_ids))
    if rater.verifies:
        covers = {}
        for config in others:
            if config.purpose in ON_ITEMS:
                ratings, least = _ratings(config, pool, cells), configs.default_min_grade(config)
                covers[config] = np.where(ratings < 0, MISSING, ratings >= least).astype(np.int8)
        return AnswerSuspicions(graded, cells.closeness, _own_answers(rater, cells), covers)
    confidences = {
        kind: TopicGrades(cells.pool, confidences_of(config, cells.rated[kind]))
        for kind, config in rater.by_kind.items()
    }
    return Suspicions(
        graded=graded,
        answers=_answers(rater, graders, pool, cells),
        confidences=ratings_of(confidences, cells.columns, len(cells.pool.doc_ids)),
        others={config: _ratings(config, pool, cells) for config in others if config.purpose == Purpose.RATE},
        min_grades=rater.min_grades_of((column.kind for column in cells.columns), min_grade),
    )


@compiled_once
def _graders_of(topic: int) -> QuerySet[GraderConfig]:
    """Return the graders with grades in the topic."""
    return GraderConfig.objects.filter(stamps__topic=topic, stamps__grades__gt=0)


def _ratings(config: GraderConfig, pool: CollectionPool, cells: TopicCells) -> Ratings:
    grades = topic_grades(config, pool, cells.pool.topic_id)
    return ratings_of(dict.fromkeys(configs.kinds_of(config), grades), cells.columns, len(cells.pool.doc_ids))


def _own_answers(rater: Rater, cells: TopicCells) -> Ratings:
    """Return the codes of the answers that came with the grades."""
    own = {kind: _codes_of(config, cells.rated[kind]) for kind, config in rater.by_kind.items()}
    return ratings_of(own, cells.columns, len(cells.pool.doc_ids))


def _answers(
    rater: Rater, graders: Iterable[GraderConfig], pool: CollectionPool, cells: TopicCells
) -> Ratings:
    """Return the codes of the ratings' own answers, else of those that the same model extracted."""
    extracted: dict[ItemKind, TopicGrades] = {}
    models = {config.llm for config in rater.configs}
    for config in graders:
        if config.purpose == Purpose.EXTRACT and config.llm in models:
            codes = _codes_of(config, topic_grades(config, pool, cells.pool.topic_id))
            extracted |= {kind: codes for kind in configs.kinds_of(config) if kind not in extracted}
    first, second = _own_answers(rater, cells), ratings_of(extracted, cells.columns, len(cells.pool.doc_ids))
    return np.asarray(np.where(first == MISSING, second, first), dtype=np.int8)


@lru_cache(maxsize=CACHED_TOPICS)
def _codes_of(config: GraderConfig, grades: TopicGrades) -> TopicGrades:
    """Return the codes of a config's answers.

    Cached by `grades`, which is a new object once grades are added.
    """
    pool = grades.pool
    row_of = {pk: row for row, pk in enumerate(pool.passage_pks)}
    texts = Passage.objects.filter(pooled_in__topic=pool.topic_id).values_list("pk", "text")
    plain = {pk: _plain(text) for pk, text in texts}
    rows = Grade.objects.filter(config=config, topic=pool.topic_id).exclude(outcome=Outcome.FAILED)
    if config.purpose != Purpose.EXTRACT:
        rows = rows.exclude(answer="")
    cells = list(rows.values_list("revision__uid", "passage_id", "answer"))
    uids = tuple(dict.fromkeys(uid for uid, _, _ in cells))
    column_of = {uid: column for column, uid in enumerate(uids)}
    codes = np.full((len(pool.doc_ids), len(uids)), MISSING, dtype=np.int8)
    for uid, passage, answer in cells:
        if passage in row_of:
            codes[row_of[passage], column_of[uid]] = _code(answer, plain[passage])
    return TopicGrades(pool, GradeMatrix(pool.query_id, pool.doc_ids, uids, codes))


def _code(answer: str, passage: str) -> int:
    if is_unanswerable(answer):
        return UNANSWERABLE
    return IN_PASSAGE if _plain(answer) in passage else OFF_PASSAGE


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
