"""Remove a run or a bank on which nothing stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import ForeignObjectRel, Model, QuerySet

from rubricweb.accounts.models import User
from rubricweb.archives.removal import counted
from rubricweb.banks.drafting.models import Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import (
    AnswerKey,
    Bank,
    BankTopic,
    BankVersion,
    Item,
    ItemChange,
    ItemRevision,
    VersionItem,
)
from rubricweb.core import audit, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.derived_models import NearDuplicate
from rubricweb.corpus.models import Collection, Passage, Pooled, Ranking, Response, Run
from rubricweb.leaderboards.models import PublicBoard

PARTS: dict[type[Model], tuple[type[Model], ...]] = {
    Run: (Ranking, Response),
    Bank: (Item, BankTopic, BankVersion, DraftRequest),
    Item: (Item, ItemChange, VersionItem, ImportanceSuggestion, Draft),
    ItemRevision: (Item, ItemChange, VersionItem, AnswerKey),
    Passage: (Pooled, NearDuplicate),
}
"""By model: the tables whose rows go with it. Rows of any other table that refer to it stand on it."""


class CannotRemove(Exception):
    """It stays; the text says what stands on it."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What a removal would do."""

    goes: list[str]
    """Counted, such as "3 rankings"."""
    stands: list[str]
    """What stands on it, and so keeps it."""
    objection: str = ""

    @property
    def reason(self) -> str:
        """Why it cannot be done; empty if it can."""
        if self.objection or not self.stands:
            return self.objection
        return f"Something depends on it: {', '.join(self.stands)}."


def removal_of_run(run: Run) -> Removal:
    """Grades and ratings of passages that only this run's answers brought stand on it."""
    brought = Passage.objects.filter(pk__in=_brought_by(run))
    stands = [*_standing_on(Run.objects.filter(pk=run.pk)), *_standing_on(brought)]
    objection = "It counts on boards and in pools: withdraw it first." if run.is_accepted else ""
    return Removal(_words(run.rankings.all(), run.responses.all()), stands, objection)


def removal_of_bank(bank: Bank) -> Removal:
    """Grades and ratings of wordings that no other bank has stand on it."""
    items = Item.objects.filter(bank=bank)
    open_boards = PublicBoard.objects.filter(collection=bank.collection, closed_at=None)
    named = [board.pk for board in open_boards if f"bank={bank.pk}" in board.query.split("&")]
    wordings = ItemRevision.objects.filter(pk__in=_own_wordings(bank))
    stands = [
        line for rows in (Bank.objects.filter(pk=bank.pk), items, wordings) for line in _standing_on(rows)
    ]
    stands += _words(PublicBoard.objects.filter(pk__in=named))
    return Removal(_words(items, bank.versions.all()), list(dict.fromkeys(stands)))


@transaction.atomic
def remove_run(run: Run, *, by: User) -> None:
    """Remove a withdrawn run. Passages stay. Raises CannotRemove."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=run.collection_id)
    if reason := removal_of_run(run).reason:
        raise CannotRemove(reason)
    audit.record("run removed", run, by=by, detail=run.run_tag)
    run.delete()
    collection.stamp = new_stamp()
    collection.save(update_fields=["stamp"])
    events.publish_on_commit(collection.channel, "runs")


@transaction.atomic
def remove_bank(bank: Bank, *, by: User) -> None:
    """Remove a bank with its items, history, and wordings that no other bank has. Raises CannotRemove."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=bank.collection_id)
    if reason := removal_of_bank(bank).reason:
        raise CannotRemove(reason)
    wordings = list(_own_wordings(bank))
    audit.record("bank removed", bank, by=by, detail=bank.name)
    bank.delete()
    ItemRevision.objects.filter(pk__in=wordings).delete()
    events.publish_on_commit(collection.channel, "items")


def _brought_by(run: Run) -> Iterator[int]:
    """Passages of the run's answers that no other run ranks and nobody judged."""
    for topic_id in run.responses.values_list("topic", flat=True):
        own: set[str] = set(*run.rankings.filter(topic=topic_id).values_list("doc_ids", flat=True))
        for doc_ids in (
            Ranking.objects.filter(topic=topic_id).exclude(run=run).values_list("doc_ids", flat=True)
        ):
            own.difference_update(doc_ids)
        pooled = Passage.objects.filter(collection=run.collection, doc_id__in=own, pooled_in__topic=topic_id)
        yield from pooled.values_list("pk", flat=True)


def _own_wordings(bank: Bank) -> QuerySet[ItemRevision, Any]:
    ever = ItemChange.objects.filter(item__bank=bank).values("revision")
    elsewhere = ItemChange.objects.exclude(item__bank=bank).filter(
        revision__topic__collection=bank.collection
    )
    others = Item.objects.exclude(bank=bank).filter(bank__collection=bank.collection)
    rows = ItemRevision.objects.filter(topic__collection=bank.collection)
    own = rows.filter(pk__in=ever) | rows.filter(pk__in=Item.objects.filter(bank=bank).values("revision"))
    shared = [elsewhere.values("revision"), others.values("revision")]
    return own.exclude(pk__in=shared[0]).exclude(pk__in=shared[1]).values_list("pk", flat=True)


def _standing_on(rows: QuerySet[Any]) -> list[str]:
    """Rows of other tables that refer to these, counted by table."""
    keys, lines = rows.order_by().values("pk"), []
    for relation in rows.model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model not in PARTS[rows.model]:
            others = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": keys})
            lines += _words(others)
    return lines


def _words(*tables: QuerySet[Any]) -> list[str]:
    return list(filter(None, map(counted, tables)))
