"""Sessions in the database; while SQLite is locked, new ones wait in Redis, so that people can sign in."""

from __future__ import annotations

import redis
from asgiref.sync import sync_to_async
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import CreateError, UpdateError
from django.db import OperationalError

from rubricweb.core import database, servers

PREFIX = "rubricweb:session:"


class SessionStore(db.SessionStore):
    """A session store; a session in Redis moves to the database with the first request that can write."""

    def save(self, must_create: bool = False) -> None:
        if self.session_key is None:
            self.create()
            return
        is_waiting = not must_create and _waiting(self.session_key) is not None
        try:
            with database.short_wait(0 if is_waiting else database.WAIT_SECONDS):
                self._store(must_create=must_create, is_waiting=is_waiting)
        except (OperationalError, UpdateError) as error:
            if not database.is_locked(error) and not database.is_locked(error.__context__):
                raise
            text = self.encode(self._get_session(no_load=must_create))  # type: ignore[attr-defined]
            with servers.redis_client() as client:
                client.set(PREFIX + self.session_key, text, ex=self.get_expiry_age())

    def _store(self, *, must_create: bool, is_waiting: bool) -> None:
        try:
            super().save(must_create=must_create or is_waiting)
        except CreateError:
            if not is_waiting:
                raise
            super().save()  # another request has brought it there
        if is_waiting:
            _forget(str(self.session_key))

    def load(self) -> dict[str, object]:
        key = self.session_key
        data: dict[str, object] = super().load()
        text = _waiting(key) if key and self.session_key is None else None
        if key is None or text is None:
            return data
        self._session_key = key
        self.modified = True  # to be saved with the answer
        return self.decode(text)

    async def aload(self) -> dict[str, object]:
        return await sync_to_async(self.load)()

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key:
            _forget(key)
        super().delete(session_key)


def _waiting(key: str) -> str | None:
    """Return the session waiting in Redis under this key; None if Redis is down."""
    try:
        with servers.redis_client() as client:
            text = client.get(PREFIX + key)
    except redis.RedisError:
        return None
    return text.decode() if isinstance(text, bytes) else None


def _forget(key: str) -> None:
    try:
        with servers.redis_client() as client:
            client.delete(PREFIX + key)
    except redis.RedisError:
        return
