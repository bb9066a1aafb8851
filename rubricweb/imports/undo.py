"""Undo the last import of a collection: it removes what the import added, where nothing was built on that.

An import remembers, for each kind of rows, the range of keys and the number of rows that it added. It can be
undone if it is the collection's last one, replaced and changed nothing, and all of these rows are there and
no others: no row of any other table may hang on them. So whatever people or workers did with them since, such
as ratings, grades, edits, campaigns, flags or drafts, stays, and the import with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, ForeignObjectRel, Max, Min, Model, Q, QuerySet
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.banks.models import AnswerKey, Bank, BankTopic, Item, ItemChange, ItemRevision
from rubricweb.core import audit, events
from rubricweb.core.models import AuditEntry, new_stamp
from rubricweb.corpus.derived_models import NearDuplicate, PoolSnapshot
from rubricweb.corpus.models import (
    Collection,
    Judgment,
    OfficialScore,
    Passage,
    Pooled,
    Ranking,
    Response,
    Run,
    Subtopic,
    Topic,
)
from rubricweb.grades import store
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.import_ratings import Kinds, registered_kinds
from rubricweb.grades.models import Grade, MatrixSnapshot, MatrixStamp, ReplyBlock
from rubricweb.imports.models import Import
from rubricweb.jobs import leases

logger = logging.getLogger(__name__)

KINDS: dict[str, tuple[type[Model], str]] = {
    "grades": (Grade, "topic__collection"),
    "human_ratings": (HumanGrade, "topic__collection"),
    "answer_keys": (AnswerKey, "revision__topic__collection"),
    "items": (Item, "bank__collection"),
    "banks": (Bank, "collection"),
    "responses": (Response, "run__collection"),
    "rankings": (Ranking, "run__collection"),
    "runs": (Run, "collection"),
    "judgments": (Judgment, "topic__collection"),
    "official_scores": (OfficialScore, "collection"),
    "pooled": (Pooled, "topic__collection"),
    "revisions": (ItemRevision, "topic__collection"),
    "passages": (Passage, "collection"),
    "subtopics": (Subtopic, "topic__collection"),
    "topics": (Topic, "collection"),
}
"""By the kinds that imports count, as rows can be removed in order: the model, and its collection.

`kinds` has those of other rooms too.
"""
OF_TOPICS: tuple[type[Model], ...] = (MatrixStamp, HumanStamp, MatrixSnapshot, PoolSnapshot, ReplyBlock)
"""Derived rows that belong to a topic."""
DERIVED = (*OF_TOPICS, BankTopic, NearDuplicate)
"""Rows that go with what they belong to; nobody makes them."""

Ranges = dict[str, tuple[int, int, int]]
"""By kind: first key, last key, number of rows."""


AT_ONCE = 20_000
"""Rows that are removed while somebody waits for the page."""


def note_progress(lease: leases.Lease[Import], doing: str, *, done: int) -> None:
    """Tell people what the worker is at, outside of the import's transaction. Raises LeaseLost."""
    if not lease.held().update(doing=doing, done=done):
        raise leases.LeaseLost
    events.publish(lease.work.collection.channel, "progress")


class CannotUndo(Exception):
    """The import stays; the text says why."""


def kinds() -> Kinds:
    """Return all kinds that an import counts, those of other rooms first, which refer to the others."""
    return {**registered_kinds(), **KINDS}


def last_keys() -> dict[str, int]:
    """Return the last key of each kind, before an import adds rows."""
    rows = {kind: model._base_manager for kind, (model, _) in kinds().items()}
    return {kind: manager.aggregate(last=Max("pk"))["last"] or 0 for kind, manager in rows.items()}


def added_by(collection: Collection, counts: dict[str, dict[str, int]], before: dict[str, int]) -> Ranges:
    """Return what the import added; empty where it cannot be told from what others added meanwhile."""
    ranges: Ranges = {}
    for kind, counted in counts.items():
        if not counted["new"]:
            continue
        if kind not in kinds():
            return {}
        model, path = kinds()[kind]
        rows = model._base_manager.filter(**{path: collection}, pk__gt=before[kind]).order_by()
        span = rows.aggregate(first=Min("pk"), last=Max("pk"), number=Count("pk"))
        if span["number"] != counted["new"]:
            return {}
        ranges[kind] = span["first"], span["last"], span["number"]
    return ranges


def why_not(batch: Import) -> str:
    """Return why the import cannot be undone; empty if it can."""
    if not batch.is_imported or batch.undone_at:
        return "It has already been undone." if batch.undone_at else "It was not made."
    if _has_later(batch):
        return "There was a later import."
    if changed := [kind for kind, counted in batch.counts.items() if counted["changed"]]:
        return f"It changed {', '.join(map(_label, changed))}, whose earlier state is not kept."
    if not batch.added:
        return "It added nothing, or others added data at the same time."
    return next(_obstacles(batch), "")


def is_large(batch: Import) -> bool:
    """Return whether undoing takes seconds, so that a worker does it."""
    rows: int = sum(number for _, _, number in batch.added.values())
    return rows > AT_ONCE


