"""Which items of a rubric an answer covers, by the grades of the passages that it became."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.segmentation import PassagesOf, response_passages
from grading.types import FAILED, MISSING, ItemKind, Ratings
from rubricweb.arena.answers import Place
from rubricweb.banks.models import Bank
from rubricweb.corpus.models import Response
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades.matrices import TopicGrades, matrices
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import ItemColumn, ratings_of


@dataclass(frozen=True, slots=True)
class AskedItem:
    """An active item of the bank."""

    pk: int
    kind: ItemKind
    number: int
    """Counted from 1 within the kind and topic."""
    text: str
    column: ItemColumn

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def short_name(self) -> str:
        return f"{str(self.kind)[0].upper()}{self.number}"


@dataclass(frozen=True, eq=False)
class Coverage:
    """One answer against the items of its topic."""

    items: tuple[AskedItem, ...]
    ratings: Ratings
    """By item: the highest rating of the answer's passages; MISSING or FAILED without one."""
    min_grades: NDArray[np.int8]
    missing: int
    """Cells without a grade, or with one that the reader must not see yet."""
    uncovered: tuple[int, ...]
    """Passages of the answer, by primary key, that have grades and cover no item."""

    @property
    def covers(self) -> NDArray[np.bool_]:
        return np.asarray(self.ratings >= self.min_grades)

    @property
    def covered(self) -> int:
        return int(self.covers.sum())

    @property
    def score(self) -> float | None:
        """The share of items that are covered; None where no cell is graded."""
        return self.covered / len(self.items) if (self.ratings >= 0).any() else None


def coverages(bank: Bank, rater: Rater, min_grade: int, places: Iterable[Place]) -> dict[Place, Coverage]:
    """By run and topic: what its answer covers; without those whose topic has no items."""
    wanted = set(places)
    topics = {topic for _, topic in wanted}
    pool, items = _pool_of(collection_pool(bank.collection), topics), asked_items(bank, topics)
    by_config = {config: matrices(config, pool) for config in rater.configs}
    rows = Response.objects.filter(topic__in=topics, run__in={run for run, _ in wanted})
    found = {}
    for row in rows.only("run", "topic", "sentences", "passages_of").order_by("pk"):
        if (row.run_id, row.topic_id) in wanted and items.get(row.topic_id):
            graded = {kind: by_config[config][row.topic_id] for kind, config in rater.by_kind.items()}
            asked = items[row.topic_id]
            least = rater.min_grades_of((one.kind for one in asked), min_grade)
            topic = pool.by_topic[row.topic_id]
            found[row.run_id, row.topic_id] = _coverage(row, topic, asked, graded, least)
    return found


def asked_items(bank: Bank, topics: Iterable[int]) -> dict[int, tuple[AskedItem, ...]]:
    """By topic: its active items, questions first, numbered within their kind as in the grid."""
    rows = bank.items.active().filter(topic__in=set(topics)).select_related("revision")
    by_topic: dict[int, list[AskedItem]] = {}
    for row in rows.order_by("topic", "position", "pk"):
        items = by_topic.setdefault(row.topic_id, [])
        kind, revision = ItemKind(row.kind), row.revision
        number = 1 + sum(item.kind == kind for item in items)
        column = ItemColumn(kind, revision.uid, revision.pk, bool(revision.text))
        items.append(AskedItem(row.pk, kind, number, revision.text, column))
    order = list(ItemKind)
    return {
        topic: tuple(sorted(items, key=lambda item: order.index(item.kind)))
        for topic, items in by_topic.items()
    }


def _pool_of(pool: CollectionPool, topics: set[int]) -> CollectionPool:
    """One topic's grades are read without those of all others."""
    return pool.only(next(iter(topics))) if len(topics) == 1 else pool


def _coverage(
    row: Response,
    topic: TopicPool,
    items: tuple[AskedItem, ...],
    graded: Mapping[ItemKind, TopicGrades],
    least: NDArray[np.int8],
) -> Coverage:
    ratings = ratings_of(graded, [item.column for item in items], len(topic.doc_ids))
    texts = [sentence["text"] for sentence in row.sentences]
    passages = response_passages(texts, PassagesOf(row.passages_of))
    doc_ids = dict.fromkeys(one.doc_id for one in passages)
    rows = [topic.row_of[doc_id] for doc_id in doc_ids if doc_id in topic.row_of]
    own = ratings[rows]
    highest = own.max(axis=0, initial=FAILED) if rows else np.full(len(items), MISSING)
    covering_nothing = (own >= 0).any(axis=1) & ~(own >= least).any(axis=1)
    return Coverage(
        items=items,
        ratings=np.asarray(highest, dtype=np.int8),
        min_grades=least,
        missing=int((own == MISSING).sum()) + (len(doc_ids) - len(rows)) * len(items),
        uncovered=tuple(topic.passage_pks[rows[place]] for place in np.flatnonzero(covering_nothing)),
    )
