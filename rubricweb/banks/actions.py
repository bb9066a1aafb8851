"""Every change to a bank: transaction, history, audit entry and event together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from grading.types import Importance, ItemKind, item_id, md5_of_id, text_md5
from rubricweb.accounts.models import User
from rubricweb.banks import changes
from rubricweb.banks.changes import (
    DuplicateItem,
    EmptyWording,
    NoAnswerKey,
    OrderChanged,
    UnfitAnswerKey,
    UnfitMerge,
    UnfitSpan,
    UnfitWeight,
    WrongText,
    duplicate_detail,
    record_change,
    write_change,
)
from rubricweb.banks.models import (
    LEAST_WEIGHT,
    MAIN,
    MOST_WEIGHT,
    AnswerKey,
    Bank,
    Item,
    ItemChange,
    ItemRevision,
    ItemSource,
)
from rubricweb.core import audit, events
from rubricweb.corpus.models import Collection, Passage, Topic

MOST_SPANS = 10
SPAN_CHARS = 2_000
Verb = ItemChange.Verb
MOVED = "item moved"
"""In the audit trail: a place in the list is no part of an item's version."""
MOST_KEYS = 20
KEY_CHARS = 300
"""The most accepted answers of a wording, and characters of each."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A passage and spans of it, as they stand there up to white space."""

    passage: Passage
    spans: tuple[str, ...]


def quoted(passage: Passage, lines: Iterable[str]) -> Origin:
    """Return the spans among `lines`, each once. Raises UnfitSpan for one that is not in the passage."""
    spans = tuple(dict.fromkeys(marked for line in lines if (marked := " ".join(line.split()))))
    if len(spans) > MOST_SPANS:
        raise UnfitSpan(f"Keep it to {MOST_SPANS} spans; these are {len(spans)}.")
    text = " ".join(passage.text.split())
    for span in spans:
        if len(span) > SPAN_CHARS:
            raise UnfitSpan(f"Keep each span under {SPAN_CHARS:,} characters: \u201c{span[:60]}…\u201d.")
        if span not in text:
            raise UnfitSpan(f"This span is not in the passage: \u201c{span[:60]}\u201d.")
    return Origin(passage, spans)


@transaction.atomic
def begin_bank(collection: Collection, *, by: User | None) -> Bank:
    """Create the bank `main` without items, or return it if somebody has."""
    bank: Bank
    bank, is_new = collection.banks.get_or_create(name=MAIN)
    if is_new:
        audit.record("bank begun", bank, by=by)
        events.publish_on_commit(collection.channel, "items")
    return bank


def wording(topic: Topic, text: str, *, facet_id: str = "") -> ItemRevision:
    """Return the revision with this text; an earlier one, with its grades, if the topic had it before."""
    text = text.strip()
    if not text:
        raise EmptyWording("Write the question or nugget first.")
    uid = item_id(topic.query_id, text, facet_id)
    revision: ItemRevision
    revision, is_new = ItemRevision.including_secret.get_or_create(
        topic=topic, uid=uid, defaults={"text": text}
    )
    if not is_new and not revision.text:
        ItemRevision.including_secret.filter(pk=revision.pk).update(text=text)
        revision.text = text
    return revision


@transaction.atomic
def add_item(
    bank: Bank,
    topic: Topic,
    *,
    kind: ItemKind,
    text: str,
    by: User | None,
    facet_id: str = "",
    origin: Origin | None = None,
) -> Item:
    """Add an item to the topic; `origin` is the passage that its text comes from."""
    revision = wording(topic, text, facet_id=facet_id)
    last = bank.all_items.for_topic(topic).aggregate(last=Max("position"))["last"]
    with _refusing_twin(bank, revision, kind):
        item = bank.items.create(
            topic=topic,
            kind=kind,
            facet_id=facet_id,
            revision=revision,
            position=0 if last is None else last + 1,
        )
    _from_passage(record_change(item, Verb.ADDED, by), origin)
    return item


@transaction.atomic
def revise_item(item: Item, *, text: str, seen: int, by: User | None, origin: Origin | None = None) -> Item:
    """Reword `item`, where `seen` is its version; old grades stay with the old wording."""
    return reuse_wording(
        item, wording(item.topic, text, facet_id=item.facet_id), seen=seen, by=by, origin=origin
    )


@transaction.atomic
def reuse_wording(
    item: Item, revision: ItemRevision, *, seen: int, by: User | None, origin: Origin | None = None
) -> Item:
    """Give `item` an existing wording of its topic, possibly one without text."""
    if revision.pk != item.revision_id:
        was_secret = item.is_secret
        with _refusing_twin(item.bank, revision, item.kind):
            _from_passage(write_change(item, seen, Verb.REWORDED, by, revision=revision), origin)
        if was_secret or revision.is_secret:
            changes.spread(item, by=by)
    return item


