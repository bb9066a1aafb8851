"""Checks of settings that a public server must not have, run whenever the settings are read."""

from __future__ import annotations

import re

from django.core.exceptions import ImproperlyConfigured

from grading.errors import BadSecret
from grading.secret import Secret

PUBLISHED_KEY = "insecure, for development only"
KEY_CHARACTERS = 32
DISTINCT_CHARACTERS = 10
WEAK = re.compile(r"change.?me|insecure|example|your.?secret|secret.?key|password", re.IGNORECASE)
MAKE_ONE = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(50))"'
LOCAL = re.compile(r"localhost|.*\.localhost|127\.[0-9.]+|\[?::1\]?|testserver", re.IGNORECASE)


def secret(name: str, value: str, *, is_sent_in_header: bool = False, is_hexadecimal: bool = False) -> str:
    """Return a secret without blanks around it. Raises ImproperlyConfigured, without showing its value.

    A hexadecimal one has the 64 digits of a key of HMAC-SHA256.
    """
    try:
        checked = Secret(value, name, is_sent_in_header=is_sent_in_header).value
    except BadSecret as error:
        raise ImproperlyConfigured(f"{error}.") from None
    if is_hexadecimal and not re.fullmatch(r"[0-9a-f]{64}", checked):
        raise ImproperlyConfigured(f"{name} has a key that is not 64 hexadecimal digits: copy it again.")
    return checked


def objections(*, debug: bool, secret_key: str, hosts: list[str]) -> list[str]:
    """Return why these settings must not serve `hosts`; nothing if all of them are this machine."""
    others = [host for host in hosts if not LOCAL.fullmatch(host)]
    if not others:
        return []
    problems = []
    if debug:
        problems.append("RUBRIC_DEBUG is on: its error pages show code and settings. Set RUBRIC_DEBUG=false.")
    if secret_key == PUBLISHED_KEY:
        problems.append(f"RUBRIC_SECRET_KEY is the one that is published with the source. {MAKE_ONE}")
    elif len(secret_key) < KEY_CHARACTERS:
        length = f"has {len(secret_key)} characters, and at least {KEY_CHARACTERS} are needed"
        problems.append(f"RUBRIC_SECRET_KEY {length}. {MAKE_ONE}")
    elif WEAK.search(secret_key) or len(set(secret_key)) < DISTINCT_CHARACTERS:
        problems.append(f"RUBRIC_SECRET_KEY can be guessed. {MAKE_ONE}")
    named = ", ".join(others)
    return [
        f"RUBRIC_ALLOWED_HOSTS names {named}, which others can reach. {objection}" for objection in problems
    ]
