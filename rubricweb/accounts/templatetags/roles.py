"""Permissions of the signed-in person, so that templates hide what would be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template

from rubricweb.accounts import roles

if TYPE_CHECKING:
    from rubricweb.accounts.models import User
    from rubricweb.corpus.models import Collection

register = template.Library()


@register.filter
def may_view(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_VIEW)


@register.filter
def may_rate(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_RATE)


@register.filter
def may_verify(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_VERIFY)


@register.filter
def may_comment(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_COMMENT)


@register.filter
def may_label(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_LABEL)


@register.filter
def may_vote(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_VOTE)


@register.filter
def may_edit_bank(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_EDIT_BANK)


@register.filter
def may_see_secrets(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_SEE_SECRETS)


@register.filter
def may_edit_items(user: User, collection: Collection) -> bool:
    return roles.may_edit(user, collection)


@register.filter
def may_grade(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_GRADE)


@register.filter
def may_organize(user: User, collection: Collection) -> bool:
    return roles.holds(user, collection, roles.TO_ORGANIZE)


@register.filter
def may_create(user: User) -> bool:
    """Return whether the person creates collections."""
    return roles.may_create(user)
