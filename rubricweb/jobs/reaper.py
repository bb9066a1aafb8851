"""Gives out again what a dead worker or a restarted Redis lost. Any number of reapers may run at once."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs import dispatch, endings, kinds, leases, queue
from rubricweb.jobs.kinds import Kind, W
from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)

ENQUEUED_WITHIN = timedelta(seconds=5)
"""Seconds after which what is in no queue was lost."""


def reap() -> int:
    """How much was given out again or given up. Raises redis.RedisError when the queue is away."""
    taken = sum(_take(lease) for kind in kinds.known() for lease in leases.expired(kind))
    waiting = queue.waiting_ids()
    return taken + sum(_enqueue_lost(kind, waiting) for kind in kinds.known())


def due(waiting: QuerySet[W]) -> QuerySet[W]:
    """Without what may still be on its way to a queue; with what a clock that is ahead dated."""
    is_old = Q(queued_at__lt=Now() - ENQUEUED_WITHIN)
    return waiting.filter(is_old | Q(queued_at__gt=Now() + ENQUEUED_WITHIN))


def _take(lease: Lease[Any]) -> bool:
    """From a worker that is gone."""
    worker, words = lease.work.worker, lease.words
    is_taken = endings.retry(lease, error=f"The worker {worker} died while it worked on {words}.")
    if is_taken:
        logger.warning("worker %s died with %s", worker, dispatch.rq_id(lease.work))
    return is_taken


def _enqueue_lost(kind: Kind[Any], waiting: set[str]) -> int:
    """What waits in the database and not in Redis. What is enqueued twice is still done once."""
    present = set(map(dispatch.name_in, waiting))
    old = due(kind.waiting())
    lost = [pk for pk in old.values_list("pk", flat=True) if kind.name_of(pk) not in present]
    if lost:
        dispatch.enqueue_now(list(old.filter(pk__in=lost)))
        level = logging.INFO if kind.is_timed else logging.WARNING
        logger.log(level, "enqueued %d pieces of work that no queue had: %s", len(lost), kind.name)
    return len(lost)
