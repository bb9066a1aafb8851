"""Gives out again what a dead worker or a restarted Redis lost. Any number of reapers may run at once."""

from __future__ import annotations

import logging

from django.db.models import Q
from django.db.models.functions import Now

from rubricweb.banks.drafting import actions, leases
from rubricweb.banks.drafting.leases import DraftLease
from rubricweb.banks.drafting.models import DraftRequest
from rubricweb.jobs import queue
from rubricweb.jobs.leases import ENQUEUED_WITHIN, MAX_ATTEMPTS

logger = logging.getLogger(__name__)

State = DraftRequest.State


def reap() -> int:
    """How many requests were given out again or given up. Raises redis.RedisError when the queue is away."""
    return _take_from_the_dead() + _enqueue_lost(queue.waiting_ids())


def _take_from_the_dead() -> int:
    """Requests whose worker was not heard of for a whole lease."""
    expired = DraftRequest.objects.filter(Q(lease_until__lt=Now()) | Q(lease_until=None), state=State.RUNNING)
    dead = [DraftLease(request) for request in expired.select_related("bank__collection", "topic")]
    for lease in dead:
        worker = lease.request.worker
        logger.warning("worker %s died with draft request %s", worker, lease.request.pk)
        if lease.request.tries < MAX_ATTEMPTS:
            leases.take_back(lease)
        else:
            actions.fail_request(lease, error=f"The worker {worker} died while it asked the model.", reply="")
    return len(dead)


def _enqueue_lost(waiting: set[str]) -> int:
    """Requests that wait in the database and not in Redis. One that is enqueued twice is still asked once."""
    found = {leases.request_of(name) for name in waiting}
    old = DraftRequest.objects.filter(state=State.QUEUED, asked_at__lt=Now() - ENQUEUED_WITHIN)
    lost = list(old.exclude(pk__in=found))
    for request in lost:
        leases.enqueue_now(request)
        logger.warning("enqueued draft request %s, which the queue had lost", request.pk)
    return len(lost)
