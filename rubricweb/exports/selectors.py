"""The contents of exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from grading.types import Qrel
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.scoring import topic_labels
from rubricweb.leaderboards.board.items import NOTHING
from rubricweb.leaderboards.board.tables import basis
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


def qrels(spec: BoardSpec) -> Iterator[Qrel]:
    """Rubric-Qrels by topic and passage in the collection's order; passages without a grade are left out."""
    for _, labels in _by_topic(spec):
        yield from labels


def qrels_summary(spec: BoardSpec) -> QrelsSummary:
    by_topic = list(_by_topic(spec))
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
    )


def _by_topic(spec: BoardSpec) -> Iterator[tuple[TopicPool, list[Qrel]]]:
    """By subtopic, the query id is `topic/subtopic`; items without a subtopic are under the topic's id."""
    base = basis(spec)
    for topic in base.pool.topics:
        topic_items = base.topic_items.get(topic.topic_id, NOTHING)
        qrels: list[Qrel] = []
        for facet, part in (topic_items.subtopics() if spec.by_subtopic else {"": topic_items}).items():
            query_id = f"{topic.query_id}/{facet}" if facet else topic.query_id
            labels = topic_labels(base.grades[topic.topic_id], part.uids, spec.measure)
            qrels += [Qrel(query_id, doc_id, label) for doc_id, label in labels.items()]
        yield topic, qrels
