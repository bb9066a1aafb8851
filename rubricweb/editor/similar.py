"""Items that share words with a text: one may be there already, or be reworded instead."""

from __future__ import annotations

from dataclasses import dataclass

from grading.generation import nearest
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Topic

LEAST_SIMILAR = 0.25
"""Texts below this cosine of their rare words share little."""
MOST_SIMILAR = 3
"""Shown while somebody writes."""


@dataclass(frozen=True, slots=True)
class NearItem:
    """An item and the cosine of its rare words with those of a text, 0 to 1."""

    item: Item
    score: float


def items_by_closeness(bank: Bank, topic: Topic, text: str) -> list[NearItem]:
    """Return the topic's active items that have text, most alike first."""
    active = bank.items.active().for_topic(topic).exclude(revision__text="")
    items = list(active.select_related("revision", "topic", "bank__collection"))
    scores = {hit.place: hit.score for hit in nearest(text, [str(item) for item in items], most=len(items))}
    near = [NearItem(item, scores.get(place, 0.0)) for place, item in enumerate(items)]
    return sorted(near, key=lambda one: -one.score)


def similar_items(bank: Bank, topic: Topic, text: str, *, but: Item | None = None) -> list[NearItem]:
    """Return the items that say nearly the same as `text`; `but` is the item that it rewords."""
    near = [one for one in items_by_closeness(bank, topic, text) if one.item != but]
    return [one for one in near if one.score >= LEAST_SIMILAR][:MOST_SIMILAR]
