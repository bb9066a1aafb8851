"""Watch the boards that webhooks are told of: the job that computes one, and what queues it."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from rubricweb.banks.models import Bank, Item
from rubricweb.grades.human_models import HumanStamp
from rubricweb.grades.models import MatrixStamp
from rubricweb.jobs import leases, queue
from rubricweb.jobs.kinds import Kind
from rubricweb.leaderboards.board import Board
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.leaderboards.models import BoardWatch
from rubricweb.webhooks import actions as webhooks
from rubricweb.webhooks.models import EventType

AT_MOST_EVERY = dt.timedelta(minutes=1)
LOOK_SECONDS = 15.0
DECIMALS = 6
"""The decimals of scores that are compared."""
Standing = dict[str, list[Any]]  # a rank and a score, or None where the run has none
_looked_at = [-LOOK_SECONDS]
"""By the monotonic clock of this process; one value, which `look` replaces."""


class BoardWatches(Kind[BoardWatch]):
    name = "board-watch"
    collection = "bank.collection_id"
    model = BoardWatch
    related = ("bank__collection",)
    is_retried = True

    def run(self, lease: leases.Lease[BoardWatch]) -> None:
        """Compute the board, and tell if a run has another rank or score."""
        watch = lease.work
        stamp = stamp_of(watch.bank)
        # The board that the bank's page shows by default, if there are grades of it.
        form = BoardForm(QueryDict(f"bank={watch.bank_id}"), collection=watch.bank.collection)
        current = board(form.spec) if form.graders and form.is_valid() else None
        now: Standing = {
            str(row.run_id): [row.rank, None if row.score is None else round(row.score, DECIMALS)]
            for row in (current.rows if current else ())
        }
        values: dict[str, object] = {"stamp": stamp, "standing": now}
        with transaction.atomic():
            if current and watch.standing is not None and watch.standing != now:
                _tell(watch, current, now)
                values["moved_at"] = timezone.now()
            leases.finish(lease, **values)

    def label(self, work: BoardWatch) -> str:
        return str(work)


def look() -> None:
    """Queue boards that may have moved; workers call this often, and it looks every few seconds."""
    if time.monotonic() - _looked_at[0] >= LOOK_SECONDS:
        _looked_at[0] = time.monotonic()
        queue_changed()


@transaction.atomic
def queue_changed() -> int:
    """Queue each watched board that something has changed for, and return how many these are."""
    changed = [watch for watch in _watches() if watch.stamp != stamp_of(watch.bank)]
    return sum(_queue(watch) for watch in changed)


def _watches() -> Iterator[BoardWatch]:
    """Yield the watches of collections with a webhook that asks for them, when their next message is due."""
    banks = Bank.objects.filter(collection__in=[*webhooks.listened_to(EventType.BOARD_MOVED)])
    watches = {watch.bank_id: watch for watch in BoardWatch.objects.filter(bank__in=banks)}
    lately = timezone.now() - AT_MOST_EVERY
    for bank in banks.select_related("collection"):
        watch = watches.get(bank.pk) or BoardWatch(bank=bank, state=BoardWatch.State.DONE)
        watch.bank = bank
        if not watch.is_live and (watch.moved_at is None or watch.moved_at <= lately):
            yield watch


def _queue(watch: BoardWatch) -> bool:
    if watch.pk is None:
        watch, _ = BoardWatch.objects.get_or_create(bank=watch.bank, defaults={"state": watch.state})
    rows: QuerySet[BoardWatch] = BoardWatch.objects.filter(pk=watch.pk).exclude(state__in=BoardWatch.LIVE)
    if not rows.update(state=BoardWatch.State.QUEUED, attempts=0, queued_at=timezone.now()):
        return False
    watch.refresh_from_db()
    queue.enqueue([watch])
    return True


def stamp_of(bank: Bank) -> str:
    """Return what changes whenever the bank's board may: stamps of pools, grades and ratings, and items."""
    collection = bank.collection
    of_topics = {"topic__collection": collection}
    items = Item.including_secret.active().filter(bank=bank).order_by("pk")
    parts = (
        [(collection.stamp, collection.default_grader, collection.min_relevant)],
        MatrixStamp.objects.filter(**of_topics).order_by("pk").values_list("pk", "number"),
        HumanStamp.objects.filter(**of_topics).order_by("pk").values_list("pk", "number"),
        items.values_list("pk", "revision", "importance", "weight", "facet_id"),
    )
    digest = hashlib.sha256()
    for rows in parts:
        digest.update(repr(list(rows)).encode())
    return digest.hexdigest()


def _tell(watch: BoardWatch, current: Board, now: Standing) -> None:
    """Write counts of what moved to the outbox; whoever may read the board sees the rest there."""
    before, collection = watch.standing, watch.bank.collection
    moved = [run for run in {**before, **now} if before.get(run, [0])[0] != now.get(run, [0])[0]]
    changed = [run for run in {**before, **now} if before.get(run) != now.get(run)]
    query = f"?bank={watch.bank_id}"
    details = {
        "bank": {"id": watch.bank_id, "name": watch.bank.name},
        "grader": current.spec.config.fingerprint,
        "measure": current.spec.measure.name,
        "runs": {"all": len(now), "moved": len(moved), "rescored": len(changed)},
        "page": reverse("leaderboards:board", args=[collection.slug]) + query,
        "api": webhooks.api_address("leaderboard", collection.slug) + query,
    }
    webhooks.write(collection, EventType.BOARD_MOVED, details)
