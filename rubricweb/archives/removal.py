"""Delete a collection with everything in it, or a run or a bank on which nothing depends.

On SQLite one transaction with all rows of a large collection would keep everybody else from writing for
seconds. There the collection is hidden in a short transaction, so that it is gone for all readers at once,
and its rows are removed in batches, with pauses in which others write.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import ForeignObjectRel, Max, Min, Model, QuerySet

from rubricweb.accounts.models import User
from rubricweb.archives import tables
from rubricweb.arena.models import Vote
from rubricweb.banks.draft_models import Draft, DraftRequest, ImportanceSuggestion
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
from rubricweb.campaigns.models import Campaign
from rubricweb.core import audit, events
from rubricweb.core.models import AuditEntry, new_stamp
from rubricweb.corpus.derived_models import NearDuplicate
from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Ranking, Response, Run, Topic
from rubricweb.grades import cold
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.models import Grade
from rubricweb.jobs.models import Job, LeasedWork
from rubricweb.leaderboards.models import PublicBoard
from rubricweb.review.models import Flag
from rubricweb.systems import retrieval

COUNTED: dict[type[Model], tuple[str, str]] = {
    Topic: ("topic", "topics"),
    Passage: ("passage", "passages"),
    Run: ("run", "runs"),
    Response: ("generated answer", "generated answers"),
    Judgment: ("judgment", "judgments"),
    Bank: ("rubric", "rubrics"),
    BankVersion: ("version of a rubric", "versions of rubrics"),
    Item: ("question or nugget", "questions and nuggets"),
    Grade: ("grade", "grades"),
    HumanGrade: ("rating by a person", "ratings by people"),
    AnswerVerdict: ("verdict on an answer", "verdicts on answers"),
    Campaign: ("campaign", "campaigns"),
    Vote: ("vote in the arena", "votes in the arena"),
    Flag: ("flag", "flags"),
    PublicBoard: ("public board", "public boards"),
}
"""What people know of a collection, as one and as several."""
TELLS_OTHERS = ("webhooks.Delivery", "leaderboards.BoardWatch")
"""Work that may wait for days for somebody else's server, and ends with the collection."""


AT_ONCE = 20_000
"""Rows that are deleted while somebody waits for the page."""
PORTION = 10_000
"""Keys of a table whose rows one transaction removes of a hidden collection: about a tenth of a second."""
HIDDEN_FIRST = ("accounts.Membership", "accounts.Invitation", "leaderboards.PublicBoard")
"""Models whose rows lead people to a collection."""

PARTS: dict[type[Model], tuple[type[Model], ...]] = {
    Run: (Ranking, Response),
    Bank: (Item, BankTopic, BankVersion, DraftRequest),
    Item: (Item, ItemChange, VersionItem, ImportanceSuggestion, Draft),
    ItemRevision: (Item, ItemChange, VersionItem, AnswerKey),
    Passage: (Pooled, NearDuplicate),
}
"""Model -> the tables whose rows go with it. Rows of other tables that refer to it keep it."""


class CannotDelete(Exception):
    """The collection stays; the text says why."""


def why_not(collection: Collection) -> str:
    """Return why the collection cannot be deleted now; empty if it can."""
    working = [counts for table in tables.owned() if (counts := _at_work(table, collection))]
    return f"Work is under way: {', '.join(working)}. Cancel it, or wait until it ends." if working else ""


def counted(rows: QuerySet[Any]) -> str:
    """Return the number with its noun, such as "2,000 grades"; empty for none."""
    names = rows.model._meta
    number = rows.count()
    singular, many = COUNTED.get(rows.model, (str(names.verbose_name), str(names.verbose_name_plural)))
    return f"{number:,} {singular if number == 1 else many}" if number else ""


def is_large(collection: Collection) -> bool:
    """Return whether a worker had better delete it: it takes seconds."""
    rows = 0
    for table in tables.owned():
        rows += table.rows(collection)[: AT_ONCE + 1].count()
        if rows > AT_ONCE:
            return True
    return False


def going(collection: Collection) -> list[str]:
    """Return what people know of what would be deleted, counted."""
    rows = {table.model: table.rows(collection) for table in tables.owned() if table.model in COUNTED}
    return list(filter(None, (counted(rows[model]) for model in COUNTED)))


@transaction.atomic
def delete_collection(collection: Collection, *, by: User | None) -> dict[str, int]:
    """Delete it, and return how many rows went, by label. Raises CannotDelete while work for it is under way.

    Rows go by one statement a table. The graders stay, which other collections may share, and so do people.
    """
    collection = Collection.objects.select_for_update().get(pk=collection.pk)
    if reason := why_not(collection):
        raise CannotDelete(reason)
    files = [path for _, path in tables.files_of(collection)]
    gone = {table.label: _delete(table, collection) for table in _deepest_first()}
    detail = f"{collection.slug}: {sum(gone.values()):,} rows"
    AuditEntry.objects.create(
        verb="collection deleted", kind="collection", object_id=collection.pk, by=by, detail=detail
    )
    transaction.on_commit(partial(tables.remove, files))
    transaction.on_commit(partial(cold.remove, collection.pk))
    transaction.on_commit(partial(retrieval.remove_index, collection.pk))
    return gone


