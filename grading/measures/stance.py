"""Supportive and contradictory scores: what an answer says of the short answers to a topic's questions.

TREC DRAGUN 2025 (arXiv 2602.24277) assesses each short answer of a rubric: a report supports it (1), supports
a part (0.5), contradicts it or does neither. With n assessed short answers of a question of weight w,

    supportive    = sum over questions of w * (credit / n) / sum of w
    contradictory = sum over questions of w * (contradicted answers / n) / sum of w

where the sums of w are over all questions. A question none of whose answers is assessed adds 0.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from grading.arrays import divide_or_zero, take_rows
from grading.measures import Floats, GradedTopic, ItemMeasure, Mask
from grading.measures.cover import REACH, partial_grade, support
from grading.types import ANSWERED, MISSING


class Stance(StrEnum):
    SUPPORTIVE = "supportive"
    CONTRADICTORY = "contradictory"


def contradicted_items(topic: GradedTopic) -> Mask:
    """Return which items one of the first passages of each run contradicts, shape (runs, items)."""
    if topic.contradicted is None:
        return np.zeros((len(topic.ranked), len(topic.items)), dtype=np.bool_)
    return np.asarray(take_rows(topic.contradicted, topic.ranked[:, : topic.cutoff]).any(axis=1))


def stance_score(topic: GradedTopic, stance: Stance) -> Floats:
    """Return the score of each run, shape (runs,); 0 without any question of a weight above 0.

    A question weighs the mean of its items. An item to avoid belongs to no question. What a run both supports
    and contradicts is contradicted, as DRAGUN's guidelines have it. A failed grade is assessed: no credit.

    >>> from grading.types import Importance
    >>> ratings = np.array([[2, 0, 1, 0, 2]], dtype=np.int8)
    >>> items = [(Importance.VITAL, 4.0)] * 2 + [(Importance.OKAY, 2.0)] + [(Importance.OKAY, 1.0)] * 2
    >>> contradicted = np.array([[False, False, False, True, False]])
    >>> topic = GradedTopic(ratings, np.array([[0]], dtype=np.int32), items, 1, 2, (), contradicted, "AABCC")
    >>> [round(float(stance_score(topic, stance)[0]), 4) for stance in Stance]
    [0.5, 0.0714]
    """
    contradicted = contradicted_items(topic)
    if stance is Stance.CONTRADICTORY:
        credit = contradicted.astype(np.float64)
    else:
        reach = {"full": topic.min_grade, "partial": partial_grade(topic.min_grade)}
        credit = support(topic.ratings, topic.ranked, cutoff=topic.cutoff, **reach)
        credit = np.where(contradicted, 0.0, credit)
    is_graded = (topic.ratings != MISSING) & (topic.ratings != ANSWERED)
    assessed = take_rows(is_graded, topic.ranked[:, : topic.cutoff]).any(axis=1)
    membership, weights = _questions(topic)
    means = divide_or_zero((credit * assessed) @ membership, assessed @ membership)
    return divide_or_zero(means @ weights, float(weights.sum()))


def _questions(topic: GradedTopic) -> tuple[Floats, Floats]:
    """Return which question each item belongs to, shape (items, questions), and the weights of questions."""
    each = np.array(topic.weights, dtype=np.float64)
    names = list(topic.questions) or [str(column) for column in range(len(each))]
    questions = list(dict.fromkeys(names))
    columns = np.array([questions.index(name) for name in names], dtype=np.int64)
    membership = np.zeros((len(each), len(questions)))
    membership[np.arange(len(each)), columns] = each > 0
    return membership, divide_or_zero(each @ membership, membership.sum(axis=0))


def _measure(stance: Stance, label: str, denominator: str) -> ItemMeasure:
    def scores(topic: GradedTopic) -> Floats:
        if not topic.items:
            return np.full(len(topic.ranked), np.nan)
        return stance_score(topic, stance)

    return ItemMeasure(
        name=stance.value,
        label=label,
        denominator=denominator,
        citation="TREC DRAGUN 2025 (arXiv 2602.24277)",
        less_is_better=stance is Stance.CONTRADICTORY,
        scores=scores,
        suggested=(stance.value,),
    )


SUPPORTIVE = _measure(
    Stance.SUPPORTIVE,
    "Supportive score",
    f"mean over questions by weight: credit / assessed answers; {REACH}",
)
CONTRADICTORY = _measure(
    Stance.CONTRADICTORY,
    "Contradictory score (less is better)",
    "mean over questions by weight: contradicted answers / assessed answers",
)
