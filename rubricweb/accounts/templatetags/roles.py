"""Permissions of the signed-in person, so that templates hide what would be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django import template

from rubricweb.accounts import roles

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection

register = template.Library()


RIGHTS = {
    "may_view": roles.TO_VIEW,
    "may_rate": roles.TO_RATE,
    "may_verify": roles.TO_VERIFY,
    "may_comment": roles.TO_COMMENT,
    "may_label": roles.TO_LABEL,
    "may_vote": roles.TO_VOTE,
    "may_edit_bank": roles.TO_EDIT_BANK,
    "may_see_secrets": roles.TO_SEE_SECRETS,
    "may_grade": roles.TO_GRADE,
    "may_organize": roles.TO_ORGANIZE,
}
"""Filter -> the role that it asks for: `user|may_rate:collection`."""


def _holds(needed: roles.Role) -> Callable[[User, Collection], bool]:
    def may(user: User, collection: Collection) -> bool:
        return roles.holds(user, collection, needed)

    return may


for name, needed in RIGHTS.items():
    register.filter(name, _holds(needed))


@register.filter
def may_edit_items(user: User, collection: Collection) -> bool:
    return roles.may_edit(user, collection)


@register.filter
def may_create(user: User) -> bool:
    """Return whether the person creates collections."""
    return roles.may_create(user)
