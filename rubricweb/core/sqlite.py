"""Handle SQLite's single write lock, which an import holds until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection

WAIT_SECONDS = 0.5


def is_locked(error: BaseException | None) -> bool:
    return isinstance(error, OperationalError) and "locked" in str(error)


@contextmanager
def short_wait(seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Wait for the lock this long only, instead of the settings' minute. PostgreSQL has no such lock."""
    if connection.vendor != "sqlite":
        yield
        return
    usual = connection.settings_dict["OPTIONS"].get("timeout", 5)
    _wait_at_most(seconds)
    try:
        yield
    finally:
        _wait_at_most(usual)


def _wait_at_most(seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {int(seconds * 1_000)}")
