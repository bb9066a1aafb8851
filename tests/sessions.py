"""Browsers of people who signed in some time ago, which cost a fifth of a sign-in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.test import Client

from rubricweb.accounts.models import User
from rubricweb.core.sessions import SessionStore


def session_of(user: User) -> str:
    """Make a session of the user, and return its key."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def signed_in(user: User) -> Client:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(user)
    return client
