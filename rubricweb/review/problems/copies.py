"""Near-duplicates in the pools, with their grades side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grading.near_duplicates import Shingler, jaccard
from grading.types import MISSING, Ratings
from rubricweb.banks.models import Bank
from rubricweb.corpus.derived_models import DuplicateSearch
from rubricweb.corpus.duplicates import representative_of
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades import raters, topic_ratings
from rubricweb.grades.matrices import matrices

SHOWN_PASSAGES = 6
"""A group with more shows its first ones."""


@dataclass(frozen=True, eq=False)
class PooledGroup:
    """The near-duplicates of one group in the pool of one topic, two at least."""

    topic: TopicPool
    rows: tuple[int, ...]
    """Rows of the pool, in its order."""
    columns: tuple[topic_ratings.ItemColumn, ...]
    ratings: Ratings
    """Shape (passages, items)."""
    spreads: Ratings
    """The highest rating of each item minus the lowest; MISSING with fewer than two ratings."""

    @property
    def spread(self) -> int:
        """Return the largest difference between grades of an item; MISSING where nothing is compared."""
        return int(self.spreads.max(initial=MISSING))

    @property
    def n_differing(self) -> int:
        return int((self.spreads > 0).sum())


@dataclass(frozen=True, slots=True)
class DuplicateTotals:
    """How a grader treats near-duplicates, over all pools."""

    groups: int
    """Groups in pools: one that is in the pools of two topics counts twice."""
    passages: int
    compared: int
    """Items with two grades or more in a group."""
    differing: int
    """Compared items with different grades."""
    far: int
    """Compared items with grades that are two or more apart."""


@dataclass(frozen=True, slots=True)
class ComparedPassage:
    pk: int
    doc_id: str
    text: str
    judgment: int | None
    similarity: float
    """Jaccard similarity with the first passage of the group."""
    is_representative: bool
    """Whether it stands for the group in a deduplicated file."""


@dataclass(frozen=True, slots=True)
class ComparedItem:
    text: str
    ratings: tuple[int, ...]
    """The rating of each passage; below 0 without one."""
    spread: int


@dataclass(frozen=True, slots=True)
class ShownGroup:
    topic: Topic
    passages: tuple[ComparedPassage, ...]
    items: tuple[ComparedItem, ...]
    n_passages: int
    spread: int
    representative: str
    """The doc id that stands for the group in a deduplicated file; it may be in no pool of the topic."""


def pooled_groups(
    collection: Collection, search: DuplicateSearch, bank: Bank | None, rater: raters.Rater | None
) -> list[PooledGroup]:
    """Return the groups in pools: those whose grades differ most first, then the largest."""
    pool = collection_pool(collection)
    group_of = dict(search.members.values_list("passage_id", "group"))
    by_topic = topic_ratings.item_columns(bank) if bank else {}
    graded = {} if rater is None else _graded(rater, pool, by_topic)
    groups = []
    for topic in pool.topics:
        columns = by_topic.get(topic.topic_id, ())
        nothing = np.full((len(topic.doc_ids), len(columns)), MISSING, dtype=np.int8)
        ratings = graded.get(topic.topic_id, nothing)
        for rows in _rows(topic, group_of):
            own = ratings[list(rows)]
            groups.append(PooledGroup(topic, rows, columns, own, _spreads(own)))
    return sorted(groups, key=lambda group: (-group.spread, -group.n_differing, -len(group.rows)))


def totals(groups: Iterable[PooledGroup]) -> DuplicateTotals:
    listed = list(groups)
    spreads = np.concatenate([group.spreads for group in listed] or [np.zeros(0, dtype=np.int8)])
    return DuplicateTotals(
        groups=len(listed),
        passages=sum(len(group.rows) for group in listed),
        compared=int((spreads >= 0).sum()),
        differing=int((spreads > 0).sum()),
        far=int((spreads > 1).sum()),
    )


def shown_groups(collection: Collection, bank: Bank | None, page: Iterable[PooledGroup]) -> list[ShownGroup]:
    """Return a page of groups with the texts of topics, passages and items; differing items first."""
    groups = list(page)
    topics = collection.topics.in_bulk({group.topic.topic_id for group in groups})
    pks = {group.topic.passage_pks[row] for group in groups for row in group.rows[:SHOWN_PASSAGES]}
    texts = dict(collection.passages.filter(pk__in=pks).values_list("pk", "text"))
    uids = [column.uid for group in groups for column in group.columns]
    items = bank.items.filter(revision__uid__in=uids) if bank else None
    item_texts = dict(items.values_list("revision_id", "revision__text")) if items is not None else {}
    kept = [representative_of(group.topic.passage_pks[group.rows[0]], collection) for group in groups]
    return [
        ShownGroup(
            topic=topics[group.topic.topic_id],
            passages=_passages(group, texts, representative),
            items=_items(group, item_texts),
            n_passages=len(group.rows),
            spread=group.spread,
            representative=representative,
        )
        for group, representative in zip(groups, kept, strict=True)
    ]


def _graded(
    rater: raters.Rater, pool: CollectionPool, columns: Mapping[int, tuple[topic_ratings.ItemColumn, ...]]
) -> dict[int, Ratings]:
    """Return the rater's ratings of the pool and the items of each topic, by topic id."""
    by_config = {config.pk: matrices(config, pool) for config in rater.configs}
    return {
        topic.topic_id: topic_ratings.ratings_of(
            {kind: by_config[config.pk][topic.topic_id] for kind, config in rater.by_kind.items()},
            columns.get(topic.topic_id, ()),
            len(topic.doc_ids),
        )
        for topic in pool.topics
    }