@transaction.atomic
def retire_item(item: Item, *, seen: int, by: User | None) -> Item:
    """Retire `item`; its history and grades stay."""
    if not item.is_retired:
        write_change(item, seen, Verb.RETIRED, by, retired_at=timezone.now())
    return item


@transaction.atomic
def restore_item(item: Item, *, seen: int, by: User | None) -> Item:
    """Restore a retired item with its wording and grades."""
    if item.is_retired:
        with _refusing_twin(item.bank, item.revision, item.kind):
            write_change(item, seen, Verb.RESTORED, by, retired_at=None, merged_into=None)
    return item


@transaction.atomic
def merge_items(keep: Item, duplicate: Item, *, seen: int, by: User | None) -> Item:
    """Retire `duplicate`, where `seen` is its version, noting that `keep` stands for it.

    Restoring it undoes the merge.
    """
    keep = Item.including_secret.select_for_update(of=("self",)).select_related("revision").get(pk=keep.pk)
    if keep.pk == duplicate.pk:
        raise UnfitMerge("Choose two different items.")
    if (keep.bank_id, keep.topic_id, keep.kind) != (duplicate.bank_id, duplicate.topic_id, duplicate.kind):
        raise UnfitMerge("Only two questions, or two nuggets, of the same topic can be merged.")
    if keep.is_retired or duplicate.is_retired:
        raise UnfitMerge("One of the two is already retired.")
    detail = duplicate_detail(str(keep))
    write_change(
        duplicate, seen, Verb.RETIRED, by, detail=detail, retired_at=timezone.now(), merged_into=keep
    )
    if keep.is_secret:
        changes.spread(keep, by=by)
    return duplicate


@transaction.atomic
def weigh_item(
    item: Item, *, importance: Importance, seen: int, by: User | None, weight: float | None = None
) -> Item:
    """Set the item's importance and weight; the default weight is that of the importance."""
    weight = importance.weight if weight is None else weight
    if not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
        raise UnfitWeight(f"A weight lies between {LEAST_WEIGHT} and {MOST_WEIGHT}; this is {weight:g}.")
    if (item.importance, item.weight) != (importance, weight):
        detail = f"{importance}, weight {weight:g}"
        write_change(item, seen, Verb.WEIGHED, by, detail=detail, importance=importance, weight=weight)
    return item


@transaction.atomic
def supply_text(item: Item, *, text: str, by: User | None) -> ItemRevision:
    """Supply the text of an item that was imported by its id; the id is a digest that the text must match."""
    text, revision = text.strip(), item.revision
    if not text:
        raise EmptyWording("Enter the text of this id first.")
    if md5_of_id(revision.uid) != text_md5(text):
        raise WrongText(revision.uid)
    if ItemRevision.including_secret.filter(pk=revision.pk, text="").update(text=text):
        revision.text = text
        audit.record("text supplied", revision, by=by)
        events.publish_on_commit(item.bank.collection.channel, "items")
    return revision


@transaction.atomic
def set_answer_keys(item: Item, *, texts: Iterable[str], seen: int, by: User | None) -> Item:
    """Make these answers the accepted ones for the wording of `item`, where `seen` is its version.

    Keys belong to the wording: every item with the same wording changes. People's changes go through
    `grades.verification.change_answer_key`, which verifies stored answers again.
    """
    accepted = accepted_answers(texts)
    if item.kind != ItemKind.QUESTION or not item.revision.text:
        raise NoAnswerKey("Only a question with text can have an answer key.")
    ItemRevision.including_secret.select_for_update().get(
        pk=item.revision_id
    )  # a worker's verdicts wait, or we for it
    keys = item.revision.answer_keys
    present = set(keys.values_list("text", flat=True))
    if present == set(accepted):
        return item
    write_change(item, seen, Verb.KEYED, by)
    keys.exclude(text__in=accepted).delete()
    fresh = [text for text in accepted if text not in present]
    AnswerKey.objects.bulk_create(AnswerKey(revision=item.revision, text=text, by=by) for text in fresh)
    for twin in Item.including_secret.filter(revision=item.revision_id, kind=item.kind).exclude(pk=item.pk):
        write_change(twin, twin.version, Verb.KEYED, by)
    return item


def accepted_answers(texts: Iterable[str]) -> list[str]:
    """Drop empty and repeated answers. Raises UnfitAnswerKey for too many, or one that is too long."""
    answers = list(dict.fromkeys(answer for text in texts if (answer := " ".join(text.split()))))
    if len(answers) > MOST_KEYS:
        raise UnfitAnswerKey(f"Keep it to {MOST_KEYS} answers; these are {len(answers)}.")
    for text in answers:
        if len(text) > KEY_CHARS:
            raise UnfitAnswerKey(f"Keep each answer under {KEY_CHARS} characters: \u201c{text[:60]}…\u201d.")
    return answers


