"""Close an account: what the person did stays, under a name that says nothing of the person."""

from __future__ import annotations

import secrets

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.db import transaction
from django.db.models import Q

from rubricweb.accounts.actions import others_who_organize, release
from rubricweb.accounts.models import Invitation, Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit
from rubricweb.core.models import AuditEntry

PSEUDONYM_BYTES = 3
NAMED_IN = (
    "role set",
    "member removed",
    "account invited",
    "invitation used",
    "invitation declined",
    "password link made",
    "account closed",
)
"""Verbs of audit entries whose details begin with a user name."""


class CannotClose(Exception):
    """The account stays open; the text says why."""


def why_not(person: User) -> str:
    """Why the account cannot be closed now; empty if it can."""
    organized = Membership.objects.filter(user=person, role=Role.ORGANIZER).select_related("collection")
    alone = [str(row.collection) for row in organized if not others_who_organize(row.collection, person)]
    if alone:
        return f"Nobody else organizes {', '.join(alone)}: make somebody else an organizer first."
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    if person.is_superuser and not others.exists():
        return "Nobody else administers this site: make somebody else an administrator first."
    return ""


@transaction.atomic
def close_account(person: User, *, by: User) -> str:
    """Close the account for good, and return the pseudonym under which its ratings stay.

    Signing in and sessions end, since the account is inactive. Raises CannotClose.
    """
    person = User.objects.select_for_update().get(pk=person.pk)
    shared = Membership.objects.filter(collection__in=person.memberships.values("collection"))
    list(shared.select_for_update().order_by("pk"))  # of two organizers one stays
    if reason := why_not(person):
        raise CannotClose(reason)
    release(person, None)
    name = person.username
    person.memberships.all().delete()
    Invitation.objects.filter(Q(person=person) | Q(by=person) | Q(username=name)).delete()
    _forget(person)
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        model.objects.filter(username=name).delete()
    for entry in AuditEntry.objects.filter(verb__in=NAMED_IN, detail__startswith=name):
        if entry.detail.partition(":")[0] == name:
            entry.detail = person.username + entry.detail.removeprefix(name)
            entry.save(update_fields=["detail"])
    audit.record("account closed", person, by=person if by.pk == person.pk else by, detail=person.username)
    return person.username


def _forget(person: User) -> None:
    """Keep of the account only the row that ratings point to."""
    person.username = _pseudonym()
    person.first_name = person.last_name = person.email = ""
    person.key_map, person.last_login = {}, None
    person.is_active = person.is_staff = person.is_superuser = False
    person.set_unusable_password()
    person.save()
    person.groups.clear()
    person.user_permissions.clear()


def _pseudonym() -> str:
    while True:
        name = f"assessor-{secrets.token_hex(PSEUDONYM_BYTES)}"
        if not User.objects.filter(username=name).exists():
            return name