def _rows(topic: TopicPool, group_of: Mapping[int, int]) -> list[tuple[int, ...]]:
    """Return the rows of each group in the topic's pool, where there are two at least."""
    by_group: dict[int, list[int]] = {}
    for row, pk in enumerate(topic.passage_pks):
        if (group := group_of.get(pk)) is not None:
            by_group.setdefault(group, []).append(row)
    return [tuple(rows) for rows in by_group.values() if len(rows) > 1]


def _spreads(ratings: Ratings) -> Ratings:
    """Return by item the highest rating minus the lowest; MISSING with fewer than two."""
    is_rated = ratings >= 0
    highest = np.where(is_rated, ratings, MISSING).max(axis=0, initial=MISSING)
    lowest = np.where(is_rated, ratings, np.iinfo(np.int8).max).min(axis=0, initial=np.iinfo(np.int8).max)
    spreads = highest.astype(np.int16) - lowest
    return np.where(is_rated.sum(axis=0) > 1, spreads, MISSING).astype(np.int8)


def _passages(
    group: PooledGroup, texts: Mapping[int, str], representative: str
) -> tuple[ComparedPassage, ...]:
    shingler, topic = Shingler(), group.topic
    rows = group.rows[:SHOWN_PASSAGES]
    shingles = [shingler.shingles(texts[topic.passage_pks[row]]) for row in rows]
    return tuple(
        ComparedPassage(
            pk=topic.passage_pks[row],
            doc_id=topic.doc_ids[row],
            text=texts[topic.passage_pks[row]],
            judgment=topic.judgments.get(topic.doc_ids[row]),
            similarity=jaccard(shingles[0], own),
            is_representative=topic.doc_ids[row] == representative,
        )
        for row, own in zip(rows, shingles, strict=True)
    )


def _items(group: PooledGroup, texts: Mapping[int, str]) -> tuple[ComparedItem, ...]:
    """Return the items that are graded in the group, those with the largest differences first."""
    rows_of_ratings: Sequence[Sequence[int]] = group.ratings[:SHOWN_PASSAGES].T.tolist()
    rows = [
        ComparedItem(texts.get(column.revision_pk) or column.uid, tuple(ratings), int(spread))
        for column, ratings, spread in zip(group.columns, rows_of_ratings, group.spreads, strict=True)
        if spread > MISSING
    ]
    return tuple(sorted(rows, key=lambda row: -row.spread))
