"""Change several items at once, and save a weight trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import transaction

from grading.types import Importance
from rubricweb.accounts.models import User
from rubricweb.banks import actions
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Topic


@dataclass(frozen=True, slots=True)
class ItemWeight:
    """The state that an item shall have, where `seen` is its version; without `is_on` it is retired."""

    seen: int
    is_on: bool
    weight: float


@dataclass(frozen=True, slots=True)
class ItemBefore:
    """The state of an item before a change of several; `seen` is its version after that change."""

    seen: int
    importance: Importance
    weight: float


@transaction.atomic
def bring_back(items: Iterable[Item], *, before: Mapping[int, ItemBefore], by: User | None) -> int:
    """Undo a change of several items, by pk: all, or none on a Conflict. Return how many changed.

    Items that were retired are restored, and all get the importance and weight that they had.
    """
    changed = 0
    for item in items:
        was, version = before[item.pk], item.version
        seen = was.seen
        if item.is_retired:
            seen = actions.restore_item(item, seen=seen, by=by).version
        actions.weigh_item(item, importance=was.importance, weight=was.weight, seen=seen, by=by)
        changed += item.version != version
    return changed


@transaction.atomic
def retire_items(items: Iterable[Item], *, seen: Mapping[int, int], by: User | None) -> int:
    """Retire the items, where `seen` has their versions by pk: all, or none on a Conflict."""
    return sum(actions.retire_item(item, seen=seen[item.pk], by=by).is_retired for item in items)


@transaction.atomic
def weigh_items(
    items: Iterable[Item], *, importance: Importance, seen: Mapping[int, int], by: User | None
) -> int:
    """Give the items this importance and its weight: all, or none on a Conflict. Return how many changed."""
    changed = 0
    for item in items:
        before = item.version
        actions.weigh_item(item, importance=importance, seen=seen[item.pk], by=by)
        changed += item.version != before
    return changed


@transaction.atomic
def settle_items(bank: Bank, topic: Topic, *, weights: Mapping[int, ItemWeight], by: User | None) -> int:
    """Retire and weigh active items, by pk: all, or none on a Conflict. Return how many changed."""
    changed = 0
    items = bank.items.active().for_topic(topic).select_related("revision", "topic", "bank__collection")
    for item in items.filter(pk__in=weights):
        want, before = weights[item.pk], item.version
        if want.is_on:
            importance = Importance(item.importance)
            actions.weigh_item(item, importance=importance, weight=want.weight, seen=want.seen, by=by)
        else:
            actions.retire_item(item, seen=want.seen, by=by)
        changed += item.version != before
    return changed