@transaction.atomic
def move_item(item: Item, *, place: int, by: User | None, seen: list[int] | None = None) -> list[int]:
    """Move `item` to `place` (from 0) among the active items of its kind and subtopic; return their order.

    `seen` is their order as the writer saw it. Raises OrderChanged if it is another by now.
    """
    fellows = list(item.bank.items.fellows_of(item).values_list("pk", flat=True))
    if seen and seen != fellows:
        raise OrderChanged
    if item.pk not in fellows:
        return fellows
    new = [pk for pk in fellows if pk != item.pk]
    new.insert(max(0, place), item.pk)
    if new != fellows:
        following = iter(new)
        everything = item.bank.all_items.for_topic(item.topic).values_list("pk", flat=True)
        order = [next(following) if pk in new else pk for pk in everything]
        _put_in_order(item.bank, item.topic, order)
        audit.record(MOVED, item, by=by, detail=f"place {new.index(item.pk) + 1} of {len(new)}")
    return new


@transaction.atomic
def reorder_items(bank: Bank, topic: Topic, *, order: list[int], by: User | None) -> None:
    """Put the topic's items into this order of ids; items not named keep their order after them."""
    _put_in_order(bank, topic, order)
    audit.record("items reordered", bank, by=by, detail=topic.query_id)


def _put_in_order(bank: Bank, topic: Topic, order: list[int]) -> None:
    items = {item.pk: item for item in bank.all_items.for_topic(topic).select_for_update()}
    named = [items[pk] for pk in dict.fromkeys(order) if pk in items]
    rest = [item for item in items.values() if item not in named]
    for position, item in enumerate(named + rest):
        item.position = position
    Item.including_secret.bulk_update(items.values(), ["position"])
    events.publish_on_commit(bank.collection.channel, "items")


@contextmanager
def _refusing_twin(bank: Bank, revision: ItemRevision, kind: str) -> Iterator[None]:
    """Raise DuplicateItem for a second active item with this wording, also when two people add it at once."""
    _refuse_twin(bank, revision, kind)
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        _refuse_twin(bank, revision, kind)
        raise


def _refuse_twin(bank: Bank, revision: ItemRevision, kind: str) -> None:
    twin = bank.all_items.active().filter(revision=revision, kind=kind).first()
    if twin is not None:
        raise DuplicateItem(twin)


def _from_passage(change: ItemChange, origin: Origin | None) -> None:
    if origin is not None:
        ItemSource.objects.create(change=change, passage=origin.passage, spans=list(origin.spans))


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
    """Undo a change of several items, by pk: all, or none on an EditConflict. Return how many changed.

    Items that were retired are restored, and all get the importance and weight that they had.
    """
    changed = 0
    for item in items:
        was, version = before[item.pk], item.version
        seen = was.seen
        if item.is_retired:
            seen = restore_item(item, seen=seen, by=by).version
        weigh_item(item, importance=was.importance, weight=was.weight, seen=seen, by=by)
        changed += item.version != version
    return changed


@transaction.atomic
def retire_items(items: Iterable[Item], *, seen: Mapping[int, int], by: User | None) -> int:
    """Retire the items, where `seen` has their versions by pk: all, or none on an EditConflict."""
    return sum(retire_item(item, seen=seen[item.pk], by=by).is_retired for item in items)


@transaction.atomic
def weigh_items(
    items: Iterable[Item], *, importance: Importance, seen: Mapping[int, int], by: User | None
) -> int:
    """Give the items this importance and its weight: all, or none on an EditConflict. Return how many."""
    changed = 0
    for item in items:
        before = item.version
        weigh_item(item, importance=importance, seen=seen[item.pk], by=by)
        changed += item.version != before
    return changed


@transaction.atomic
def settle_items(bank: Bank, topic: Topic, *, weights: Mapping[int, ItemWeight], by: User | None) -> int:
    """Retire and weigh active items, by pk: all, or none on an EditConflict. Return how many changed."""
    changed = 0
    items = bank.items.active().for_topic(topic).select_related("revision", "topic", "bank__collection")
    for item in items.filter(pk__in=weights):
        want, before = weights[item.pk], item.version
        if want.is_on:
            importance = Importance(item.importance)
            weigh_item(item, importance=importance, weight=want.weight, seen=want.seen, by=by)
        else:
            retire_item(item, seen=want.seen, by=by)
        changed += item.version != before
    return changed
