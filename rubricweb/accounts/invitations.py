"""Links with which people join a collection: make one, open it, revoke it."""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from rubricweb.accounts.actions import same_team, set_role, team_names
from rubricweb.accounts.models import Invitation, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection

TOKEN_BYTES = 32


@dataclass(frozen=True, slots=True)
class Joining:
    """What an invitation is to, and how often and how long."""

    role: Role
    team: str
    """Of participants, and only of them."""
    days: int
    max_uses: int


class InvitationOver(Exception):
    """It was revoked, has expired, or was used as often as it may be."""


@transaction.atomic
def invite(collection: Collection, offer: Joining, *, by: User | None) -> tuple[Invitation, str]:
    """Return an invitation and the path of its link, which nobody can read again."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    invitation = Invitation.objects.create(
        collection=collection,
        role=offer.role,
        team=same_team(offer.team, team_names(collection)),
        token_digest=_digest(token),
        by=by,
        expires_at=timezone.now() + dt.timedelta(days=offer.days),
        max_uses=offer.max_uses,
    )
    detail = f"{offer.role}, {offer.max_uses} uses, {offer.days} days"
    audit.record("invitation made", invitation, by=by, detail=detail)
    return invitation, reverse("accounts:join", args=[token])


def invitation_of(token: str) -> Invitation | None:
    """The invitation, if its link is still good."""
    row = Invitation.objects.select_related("collection", "by").filter(token_digest=_digest(token)).first()
    return row if row and row.is_open else None


@transaction.atomic
def join(invitation: Invitation, *, person: User) -> bool:
    """Make `person` a member. False, and no use counts, for members whose role is as high already.

    Raises InvitationOver.
    """
    invitation = Invitation.objects.select_for_update().select_related("collection").get(pk=invitation.pk)
    if not invitation.is_open:
        raise InvitationOver
    role = Role(invitation.role)
    held = person.memberships.filter(collection=invitation.collection).first()
    if held is not None and Role(held.role).includes(role):
        return False
    Invitation.objects.filter(pk=invitation.pk).update(uses=F("uses") + 1)
    set_role(person, invitation.collection, role=role, by=person, team=invitation.team)
    audit.record("invitation used", invitation, by=person, detail=f"{person.username}: {role}")
    return True


@transaction.atomic
def revoke(invitation: Invitation, *, by: User) -> None:
    """Close the link at once. Who has joined by it stays."""
    if Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("invitation revoked", invitation, by=by, detail=invitation.role)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
