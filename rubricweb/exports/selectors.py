"""The contents of exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.formats.ids import is_one_word
from grading.types import MIN_RATING, Qrel
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.scoring import Uids, topic_labels
from rubricweb.leaderboards.board.scores import NOTHING, Basis, basis
from rubricweb.leaderboards.board.types import BoardSpec

FIRST_LINES = 12


@dataclass(frozen=True, slots=True)
class QrelsSummary:
    """A preview of a qrels file."""

    lines: int
    topics: int
    topics_without: int
    """Topics without lines."""
    unlabelled: int
    """Pooled passages without a grade, and so without a line."""
    by_label: tuple[tuple[int, int], ...]
    """(label, number of lines), highest label first."""
    first: tuple[str, ...]
    """The first lines, as the file has them."""
    losses: tuple[str, ...]
    """As `qrels_losses` lists them."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """What has a query id of its own in the file: a topic or a subtopic."""

    query_id: str
    grades: TopicGrades
    uids: Uids
    labels: dict[str, int]
    """By doc id; passages without a grade are left out."""

    @property
    def qrels(self) -> list[Qrel]:
        return [Qrel(self.query_id, doc_id, label) for doc_id, label in self.labels.items()]

    @property
    def n_items(self) -> int:
        return len(self.uids)

    def graded_items(self, spec: BoardSpec) -> NDArray[np.int64]:
        """Shape (passages,): how many of the items have a rating; the Workbench asks for no certain ones."""
        if spec.measure.is_workbench:
            return np.full(len(self.grades.pool.doc_ids), self.n_items)
        ratings = self.grades.matrix.columns(self.uids).ratings
        graded: NDArray[np.int64] = (ratings >= MIN_RATING).sum(axis=1)
        return graded


def qrels(spec: BoardSpec) -> Iterator[Qrel]:
    """Rubric-Qrels by topic and passage in the collection's order; passages without a grade are left out."""
    for _, labels in _by_topic(basis(spec)):
        yield from labels


def qrels_summary(spec: BoardSpec) -> QrelsSummary:
    base = basis(spec)
    by_topic = list(_by_topic(base))
    labels = [qrel for _, labelled in by_topic for qrel in labelled]
    topics = sum(bool(labelled) for _, labelled in by_topic)
    passages = sum(len({qrel.doc_id for qrel in labelled}) for _, labelled in by_topic)
    by_label = Counter(qrel.relevance for qrel in labels)
    return QrelsSummary(
        lines=len(labels),
        topics=topics,
        topics_without=len(by_topic) - topics,
        unlabelled=sum(len(topic.doc_ids) for topic, _ in by_topic) - passages,
        by_label=tuple(sorted(by_label.items(), reverse=True)),
        first=tuple(f"{q.query_id} 0 {q.doc_id} {q.relevance}" for q in labels[:FIRST_LINES]),
        losses=tuple(_losses(base)),
    )


def qrels_losses(spec: BoardSpec) -> list[str]:
    """Return what the qrels file will not say, an entry a topic or passage.

    These are passages without a line, labels that stand on some of the items only, and ids that no line can
    have.
    """
    return _losses(basis(spec))


def _losses(base: Basis) -> list[str]:
    return [
        loss
        for topic, units in zip(base.pool.topics, _units_of(base), strict=True)
        for loss in _losses_of(topic, units, base.spec)
    ]


def _losses_of(topic: TopicPool, units: list[_Unit], spec: BoardSpec) -> Iterator[str]:
    """Of one topic. Where nothing of it has a line, that is one entry."""
    if not any(unit.labels for unit in units):
        passages = len(topic.doc_ids)
        yield f"topic {topic.query_id}: no line, none of its pooled passages ({passages:,}) has a grade"
        return
    for unit in units:
        if not is_one_word(unit.query_id):
            yield f"topic {unit.query_id}: cannot be written, its id is not one word"
        graded = unit.graded_items(spec)
        for doc_id, count in zip(topic.doc_ids, graded.tolist(), strict=True):
            place = f"topic {unit.query_id}, passage {doc_id}"
            if not is_one_word(doc_id):
                yield f"{place}: cannot be written, the id is not one word"
            elif doc_id not in unit.labels:
                yield f"{place}: no line, it has no grade"
            elif count < unit.n_items:
                yield f"{place}: that its label stands on {count} of {unit.n_items} items"


def _by_topic(base: Basis) -> Iterator[tuple[TopicPool, list[Qrel]]]:
    """By subtopic, the query id is `topic/subtopic`; items without a subtopic are under the topic's id."""
    for topic, units in zip(base.pool.topics, _units_of(base), strict=True):
        yield topic, [qrel for unit in units for qrel in unit.qrels]


def _units_of(base: Basis) -> Iterator[list[_Unit]]:
    """Yield the units of each topic: its subtopics where the qrels are by subtopic, else the topic."""
    spec = base.spec
    for topic in base.pool.topics:
        topic_items, grades = base.topic_items.get(topic.topic_id, NOTHING), base.grades[topic.topic_id]
        parts = topic_items.subtopics() if spec.by_subtopic else {"": topic_items}
        yield [
            _Unit(
                f"{topic.query_id}/{facet}" if facet else topic.query_id,
                grades,
                part.uids,
                topic_labels(grades, part.uids, spec.measure),
            )
            for facet, part in parts.items()
        ]
