"""Who may answer a request for drafts: a lease, as chunks of grades have one."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

import redis
from django.db import transaction
from django.db.models import F, QuerySet

from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.core import events
from rubricweb.jobs import queue
from rubricweb.jobs.leases import expiry, worker_name

logger = logging.getLogger(__name__)

ENTRY_POINT = "rubricweb.banks.drafting.jobs.draft_items"
PREFIX = "drafts-"
QUEUE = "high"
"""Somebody waits for it."""

State = DraftRequest.State
WAITS = {"state": State.QUEUED, "worker": "", "lease_until": None}


@dataclass(frozen=True, slots=True)
class DraftLease:
    """The right of one worker to answer one request, for as long as the request's row says so."""

    request: DraftRequest

    def held(self) -> QuerySet[DraftRequest]:
        """The row if the lease still stands, else nothing."""
        mine = {"state": State.RUNNING, "attempt": self.request.attempt}
        return DraftRequest.objects.filter(pk=self.request.pk, **mine)

    @property
    def words(self) -> str:
        return f"drafts for topic {self.request.topic.query_id}"

    def renew(self) -> bool:
        return bool(self.held().update(lease_until=expiry()))


def claim(request_id: int) -> DraftLease | None:
    """The right to answer it; None where another has it or it has ended."""
    queued = DraftRequest.objects.filter(pk=request_id, state=State.QUEUED)
    taken = {"state": State.RUNNING, "worker": worker_name(), "lease_until": expiry()}
    if not queued.update(**taken, attempt=F("attempt") + 1, tries=F("tries") + 1):
        return None
    request = DraftRequest.objects.select_related("bank__collection", "topic__collection").get(pk=request_id)
    events.publish(request.bank.collection.channel, "items")
    return DraftLease(request)


@transaction.atomic
def give_back(lease: DraftLease, *, queue_name: str = "") -> None:
    """Let another worker try, which counts as no try of this one; without a queue a reaper enqueues it."""
    if lease.held().update(**WAITS, tries=F("tries") - 1) and queue_name:
        enqueue(lease.request, queue_name)


@transaction.atomic
def take_back(lease: DraftLease) -> None:
    """From a worker that died: the next one may try."""
    if lease.held().update(**WAITS):
        enqueue(lease.request)


def enqueue(request: DraftRequest, queue_name: str = QUEUE) -> None:
    """Once the surrounding transaction has committed."""
    transaction.on_commit(partial(enqueue_now, request, queue_name))


def enqueue_now(request: DraftRequest, queue_name: str = QUEUE) -> None:
    """A missing Redis loses nothing: the request waits in the database until a worker's reaper finds it."""
    try:
        job = (f"{PREFIX}{request.pk}-{request.attempt}", (request.pk,))
        queue.enqueue_many_now(ENTRY_POINT, [job], queue_name=queue_name)
    except redis.RedisError as error:
        logger.warning("draft request %s was not enqueued yet: %s", request.pk, error)


def request_of(queue_id: str) -> int:
    """The request of an RQ job, whichever attempt it was made for; 0 where it is no request's."""
    pk, _, _ = queue_id.removeprefix(PREFIX).partition("-")
    return int(pk) if queue_id.startswith(PREFIX) and pk.isdecimal() else 0