def hide_collection(collection: Collection, *, by: User | None) -> None:
    """Hide a collection from everybody, and free its slug; `remove_hidden` removes its rows.

    Raises CannotDelete while work for it is under way.
    """
    if reason := why_not(collection):
        raise CannotDelete(reason)
    detail = f"{collection.slug}: by a worker"
    for table in tables.owned():
        if table.label in HIDDEN_FIRST:
            _delete(table, collection)
    Collection.objects.filter(pk=collection.pk).update(is_gone=True, slug=f"deleted-{collection.pk}")
    AuditEntry.objects.create(
        verb="collection deleted", kind="collection", object_id=collection.pk, by=by, detail=detail
    )


def remove_hidden(collection: Collection) -> None:
    """Remove the rows of a hidden collection, some at a time. Done again, it goes on where it ended.

    SQLite does not check foreign keys meanwhile: all rows that hang on others of the collection go as well.
    """
    tables.remove([path for _, path in tables.files_of(collection)])
    cold.remove(collection.pk)
    with connection.constraint_checks_disabled():
        for table in _deepest_first():
            _remove_in_portions(table, collection)


def _remove_in_portions(table: tables.Table, collection: Collection) -> None:
    """Pause after each portion for as long as it took, so that whoever waits to write soon can.

    Portions are looked for among all rows of the table: of the collection's alone, each search would read
    all that are left.
    """
    rows = table.rows(collection)
    ends = rows.aggregate(first=Min("pk"), last=Max("pk"))
    every = table.model._base_manager.order_by("pk").values_list("pk", flat=True)
    last = (ends["first"] or 0) - 1
    while first := every.filter(pk__gt=last, pk__lte=ends["last"] or 0).first():
        last = first + PORTION - 1
        start = time.monotonic()
        rows.filter(pk__gte=first, pk__lte=last)._raw_delete(using="default")
        time.sleep(time.monotonic() - start)


def _at_work(table: tables.Table, collection: Collection) -> str:
    """Return what is queued or running, such as "2 jobs"; empty for nothing. Chunks count as their jobs."""
    model: type[Model] = table.model
    rows = table.rows(collection)
    if issubclass(model, Job):
        rows = rows.exclude(state__in=Job.ENDED)
    elif issubclass(model, LeasedWork) and not hasattr(model, "job") and table.label not in TELLS_OTHERS:
        rows = rows.filter(state__in=LeasedWork.LIVE)
    else:
        return ""
    return counted(rows)


def _deepest_first() -> list[tables.Table]:
    """Return the tables so that rows go before the rows above them, through which they are matched."""
    return sorted(tables.owned(), key=lambda table: -table.path.count("__") - (table.path != "pk"))


def _delete(table: tables.Table, collection: Collection) -> int:
    """Delete the rows; foreign keys are checked when the transaction ends."""
    return int(table.rows(collection)._raw_delete(using="default"))


class CannotRemove(Exception):
    """The object cannot be removed; the text says what depends on it."""


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
        """Return why it cannot be done; empty if it can."""
        if self.objection or not self.stands:
            return self.objection
        return f"Something depends on it: {', '.join(self.stands)}."


def removal_of_run(run: Run) -> Removal:
    """Return what removing the run would do. Grades of passages that only it brought keep it."""
    brought = Passage.objects.filter(pk__in=_brought_by(run))
    stands = [*_standing_on(Run.objects.filter(pk=run.pk)), *_standing_on(brought)]
    objection = "It counts on boards and in pools: withdraw it first." if run.is_accepted else ""
    return Removal(_counts(run.rankings.all(), run.responses.all()), stands, objection)


def removal_of_bank(bank: Bank) -> Removal:
    """Return what removing the bank would do. Grades of wordings that no other bank has keep it."""
    items = Item.objects.filter(bank=bank)
    open_boards = PublicBoard.objects.filter(collection=bank.collection, closed_at=None)
    named = [board.pk for board in open_boards if f"bank={bank.pk}" in board.query.split("&")]
    wordings = ItemRevision.objects.filter(pk__in=_own_wordings(bank))
    stands = [
        line for rows in (Bank.objects.filter(pk=bank.pk), items, wordings) for line in _standing_on(rows)
    ]
    stands += _counts(PublicBoard.objects.filter(pk__in=named))
    return Removal(_counts(items, bank.versions.all()), list(dict.fromkeys(stands)))


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
    """Yield passages of the run's answers that no other run ranks and nobody judged."""
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
    """Return the rows of other tables that refer to these, counted by table."""
    keys, lines = rows.order_by().values("pk"), []
    for relation in rows.model._meta.get_fields(include_hidden=True):
        if isinstance(relation, ForeignObjectRel) and relation.related_model not in PARTS[rows.model]:
            others = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": keys})
            lines += _counts(others)
    return lines


def _counts(*tables: QuerySet[Any]) -> list[str]:
    return list(filter(None, map(counted, tables)))
