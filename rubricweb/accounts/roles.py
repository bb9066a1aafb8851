"""Five roles, each including the ones before it. Everything that depends on a role asks here.

Participants get the topics, hand in their team's runs and read the results that organizers show them. They
reach nothing else of a collection: to them all other pages answer as to outsiders.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django import template
from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, TextChoices
from django.http import Http404

from rubricweb.accounts.cold_storage import require_served
from rubricweb.core.compiled import compiled_once

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection


class Role(TextChoices):
    PARTICIPANT = "participant", "participant"
    VIEWER = "viewer", "viewer"
    ASSESSOR = "assessor", "assessor"
    DEVELOPER = "developer", "topic developer"
    ORGANIZER = "organizer", "organizer"

    @property
    def level(self) -> int:
        return list(Role).index(self)

    def includes(self, other: Role) -> bool:
        return self.level >= other.level


# What each act needs; to let a role do one, change its line here. Everything that only looks needs VIEWER.
TO_SUBMIT = Role.PARTICIPANT
TO_VIEW = Role.VIEWER
TO_RATE = Role.ASSESSOR
TO_VERIFY = Role.ASSESSOR
TO_COMMENT = Role.ASSESSOR
TO_LABEL = Role.ASSESSOR
TO_VOTE = Role.ASSESSOR
TO_ASK = Role.ASSESSOR
TO_DECIDE = Role.DEVELOPER
TO_RESOLVE = Role.DEVELOPER
TO_ASSIGN = Role.DEVELOPER
TO_EDIT_BANK = Role.DEVELOPER
TO_GRADE = Role.DEVELOPER
TO_SEE_SECRETS = Role.DEVELOPER
TO_SEE_RUNS = Role.DEVELOPER
TO_ORGANIZE = Role.ORGANIZER


def roles_with(needed: Role) -> list[Role]:
    """Return the roles that include `needed`."""
    return [role for role in Role if role.includes(needed)]


def role_to_edit(collection: Collection) -> Role:
    """Return the lowest role that edits items: topic developer, or assessor if the collection lets them."""
    return Role.ASSESSOR if collection.assessors_edit else TO_EDIT_BANK


def role_to_grade(collection: Collection) -> Role:
    """Return the lowest role that grades: topic developer, or assessor if the collection lets them."""
    return Role.ASSESSOR if collection.assessors_grade else TO_GRADE


def may_create(user: User) -> bool:
    """Return whether the person creates collections: only staff do."""
    return user.is_staff or user.is_superuser


def may_edit(user: User, collection: Collection) -> bool:
    return holds(user, collection, role_to_edit(collection))


def holds(user: User, collection: Collection, needed: Role) -> bool:
    """Return whether the member's role is `needed` or includes it; False for an outsider."""
    held = role_of(user, collection)
    return held is not None and held.includes(needed)


def role_of(user: User, collection: Collection) -> Role | None:
    """Return the member's role, None for an outsider; a superuser organizes all that is not deleted."""
    return None if collection.is_gone else role_in(user, collection.pk)


def role_in(user: User, collection_id: int) -> Role | None:
    """Return `role_of` by the collection's key; cached on the `user` object, so for one request."""
    if user.is_superuser:
        return Role.ORGANIZER
    cache = _role_cache(user)
    if collection_id not in cache:
        read_roles(user)
    return cache.setdefault(collection_id, None)


def collections_with(user: User, needed: Role) -> list[int]:
    """Return the keys of the collections where the person's role is `needed` or includes it."""
    held: dict[int, Role] | None = user.__dict__.get("_roles_held")
    held = read_roles(user) if held is None else held
    return [pk for pk, role in held.items() if role.includes(needed)]


def read_roles(user: User) -> dict[int, Role]:
    """Return the person's roles by collection, and cache all of them: one query is as dear as another."""
    held = user.__dict__["_roles_held"] = {pk: Role(role) for pk, role in _memberships(user.pk)}
    _role_cache(user).update(held)
    return held


@compiled_once
def _memberships(user: int) -> QuerySet[Any, tuple[int, str]]:
    memberships: QuerySet[Any] = apps.get_model("accounts.Membership").objects.all()  # it imports this module
    return memberships.filter(user=user).values_list("collection_id", "role")


def remember(user: User, collection_id: int, held: str | None) -> None:
    """Cache a role that another query has read, for `role_in`."""
    _role_cache(user)[collection_id] = Role(held) if held else None


def _role_cache(user: User) -> dict[int, Role | None]:
    cache: dict[int, Role | None] = user.__dict__.setdefault("_role_by_collection", {})
    return cache


def require(user: User, collection: Collection, needed: Role) -> Role:
    """Return the user's role if it suffices; Http404 for an outsider, PermissionDenied (403) for too little.

    A participant is an outsider wherever participants have nothing to do. What reads grades as rows is
    closed while the collection is in cold storage: InColdStorage, also a 403.
    """
    held = role_of(user, collection)
    if held is None or (held is Role.PARTICIPANT and needed is not TO_SUBMIT):
        raise Http404("No such collection.")
    if not held.includes(needed):
        raise PermissionDenied(
            f"This needs the role {needed.label}; your role here is {held.label}. An organizer can change it."
        )
    if collection.cold_at:
        require_served(collection)
    return held


register = template.Library()
"""Templates hide what would be refused."""

RIGHTS = {
    "may_view": TO_VIEW,
    "may_rate": TO_RATE,
    "may_verify": TO_VERIFY,
    "may_comment": TO_COMMENT,
    "may_label": TO_LABEL,
    "may_vote": TO_VOTE,
    "may_edit_bank": TO_EDIT_BANK,
    "may_see_secrets": TO_SEE_SECRETS,
    "may_grade": TO_GRADE,
    "may_organize": TO_ORGANIZE,
}
"""Filter -> the role that it asks for: `user|may_rate:collection`."""

for right, least in RIGHTS.items():
    register.filter(right, partial(holds, needed=least))
register.filter("may_edit_items", may_edit)
register.filter(may_create)
