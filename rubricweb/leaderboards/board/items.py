"""The items that a board stands on, with their weights and subtopics, as they are now or as of a version."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from grading.measures.base import Weighed
from grading.types import Importance
from rubricweb.banks.models import Item, ItemRevision
from rubricweb.corpus.pools import CollectionPool
from rubricweb.grades import visibility
from rubricweb.grades.human_matrices import Source
from rubricweb.grades.scoring import Uids, Weights
from rubricweb.grades.selectors import graded_items
from rubricweb.leaderboards.board.types import BoardSpec

Fields = tuple[int, str, str, float, str]
"""Topic, uid, importance, weight, subtopic."""


@dataclass(frozen=True, slots=True)
class TopicItems:
    """The items of one topic or subtopic; one entry an item in each field."""

    uids: Uids = ()
    weights: Weights = ()
    facets: tuple[str, ...] = ()

    @property
    def n_vital(self) -> int:
        return sum(importance is Importance.VITAL for importance, _ in self.weights)

    def subtopics(self) -> dict[str, TopicItems]:
        """Return the items by subtopic in the order of the bank; those of the whole topic are under ""."""
        entries = zip(self.uids, self.weights, self.facets, strict=True)
        by_facet: dict[str, list[tuple[str, Weighed, str]]] = {}
        for entry in entries:
            by_facet.setdefault(entry[2], []).append(entry)
        return {facet: TopicItems(*zip(*rows, strict=True)) for facet, rows in by_facet.items()}


NOTHING = TopicItems()


def topic_items_of(spec: BoardSpec) -> dict[int, TopicItems]:
    """Return the items by topic id; of two with the same wording the first counts."""
    if spec.bank is None:
        one = graded_items(spec.config, None, spec.collection)
        return {topic: TopicItems(uids, ((Importance.VITAL, 1.0),), ("",)) for topic, uids in one.items()}
    by_topic: dict[int, TopicItems] = {}
    for topic_id, rows in groupby(_rows(spec), key=itemgetter(0)):
        first: dict[str, tuple[Weighed, str]] = {}
        for _, uid, importance, weight, facet in rows:
            first.setdefault(uid, ((Importance(importance), weight), facet))
        weighed, facets = zip(*first.values(), strict=True)
        by_topic[topic_id] = TopicItems(tuple(first), weighed, facets)
    return by_topic


def items_stamp(pool: CollectionPool, items: Mapping[int, Uids]) -> str:
    """Return twelve digits that change with the item set, and with nothing else."""
    digest = hashlib.sha256()
    for topic in pool.topics:
        for uid in sorted(items.get(topic.topic_id, ())):
            digest.update(f"{topic.query_id}\n{uid}\n".encode())
    return digest.hexdigest()[:12]


def n_secret(spec: BoardSpec) -> int:
    """Return how many of the board's items are secret."""
    if spec.bank is None:
        return 0
    rows = spec.version.all_entries if spec.version else spec.bank.all_items.active()
    item = "item__" if spec.version else ""
    kinds = [str(kind) for kind in spec.kinds]
    secret = rows.filter(**{f"{item}kind__in": kinds}, revision__is_secret=True)
    if spec.topic_slice:
        secret = secret.filter(**{f"{item}topic__query_id__in": list(spec.topic_slice.query_ids)})
    if spec.topic:
        secret = secret.filter(**{f"{item}topic__query_id": spec.topic})
    if spec.facet:
        secret = secret.filter(**{f"{item}facet_id": spec.facet})
    return secret.order_by().values("revision").distinct().count()


def n_hidden(spec: BoardSpec) -> int:
    """Return how many cells that would count on the board are hidden from the reader."""
    by_topic = visibility.hidden_cells(spec.collection.pk)
    if not any(hidden.people for hidden in by_topic.values()):
        return 0
    items, is_graded = topic_items_of(spec), spec.source is Source.GRADER
    return sum(
        hidden.uids[revision] in items.get(topic, NOTHING).uids
        for topic, hidden in by_topic.items()
        for revision, _ in (hidden.graders if is_graded else hidden.people)
    )


def secret_wordings(topics: Iterable[int]) -> set[tuple[int, str]]:
    """Return (topic, uid) of the wordings that no file may have, whoever makes it."""
    rows = ItemRevision.including_secret.filter(is_secret=True, topic__in=list(topics))
    return set(rows.values_list("topic_id", "uid"))


def _rows(spec: BoardSpec) -> list[Fields]:
    kinds = [str(kind) for kind in spec.kinds]
    if spec.version is None:
        now = Item.including_secret.active().filter(bank=spec.bank, kind__in=kinds)
        fields = ("topic_id", "revision__uid", "importance", "weight", "facet_id")
        return list(now.order_by("topic_id", "position", "pk").values_list(*fields))
    then = spec.version.all_entries.filter(item__kind__in=kinds)
    fields = ("item__topic_id", "revision__uid", "importance", "weight", "item__facet_id")
    return list(then.order_by("item__topic_id", "position", "pk").values_list(*fields))
