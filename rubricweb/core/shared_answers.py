"""Answers that many open pages ask for at the same moment: one request computes, the others take its answer.

They meet in Redis, whichever process serves them. Without Redis each request computes for itself.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import suppress

import redis
from django.conf import settings
from django.http import HttpResponse

from rubricweb.core.events import kept_client

logger = logging.getLogger(__name__)

PREFIX = "rubricweb:answer:"
KEPT_SECONDS = 10
"""An event makes another key; this is for what changes without one."""
LOCK_SECONDS = 10
"""After which others compute for themselves: who began was killed, or is slow."""
POLL_SECONDS = 0.03
SHARED = (200, 204)
"""Refusals are answered one by one."""


def shared_answer(key: str, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer that was computed for this key within KEPT_SECONDS, or compute it.

    `key` must say everything that the answer depends on, and above all what its reader may see. Only the
    status and the content are shared, so `respond` may set no other header.
    """
    name = PREFIX + hashlib.sha256(key.encode()).hexdigest()
    try:
        known = _known_or_locked(name)
    except redis.RedisError as error:
        logger.debug("an answer is not shared: %s", error)
        return respond()
    if known is not None:
        status, _, content = known.partition(b"\n")
        return HttpResponse(content, status=int(status))
    try:
        response = respond()
        logger.debug("computed a shared answer")
        if response.status_code in SHARED:
            with suppress(redis.RedisError):
                content = b"%d\n%b" % (response.status_code, response.content)
                kept_client(settings.REDIS_URL).set(name, content, ex=KEPT_SECONDS)
        return response
    finally:
        with suppress(redis.RedisError):
            kept_client(settings.REDIS_URL).delete(_lock(name))


def _known_or_locked(name: str) -> bytes | None:
    """Return the content, waiting for whoever computes it; None if this request shall compute it."""
    client, ends = kept_client(settings.REDIS_URL), time.monotonic() + LOCK_SECONDS
    while time.monotonic() < ends:
        if isinstance(known := client.get(name), bytes):
            return known
        if client.set(_lock(name), b"", nx=True, ex=LOCK_SECONDS):
            if not client.exists(name):
                return None
            client.delete(_lock(name))  # it came between the two
            continue
        time.sleep(POLL_SECONDS)
    return None


def _lock(name: str) -> str:
    return f"{name}:lock"
