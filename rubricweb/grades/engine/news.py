"""News of a job to the browsers."""

from __future__ import annotations

import time

import redis

from rubricweb.core import events
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import queue

NEWS_EVERY_SECONDS = 0.5
_announced: dict[int, float] = {}
"""By job: when this process last had news of it; Redis decides between processes."""


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
