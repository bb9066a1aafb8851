"""Change memberships and a person's own settings, and close accounts."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.module_loading import import_string

from rubricweb.accounts import keys
from rubricweb.accounts.models import Invitation, Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit
from rubricweb.core.models import AuditEntry

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection

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


@transaction.atomic
def set_role(
    user: User, collection: Collection, *, role: Role, by: User | None, team: str = ""
) -> Membership:
    """Make `user` a member with this role, or change the role; participants, and only they, have a team.

    Nobody is asked: organizers go through `invitations.invite_account` instead. Raises LastOrganizer.
    """
    if role != Role.ORGANIZER:
        require_other_organizer(collection, user)
        _revoke_links(user, collection, by=by)
    team = same_team(team, team_names(collection))
    membership, _ = Membership.objects.update_or_create(
        user=user, collection=collection, defaults={"role": role, "team": team}
    )
    of_team = f" of team {team}" if team else ""
    audit.record("role set", membership, by=by, detail=f"{user.username}: {role}{of_team}")
    return membership


def same_team(team: str, teams: Iterable[str]) -> str:
    """Return the team as `teams` spells it: names that differ only in case are one team.

    >>> same_team("ciir", ["Waterloo", "CIIR"]), same_team("h2oloo", [])
    ('CIIR', 'h2oloo')
    """
    folded = team.casefold()
    return next((name for name in teams if name.casefold() == folded), team)


def team_names(collection: Collection) -> Iterator[str]:
    """Return the teams of members, invitations and runs as they are spelled, the first spelling first."""
    for rows in (collection.memberships, collection.invitations, collection.runs):
        yield from rows.exclude(team="").order_by("pk").values_list("team", flat=True)


def release(person: User, collection: Collection | None) -> None:
    """Give back what a person holds in other rooms of the collection; without one, of all."""
    for path in settings.ON_LEAVING:
        import_string(path)(person, collection)


class LastOrganizer(Exception):
    """Nobody else organizes the collection; the text names it."""


@transaction.atomic
def remove_member(membership: Membership, *, by: User | None) -> None:
    """End a membership. What the person did stays under their name. Raises LastOrganizer."""
    collection = membership.collection
    require_other_organizer(collection, membership.user)
    detail = f"{membership.user.username}: {membership.role}"
    audit.record("member removed", membership, by=by, detail=detail)
    release(membership.user, collection)
    _revoke_links(membership.user, collection, by=by)
    membership.delete()


def require_other_organizer(collection: Collection, person: User) -> None:
    """Raise LastOrganizer if the person organizes the collection and nobody else does."""
    held = {row.user_id: row.role for row in collection.memberships.select_for_update().order_by("pk")}
    if held.get(person.pk) == Role.ORGANIZER and not others_who_organize(collection, person):
        raise LastOrganizer(f"Nobody else organizes {collection}. Make somebody else an organizer first.")


def _revoke_links(maker: User, collection: Collection, *, by: User | None) -> None:
    """Close the invitations of somebody who no longer may invite."""
    for invitation in collection.invitations.filter(by=maker, revoked_at=None):
        invitation.revoked_at = timezone.now()
        invitation.save(update_fields=["revoked_at"])
        audit.record("invitation revoked", invitation, by=by, detail=invitation.role)


def others_who_organize(collection: Collection, person: User) -> bool:
    """Return whether somebody else with an open account organizes the collection."""
    rows = Membership.objects.filter(collection=collection, role=Role.ORGANIZER, user__is_active=True)
    return rows.exclude(user=person).exists()


@transaction.atomic
def set_keys(user: User, *, chosen: Mapping[str, str]) -> User:
    """Set the person's own keys, one for each action."""
    return _keep_keys(user, keys.changed(chosen))


@transaction.atomic
def reset_keys(user: User) -> User:
    """Restore the default keys."""
    return _keep_keys(user, {})


def _keep_keys(user: User, key_map: dict[str, str]) -> User:
    user.key_map = key_map
    user.save(update_fields=["key_map"])
    audit.record("keys set", user, by=user, detail=key_map)
    return user


class CannotClose(Exception):
    """The account stays open; the text says why."""


def why_not_close(person: User) -> str:
    """Return why the account cannot be closed now; empty if it can."""
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
    if reason := why_not_close(person):
        raise CannotClose(reason)
    release(person, None)
    name = person.username
    person.memberships.all().delete()
    Invitation.objects.filter(Q(person=person) | Q(by=person) | Q(username=name)).delete()
    # Only the row that ratings point to stays.
    person.username = _pseudonym()
    person.first_name = person.last_name = person.email = ""
    person.key_map, person.last_login = {}, None
    person.is_active = person.is_staff = person.is_superuser = False
    person.set_unusable_password()
    person.save()
    person.groups.clear()
    person.user_permissions.clear()
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        model.objects.filter(username=name).delete()
    for entry in AuditEntry.objects.filter(verb__in=NAMED_IN, detail__startswith=name):
        if entry.detail.partition(":")[0] == name:
            entry.detail = person.username + entry.detail.removeprefix(name)
            entry.save(update_fields=["detail"])
    audit.record("account closed", person, by=person if by.pk == person.pk else by, detail=person.username)
    return person.username


def _pseudonym() -> str:
    while True:
        name = f"assessor-{secrets.token_hex(PSEUDONYM_BYTES)}"
        if not User.objects.filter(username=name).exists():
            return name
