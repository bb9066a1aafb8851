"""What the bank editor lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from rubricweb.banks.models import AnswerKey, Bank, Item, ItemChange
from rubricweb.banks.secrecy import compiled_readable, sees_secrets
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Topic

KIND_ORDER = [str(kind) for kind in Item.Kind.values]


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item in the list."""

    item: Item
    place: int = 0
    """Among the items of its kind and subtopic, from 0."""
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """Items of one kind and subtopic, in their order."""

    kind: str
    subtopic: str
    rows: tuple[ItemRow, ...]

    @property
    def heading(self) -> str:
        return f"{self.kind.capitalize()}s"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The topics before and after one, and its position."""

    number: int
    count: int
    before: int | None
    after: int | None


def topic_items(bank: Bank, topic: Topic) -> list[Item]:
    """Return active and retired items in the bank's order, with their texts."""
    items = _topic_items(bank.collection_id, bank.pk, topic.pk)
    for item in items:
        item.bank = bank
    return items


@compiled_readable
def _topic_items(bank: int, topic: int) -> QuerySet[Item]:
    items = Item.including_secret.filter(bank=bank, topic=topic)
    return items.select_related("revision", "merged_into__revision")


def key_counts(topic: Topic) -> dict[int, int]:
    """Return the number of accepted answers by wording, of the topic's wordings that have some."""
    return dict(_key_counts(topic.collection_id, topic.pk))


@compiled_readable
def _key_counts(topic: int) -> QuerySet[AnswerKey, Any]:
    keys: QuerySet[AnswerKey] = AnswerKey.including_secret.filter(revision__topic=topic)
    return keys.order_by().values_list("revision").annotate(Count("pk"))


def item_groups(items: list[Item], topic: Topic) -> list[ItemGroup]:
    """Group the active items by subtopic and kind; those of the whole topic first."""
    names = {"": "", **{facet.facet_id: str(facet) for facet in topic.subtopics.all()}}
    active = [item for item in items if not item.is_retired]
    facets = [*names, *dict.fromkeys(item.facet_id for item in active if item.facet_id not in names)]
    groups = []
    for facet in facets:
        for kind in KIND_ORDER:
            fellows = [item for item in active if item.facet_id == facet and item.kind == kind]
            if fellows:
                groups.append(ItemGroup(kind, names.get(facet, facet), item_rows(fellows)))
    return groups


def item_rows(fellows: list[Item]) -> tuple[ItemRow, ...]:
    last = len(fellows) - 1
    return tuple(ItemRow(item, place, place == last) for place, item in enumerate(fellows))


def item_row(item: Item) -> ItemRow:
    """Return one item with its place in its group."""
    fellows = list(item.bank.items.fellows_of(item).values_list("pk", flat=True))
    place = fellows.index(item.pk) if item.pk in fellows else 0
    return ItemRow(item, place, place >= len(fellows) - 1)


def history(item: Item) -> QuerySet[ItemChange]:
    """Return the item's changes, newest first, with person, wording and source passage."""
    return item.changes.select_related("revision", "by", "source__passage")


def last_change(item: Item) -> ItemChange | None:
    return history(item).first()


def banks_with_texts(banks: list[Bank]) -> set[Bank]:
    """Return the banks with an item that people can rate: one whose text is known."""
    rows = set(_worded(tuple(bank.pk for bank in banks)))
    pks = {bank for bank, is_secret in rows if not is_secret}
    if others := {bank for bank, _ in rows} - pks:  # all their texts are secret, maybe from the reader
        items = Item.objects.active().filter(bank__in=others).exclude(revision__text="")
        pks.update(items.order_by().values_list("bank", flat=True).distinct())
    return {bank for bank in banks if bank.pk in pks}


@compiled_once
def _worded(banks: tuple[int, ...]) -> QuerySet[Item, tuple[int, bool]]:
    """Return the banks with an item whose text is known, and whether it is secret."""
    items: QuerySet[Item] = Item.including_secret.active().filter(bank__in=banks).exclude(revision__text="")
    return items.order_by().values_list("bank", "revision__is_secret").distinct()


def worded_siblings(bank: Bank) -> list[Bank]:
    """Return the collection's other banks with an item that people can rate, in the order of their names."""
    others = [other for other in _banks_of(bank.collection_id) if other != bank]
    worded = banks_with_texts(others)
    return [other for other in others if other in worded]


@compiled_once
def _banks_of(collection: int) -> QuerySet[Bank]:
    return Bank.objects.filter(collection=collection).order_by("name")


@compiled_once
def banks_for(collection_pk: int, topic_pk: int) -> QuerySet[Bank]:
    """Return the collection's banks, each with its number of active items for the topic (`n_items`)."""
    active = Item.including_secret.active().filter(bank=OuterRef("pk"), topic=topic_pk).order_by()
    counted = active.values("bank").annotate(n=Count("pk")).values("n")
    n_items = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    return Bank.objects.filter(collection=collection_pk).annotate(n_items=n_items).order_by("name")


def neighbours(topic: Topic) -> Neighbours:
    """Return the previous and next topic in the collection's order."""
    order = _topic_keys(topic.collection_id)
    at = order.index(topic.pk)
    before = order[at - 1] if at else None
    after = order[at + 1] if at + 1 < len(order) else None
    return Neighbours(at + 1, len(order), before, after)


@compiled_once
def _topic_keys(collection_pk: int) -> QuerySet[Topic, int]:
    return Topic.objects.filter(collection=collection_pk).values_list("pk", flat=True)


def keys_of(revision_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the accepted answers by wording, of those wordings that have some."""
    keys: dict[int, tuple[str, ...]] = {}
    for revision, text, is_secret, collection in _keys_of(tuple(set(revision_ids))):
        if not is_secret or sees_secrets(collection):
            keys[revision] = (*keys.get(revision, ()), text)
    return keys


@compiled_once
def _keys_of(revisions: tuple[int, ...]) -> QuerySet[AnswerKey, tuple[int, str, bool, int]]:
    rows = AnswerKey.including_secret.filter(revision__in=revisions).order_by("pk")
    fields = ("revision_id", "text", "revision__is_secret", "revision__topic__collection_id")
    keys: QuerySet[AnswerKey, tuple[int, str, bool, int]] = rows.values_list(*fields)
    return keys
