"""Ratings and verdicts that look wrong.

The answer contradicts them, the grader was unsure, or others disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.parsing.words import is_unanswerable
from grading.types import MAX_RATING, MISSING, GradeMatrix, ItemKind, Outcome, Purpose, Ratings
from rubricweb.banks.selectors import keys_of
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades import configs
from rubricweb.grades.matrices import TopicGrades, topic_grades
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.selectors import ON_ITEMS
from rubricweb.grades.topic_ratings import ItemColumn, ratings_of
from rubricweb.review import verify
from rubricweb.review.selectors import LOW_CONFIDENCE, Layers, all_layers

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
    rater: Rater, pool: CollectionPool, columns: Sequence[ItemColumn], *, min_grade: int | None
) -> Suspicions | AnswerSuspicions:
    """Return the suspicions on the cells of the one topic in `pool`."""
    return (
        _of_answers(rater, pool, columns) if rater.verifies else _of_ratings(rater, pool, columns, min_grade)
    )


def _of_answers(rater: Rater, pool: CollectionPool, columns: Sequence[ItemColumn]) -> AnswerSuspicions:
    (topic,) = pool.topics
    passages = len(topic.doc_ids)
    graded = {kind: topic_grades(config, pool, topic.topic_id) for kind, config in rater.by_kind.items()}
    keys = keys_of(column.revision_pk for column in columns)
    accepted = tuple((column.uid, keys.get(column.revision_pk, ())) for column in columns)
    codes = {kind: _codes_of(config, graded[kind]) for kind, config in rater.by_kind.items()}
    others = {}
    for config in _other_graders(rater, topic.topic_id, ON_ITEMS):
        ratings, least = _ratings(config, pool, columns), configs.default_min_grade(config)
        others[config] = np.where(ratings < 0, MISSING, ratings >= least).astype(np.int8)
    return AnswerSuspicions(
        graded=ratings_of(graded, columns, passages),
        closeness=verify.closeness_of(rater, graded, accepted, columns),
        answers=ratings_of(codes, columns, passages),
        others=others,
    )


def _of_ratings(
    rater: Rater, pool: CollectionPool, columns: Sequence[ItemColumn], min_grade: int | None
) -> Suspicions:
    (topic,) = pool.topics
    passages = len(topic.doc_ids)
    by_config = {config: topic_grades(config, pool, topic.topic_id) for config in rater.configs}
    graded = {kind: by_config[config] for kind, config in rater.by_kind.items()}
    layered = all_layers(rater, pool, graded)
    others = _other_graders(rater, topic.topic_id, (Purpose.RATE,))
    return Suspicions(
        graded=ratings_of(graded, columns, passages),
        answers=_answers(rater, pool, layered, columns),
        confidences=ratings_of(layered.confidences, columns, passages),
        others={config: _ratings(config, pool, columns) for config in others},
        min_grades=rater.min_grades_of((column.kind for column in columns), min_grade),
    )


def _ratings(config: GraderConfig, pool: CollectionPool, columns: Sequence[ItemColumn]) -> Ratings:
    (topic,) = pool.topics
    grades = dict.fromkeys(configs.kinds_of(config), topic_grades(config, pool, topic.topic_id))
    return ratings_of(grades, columns, len(topic.doc_ids))


def _other_graders(rater: Rater, topic_id: int, purposes: Iterable[Purpose]) -> list[GraderConfig]:
    graded = GraderConfig.objects.filter(stamps__topic=topic_id, stamps__grades__gt=0)
    return [config for config in graded.filter(purpose__in=list(purposes)) if config not in rater.configs]


def _answers(rater: Rater, pool: CollectionPool, layered: Layers, columns: Sequence[ItemColumn]) -> Ratings:
    """Return the codes of the ratings' own answers, else of those that the same model extracted."""
    (topic,) = pool.topics
    passages = len(topic.doc_ids)
    own = {kind: _codes_of(config, layered.graded[kind]) for kind, config in rater.by_kind.items()}
    extracted: dict[ItemKind, TopicGrades] = {}
    models = {config.llm for config in rater.configs}
    extracting = GraderConfig.objects.filter(stamps__topic=topic.topic_id, stamps__grades__gt=0)
    for config in extracting.filter(purpose=Purpose.EXTRACT, llm__in=models):
        codes = _codes_of(config, topic_grades(config, pool, topic.topic_id))
        extracted |= {kind: codes for kind in configs.kinds_of(config) if kind not in extracted}
    first, second = ratings_of(own, columns, passages), ratings_of(extracted, columns, passages)
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
