"""From the database into RQ's queues. A missing Redis loses nothing: a reaper finds what waits."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from functools import partial

import redis
from django.db import transaction

from rubricweb.jobs import queue
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.models import LeasedWork

logger = logging.getLogger(__name__)

ENTRY_POINT = "rubricweb.jobs.worker.work_on"


def rq_id(work: LeasedWork) -> str:
    """Return the id of the RQ job that makes the work's next attempt."""
    return f"{kind_of(work).name_of(work.pk)}-{work.attempts}"


def name_in(rq_id: str) -> str:
    """Return the name of the work that an RQ job attempts, whichever attempt it is: "drafts-12"."""
    return rq_id.rpartition("-")[0]


def queue_of(work: LeasedWork) -> str:
    """Return the queue of the work's priority, or of its back-end where not every worker has that."""
    kind = kind_of(work)
    need = kind.need(work)
    return queue.name_for(kind.priority(work), need.backend if need else "")


def enqueue(works: Iterable[LeasedWork], queue_name: str = "") -> None:
    """Enqueue work once the surrounding transaction has committed."""
    transaction.on_commit(partial(enqueue_now, list(works), queue_name))


def enqueue_now(works: list[LeasedWork], queue_name: str = "") -> None:
    """Enqueue work at once, in `queue_name` or each in its own queue."""
    by_queue: dict[str, list[LeasedWork]] = defaultdict(list)
    for work in works:
        by_queue[queue_name or queue_of(work)].append(work)
    try:
        for name, waiting in by_queue.items():
            queue.enqueue_many_now(ENTRY_POINT, map(_call, waiting), queue_name=name)
    except redis.RedisError as error:
        logger.warning("%d pieces of work were not enqueued yet: %s", len(works), error)


def move(works: Iterable[LeasedWork], before: str, after: str) -> None:
    """Move work from queue to queue, once the surrounding transaction has committed."""
    transaction.on_commit(partial(_move_now, list(works), before, after))


def _move_now(works: list[LeasedWork], before: str, after: str) -> None:
    """Move work at once; work handed over to a more capable worker stays where it is."""
    try:
        queue.move_now(ENTRY_POINT, map(_call, works), before, after)
    except redis.RedisError as error:
        logger.warning("%d pieces of work stay in the queue %s: %s", len(works), before, error)


def _call(work: LeasedWork) -> queue.Call:
    return rq_id(work), (kind_of(work).name, work.pk)
