"""Changes to memberships."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from rubricweb.accounts.models import Membership, User
from rubricweb.accounts.roles import Role
from rubricweb.core import audit

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection


@transaction.atomic
def set_role(user: User, collection: Collection, *, role: Role, by: User | None) -> Membership:
    """Make `user` a member with this role, or change the role."""
    membership, _ = Membership.objects.update_or_create(
        user=user, collection=collection, defaults={"role": role}
    )
    audit.record("role set", membership, by=by, detail=f"{user.username}: {role}")
    return membership
