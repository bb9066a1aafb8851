"""Responses shared by simultaneous identical requests: one computes, the others take its result.

The first request of each process asks Redis, where processes meet. Without Redis each process computes.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

import redis
from django.conf import settings
from django.http import HttpResponse

from rubricweb.core.servers import kept_client

logger = logging.getLogger(__name__)

PREFIX = "rubricweb:answer:"
KEPT_SECONDS = 10
"""Lifetime of a response. Events change the key; this covers changes without an event."""
LOCK_SECONDS = 10
"""Time after which others compute for themselves, since whoever began was killed or is slow."""
POLL_SECONDS = 0.03
SHARED = (200, 204)
"""Shared status codes; refusals are answered one by one."""
_computing: dict[str, Future[bytes | None]] = {}
"""Responses that a thread of this process computes or waits for, by name, for its other threads."""
_lock = threading.Lock()


def shared_answer(key: str, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer that was computed for this key within KEPT_SECONDS, or compute it.

    `key` must say everything that the answer depends on, and above all what its reader may see. Only the
    status and the content are shared, so `respond` may set no other header.
    """
    name = PREFIX + hashlib.sha256(key.encode()).hexdigest()
    with _lock:
        future, is_first = _computing.get(name), name not in _computing
        future = future or _computing.setdefault(name, Future())
    if not is_first:
        return _decoded(_awaited(future)) or _shared_by_all(name, respond)
    response = None
    try:
        response = _shared_by_all(name, respond)
        return response
    finally:
        with _lock:
            del _computing[name]
        future.set_result(None if response is None else _encoded(response))


def _awaited(future: Future[bytes | None]) -> bytes | None:
    try:
        return future.result(LOCK_SECONDS)
    except TimeoutError:
        return None


def _shared_by_all(name: str, respond: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the response of whichever process computes it; else compute it for all."""
    try:
        content = _content_or_lock(name)
    except redis.RedisError as error:
        logger.debug("an answer is not shared: %s", error)
        return respond()
    if (response := _decoded(content)) is not None:
        return response
    try:
        response = respond()
        logger.debug("computed a shared answer")
        if (content := _encoded(response)) is not None:
            with suppress(redis.RedisError):
                kept_client(settings.REDIS_URL).set(name, content, ex=KEPT_SECONDS)
        return response
    finally:
        with suppress(redis.RedisError):
            kept_client(settings.REDIS_URL).delete(_lock_of(name))


def _encoded(response: HttpResponse) -> bytes | None:
    """Return the response as bytes; None if it is not shared."""
    is_shared = response.status_code in SHARED
    return b"%d\n%b" % (response.status_code, response.content) if is_shared else None


def _decoded(content: bytes | None) -> HttpResponse | None:
    if content is None:
        return None
    status, _, content = content.partition(b"\n")
    return HttpResponse(content, status=int(status))


def _content_or_lock(name: str) -> bytes | None:
    """Return the content, waiting for whoever computes it; None if this request shall compute it."""
    client, ends = kept_client(settings.REDIS_URL), time.monotonic() + LOCK_SECONDS
    while time.monotonic() < ends:
        if isinstance(content := client.get(name), bytes):
            return content
        if client.set(_lock_of(name), b"", nx=True, ex=LOCK_SECONDS):
            if not client.exists(name):
                return None
            client.delete(_lock_of(name))  # it came between the two
            continue
        time.sleep(POLL_SECONDS)
    return None


def _lock_of(name: str) -> str:
    return f"{name}:lock"
