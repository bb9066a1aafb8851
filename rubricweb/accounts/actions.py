"""Changes to memberships, and to a person's own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import transaction

from rubricweb.accounts import keys
from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection


@transaction.atomic
def set_role(
    user: User, collection: Collection, *, role: Role, by: User | None, team: str = ""
) -> Membership:
    """Make `user` a member with this role, or change the role; participants, and only they, have a team."""
    membership, _ = Membership.objects.update_or_create(
        user=user, collection=collection, defaults={"role": role, "team": team}
    )
    of_team = f" of team {team}" if team else ""
    audit.record("role set", membership, by=by, detail=f"{user.username}: {role}{of_team}")
    return membership


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
