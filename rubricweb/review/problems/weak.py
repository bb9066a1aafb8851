"""Items that grade badly, by their words and by their coverage of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grading.item_lint import LintMark, coverage_marks, word_marks
from grading.types import MISSING
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Subtopic
from rubricweb.review.problems import EvidenceItem, TopicEvidence


@dataclass(frozen=True, slots=True)
class WeakItem:
    """An item with what is wrong with it, each with its evidence."""

    item: EvidenceItem
    topic_id: int
    marks: tuple[LintMark, ...]


def weak_items(bank: Bank, topics: Sequence[TopicEvidence]) -> list[WeakItem]:
    """Return the marked items in their order. Grades that the reader must not see yet count as missing."""
    topic_ids = [topic.pool.topic_id for topic in topics]
    texts = dict(bank.collection.topics.filter(pk__in=topic_ids).values_list("pk", "text"))
    named = Subtopic.objects.filter(topic__in=topic_ids).values_list("topic_id", "facet_id", "text")
    subtopics = {(topic_id, facet_id): text for topic_id, facet_id, text in named}
    facets = dict(bank.items.filter(topic__in=topic_ids).exclude(facet_id="").values_list("pk", "facet_id"))
    weak: list[WeakItem] = []
    for topic in topics:
        topic_id = topic.pool.topic_id
        ratings = np.where(topic.hidden[:, np.newaxis], MISSING, topic.ratings).astype(np.int8)
        for column, item in enumerate(topic.items):
            about = [texts[topic_id], subtopics.get((topic_id, facets.get(item.pk, "")), "")]
            marks = [
                *word_marks(item.text, item.kind, about),
                *coverage_marks(ratings[:, column], min_grade=int(topic.min_grades[column])),
            ]
            if marks:
                weak.append(WeakItem(item, topic_id, tuple(marks)))
    return weak
