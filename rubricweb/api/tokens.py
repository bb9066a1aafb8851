"""Make tokens, find whose a sent one is, and revoke them."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from rubricweb.api.models import Token
from rubricweb.core import audit

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection

PREFIX_BYTES = 4
SECRET_BYTES = 32
NOTED_EVERY = dt.timedelta(minutes=10)
"""How exactly the last use is noted: a script that reads does not write with each request."""
_FORM = re.compile(r"rw_(?P<prefix>[0-9a-f]{8})_(?P<secret>[\w-]{43})", re.ASCII)


@transaction.atomic
def make_token(
    user: User,
    *,
    name: str,
    scopes: Iterable[str],
    days: int,
    collection: Collection | None = None,
) -> tuple[Token, str]:
    """Return a token and its text `rw_<prefix>_<secret>`, which nobody can read again."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    token = Token.objects.create(
        user=user,
        name=name,
        prefix=secrets.token_hex(PREFIX_BYTES),
        digest=_digest(secret),
        scopes=sorted({Token.Scope(scope).value for scope in scopes}),
        collection=collection,
        expires_at=timezone.now() + dt.timedelta(days=days),
    )
    audit.record("token made", token, by=user, detail=f"{', '.join(token.scopes)}, {days} days")
    return token, f"rw_{token.prefix}_{secret}"


def token_of(text: str) -> Token | None:
    """Return the open token with this text, whose owner may sign in; None without one."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    token = Token.objects.select_related("user").filter(prefix=found["prefix"]).first()
    if token is None or not constant_time_compare(token.digest, _digest(found["secret"])):
        return None
    return token if token.is_open and token.user.is_active else None


def note_use(token: Token) -> None:
    now = timezone.now()
    before = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - NOTED_EVERY:
        Token.objects.filter(before, pk=token.pk).update(last_used_at=now)


@transaction.atomic
def revoke(token: Token, *, by: User) -> None:
    """Close the token at once."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("token revoked", token, by=by)


def revoke_all(person: User) -> None:
    """Close all tokens of a person, who has a new password."""
    for token in Token.objects.filter(user=person, revoked_at=None):
        revoke(token, by=person)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
