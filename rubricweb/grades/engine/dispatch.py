"""From the database to Redis: chunks into the queue, and news of a job to the browsers."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from functools import partial

import redis
from django.db import transaction

from rubricweb.core import events
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import queue

logger = logging.getLogger(__name__)

PREFIX = "chunk-"
ENTRY_POINT = "rubricweb.grades.jobs.grade_chunk"
NEWS_EVERY_SECONDS = 0.5
_announced: dict[int, float] = {}
"""By job: when this process last had news of it; Redis decides between processes."""

ChunkAttempt = tuple[int, int]
"""(chunk pk, its attempts so far)."""


def queue_id(chunk_id: int, attempts: int) -> str:
    """The id of the RQ job that makes the chunk's next attempt."""
    return f"{PREFIX}{chunk_id}-{attempts}"


def chunk_of(queue_id: str) -> int:
    """The chunk of an RQ job, whichever attempt it was made for; 0 where it is no chunk's."""
    chunk, _, _ = queue_id.removeprefix(PREFIX).partition("-")
    return int(chunk) if queue_id.startswith(PREFIX) and chunk.isdecimal() else 0


def enqueue(chunks: Iterable[ChunkAttempt], queue_name: str) -> None:
    """Once the surrounding transaction has committed."""
    transaction.on_commit(partial(enqueue_now, list(chunks), queue_name))


def enqueue_now(chunks: list[ChunkAttempt], queue_name: str) -> None:
    """A missing Redis loses nothing: the chunks wait in the database until a worker's reaper finds them."""
    calls = [(queue_id(*chunk), (chunk[0],)) for chunk in chunks]
    try:
        queue.enqueue_many_now(ENTRY_POINT, calls, queue_name=queue_name)
    except redis.RedisError as error:
        logger.warning("%d chunks were not enqueued yet: %s", len(chunks), error)


def move(chunks: Iterable[ChunkAttempt], before: str, after: str) -> None:
    """From queue to queue, once the surrounding transaction has committed."""
    names = [queue_id(*chunk) for chunk in chunks]
    transaction.on_commit(partial(_move_now, names, before, after))


def _move_now(names: list[str], before: str, after: str) -> None:
    """What waits elsewhere, for a worker that can, stays there."""
    try:
        queue.move_now(names, before, after)
    except redis.RedisError as error:
        logger.warning("%d chunks stay in the queue %s: %s", len(names), before, error)


def announce(job: GradingJob) -> None:
    """Tell the browsers of new grades and counts, at most twice a second for a job, whoever works on it."""
    if time.monotonic() - _announced.get(job.pk, -NEWS_EVERY_SECONDS) < NEWS_EVERY_SECONDS:
        return
    _announced[job.pk] = time.monotonic()
    try:
        with queue.connection() as client:
            is_time = client.set(
                f"{job.collection.channel}:{job.pk}", 1, nx=True, px=int(NEWS_EVERY_SECONDS * 1000)
            )
    except redis.RedisError:
        return
    if is_time:
        _publish(job)


def announce_end(job: GradingJob) -> None:
    """The last news of a job is always sent."""
    _announced.pop(job.pk, None)
    _publish(job)


def _publish(job: GradingJob) -> None:
    events.publish(job.collection.channel, "grades")
    events.publish(job.collection.channel, "progress")
