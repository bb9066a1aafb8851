"""Which living worker can run what: one that cannot says so with its beat, and hands such work over.

What is handed over waits in a queue of its own, which only those look into that have not refused.
"""

from __future__ import annotations

from rubricweb.jobs import leases, queue, worker_state
from rubricweb.jobs.worker_state import Need

PREFIX = "for-"


def more_queues() -> list[str]:
    """What other workers handed over and this one has not refused. Raises redis.RedisError."""
    refused = worker_state.now.cannot()
    return [name for name in queue.known_names() if name.startswith(PREFIX) and name not in refused]


def others_can(queue_name: str) -> bool:
    """Is there a living worker, besides this one, that has not refused? Raises redis.RedisError."""
    others = [beat for beat in queue.living_workers() if beat.name != leases.worker_name()]
    return any(queue_name not in beat.cannot for beat in others)


def refuse(need: Need, reason: str) -> bool:
    """This worker cannot: say so, and tell whether another can. Raises redis.RedisError."""
    worker_state.now.refuse(need, reason)
    queue.beat(worker_state.now.beat())
    return others_can(need.queue)


def nobody_can(need: Need) -> str:
    """Why, where every living worker has refused; empty where one has not. Raises redis.RedisError."""
    reason = worker_state.now.why_not(need.queue)
    return f"No living worker can run {need.words}. {reason}" if reason and not others_can(need.queue) else ""
