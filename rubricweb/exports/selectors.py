"""What an export holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from grading.types import Qrel
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.matrices import matrices
from rubricweb.grades.scoring import topic_labels
from rubricweb.leaderboards.boards import BoardSpec
from rubricweb.leaderboards.selectors import items_of

FIRST_LINES = 12


@dataclass(frozen=True, slots=True)
class QrelsSummary:
    """What a qrels file will hold."""

    lines: int
    topics: int
    topics_without: int
    """Topics of the collection that get no line."""
    unlabelled: int
    """Pooled passages without a grade: they get no line."""
    by_label: tuple[tuple[int, int], ...]
    """Pairs of label and number of lines, highest label first."""
    first: tuple[str, ...]
    """The first lines, as the file has them."""


def qrels(spec: BoardSpec) -> Iterator[Qrel]:
    """Rubric-Qrels by topic and passage in the collection's order; passages without a grade are left out."""
    pool = collection_pool(spec.collection)
    items = items_of(spec)
    grades = matrices(spec.config, pool)
    for topic in pool.topics:
        labels = topic_labels(grades[topic.topic_id], items.get(topic.topic_id, ()), spec.measure)
        for doc_id, label in labels.items():
            yield Qrel(topic.query_id, doc_id, label)


def qrels_line(qrel: Qrel) -> str:
    return f"{qrel.query_id} 0 {qrel.doc_id} {qrel.relevance}"


def qrels_summary(spec: BoardSpec) -> QrelsSummary:
    found = list(qrels(spec))
    pool = collection_pool(spec.collection)
    topics = len({qrel.query_id for qrel in found})
    by_label = Counter(qrel.relevance for qrel in found)
    return QrelsSummary(
        lines=len(found),
        topics=topics,
        topics_without=len(pool.topics) - topics,
        unlabelled=sum(len(topic.doc_ids) for topic in pool.topics) - len(found),
        by_label=tuple(sorted(by_label.items(), reverse=True)),
        first=tuple(qrels_line(qrel) for qrel in islice(found, FIRST_LINES)),
    )
