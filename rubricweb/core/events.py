"""Live events: a name without data, sent over Redis. Browsers fetch what changed by ordinary views."""

from __future__ import annotations

import logging
import secrets

from django.conf import settings
from django.db import transaction

from rubricweb.core.servers import kept_client

logger = logging.getLogger(__name__)

KEPT_SECONDS = 3_600
"""Time for which Redis remembers a channel's last event."""
NAMED = "rubricweb:last-event:"
"""Prefix of the keys that hold each channel's last event."""
NAME_BYTES = 8


def publish(channel: str, name: str) -> None:
    """Send event `name` to all listeners of `channel`.

    Without Redis the change is still made, only pages do not refresh; /healthz reports it.
    """
    import redis  # here: models import this module

    try:
        both = kept_client(settings.REDIS_URL).pipeline()
        both.set(last_key(channel), name, ex=KEPT_SECONDS)  # what is left of its life says when this was
        both.set(NAMED + channel, secrets.token_hex(NAME_BYTES), ex=KEPT_SECONDS)
        both.publish(channel, name)
        both.execute()
    except redis.RedisError as error:
        logger.debug("event %s on %s was not sent: %s", name, channel, error)


def publish_on_commit(channel: str, name: str) -> None:
    transaction.on_commit(lambda: publish(channel, name))


def last_event(channel: str) -> str:
    """Return a name that no other event of the channel has; empty where Redis knows none."""
    import redis

    try:
        name = kept_client(settings.REDIS_URL).get(NAMED + channel)
    except redis.RedisError:
        return ""
    return name.decode() if isinstance(name, bytes) else ""


def last_key(channel: str) -> str:
    """Return the key that lives KEPT_SECONDS after each event of the channel."""
    return f"{channel}:last"