def undo_import(batch: Import, *, by: User | None, then: Callable[[], object] = lambda: None) -> Import:
    """Remove what the import added. Raises CannotUndo.

    `then` is called within the transaction. SQLite does not check foreign keys meanwhile, as it would look
    through all grades for each passage that goes: `why_not` has found that nothing else refers to the rows.
    """
    with connection.constraint_checks_disabled(), transaction.atomic():
        collection = Collection.objects.select_for_update(no_key=True).get(pk=batch.collection_id)
        batch.refresh_from_db()
        if reason := why_not(batch):
            raise CannotUndo(reason)
        _remove(batch)
        collection.stamp = new_stamp()
        collection.save(update_fields=["stamp"])
        batch.undone_at, batch.undone_by = timezone.now(), by
        batch.save(update_fields=["undone_at", "undone_by"])
        audit.record("import undone", collection, by=by, detail=str(batch))
        for event in ("runs", "items", "grades", "ratings", "flags", "votes"):
            events.publish_on_commit(collection.channel, event)
        then()
    return batch


def undo_by_worker(lease: leases.Lease[Import]) -> None:
    """Undo a large import. Where something was built on it since it was asked for, the import stays."""
    batch, ended_at = lease.work, lease.work.ended_at
    end = partial(leases.finish, lease, doing="", step=Import.Step.WRITE)
    note_progress(lease, "removing what it added", done=0)
    try:
        undo_import(batch, by=batch.undone_by, then=end)
    except CannotUndo as reason:
        with transaction.atomic():
            end(undone_by=None)
            Import.objects.filter(pk=batch.pk).update(ended_at=ended_at)  # what came later is still later
        logger.info("import %s was not undone: %s", batch.pk, reason)


def _remove(batch: Import) -> None:
    """Remove all rows at once: `why_not` has seen that no others hang on them."""
    if "grades" in batch.added:
        first, last, _ = batch.added["grades"]
        store.remove_between(first, last, topics=batch.collection.topics.values_list("pk", flat=True))
    ItemChange.including_secret.filter(item__in=_keys(batch, "items")).delete()
    topics = _keys(batch, "topics")
    BankTopic.objects.filter(Q(bank__in=_keys(batch, "banks")) | Q(topic__in=topics)).delete()
    for derived in OF_TOPICS:
        derived._base_manager.filter(topic__in=topics).delete()
    if "human_ratings" in batch.added:
        HumanStamp.objects.filter(topic__collection=batch.collection_id).update(number=new_stamp())
    for kind in [kind for kind in kinds() if kind in batch.added and kind != "grades"]:
        _rows(batch, kind)._raw_delete(connection.alias)


def _has_later(batch: Import) -> bool:
    """Return whether a later import was made, also by a command, which leaves only an audit entry."""
    made = AuditEntry.objects.filter(verb="collection imported", collection=batch.collection_id)
    later = Import.objects.imported().filter(collection=batch.collection_id, ended_at__gt=batch.ended_at)
    undone = later.filter(undone_at__isnull=False).count()
    return made.filter(at__gt=batch.ended_at).count() > undone


def _obstacles(batch: Import) -> Iterator[str]:
    """Yield what was removed of the import's rows, or hangs on them."""
    for kind, (_, _, number) in batch.added.items():
        if _rows(batch, kind).count() != number:
            yield f"Some of its {_label(kind)} have been removed or replaced."
        for relation in _relations(kinds()[kind][0]):
            others = _hanging(batch, kind, relation)
            if others is not None and (count := others.count()):
                label = relation.related_model._meta.verbose_name_plural
                yield f"Since then: {count:,} {label} that belong to its {_label(kind)}."
    if "answer_keys" in batch.added:
        keys = _rows(batch, "answer_keys").exclude(revision__in=_keys(batch, "revisions"))
        if keys.exists():
            yield "It added accepted answers to questions that were there, which may have changed verdicts."


def _relations(model: type[Model]) -> Iterable[ForeignObjectRel]:
    fields = model._meta.get_fields(include_hidden=True)
    return [f for f in fields if isinstance(f, ForeignObjectRel) and (f.one_to_many or f.one_to_one)]


def _hanging(batch: Import, kind: str, relation: ForeignObjectRel) -> QuerySet[Any] | None:
    """Return rows of another table that refer to the import's and are not its own; None for derived ones.

    What refers to the import's rows belongs to its collection, so the keys tell whether it is the import's.
    """
    model = relation.related_model
    if model in DERIVED:
        return None
    others = model._base_manager.filter(**{f"{relation.field.name}__in": _keys(batch, kind)})
    if model is ItemChange:
        return others.exclude(verb=ItemChange.Verb.IMPORTED)
    for own, (of_kind, _) in kinds().items():
        if of_kind is model and own in batch.added:
            first, last, _ = batch.added[own]
            others = others.exclude(pk__gte=first, pk__lte=last)
    return others


def _rows(batch: Import, kind: str) -> QuerySet[Any]:
    model, path = kinds()[kind]
    first, last, _ = batch.added.get(kind, (0, -1, 0))
    return model._base_manager.filter(**{path: batch.collection_id}, pk__gte=first, pk__lte=last)


def _keys(batch: Import, kind: str) -> QuerySet[Any]:
    return _rows(batch, kind).order_by().values("pk")


def _label(kind: str) -> str:
    return kind.replace("_", " ")
