"""Fetch and authorise in one call, always through the parents."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.access import bank_topic_for
from rubricweb.core.http import parse_id
from rubricweb.corpus.access import collection_for, pooled_passage
from rubricweb.review.flags.models import Flag
from rubricweb.review.flags.subjects import Subject


def flag_for(user: User, slug: str, flag_id: int, *, needed: Role = roles.TO_VIEW) -> Flag:
    collection = collection_for(user, slug, needed=needed)
    flag: Flag = get_object_or_404(Flag.objects.of(collection).ready(), pk=flag_id)
    return flag


def subject_for(
    user: User, place: tuple[int, int], *, item: str, passage: str, needed: Role = roles.TO_VIEW
) -> Subject:
    """Return the item and the passage in a bank and topic that the address names."""
    bank, topic = bank_topic_for(user, *place, needed=needed)
    if not (item or passage):
        raise Http404("Neither an item nor a passage.")
    items = bank.items.for_topic(topic).select_related("revision")
    return Subject(
        bank,
        topic,
        get_object_or_404(items, pk=parse_id(item)) if item else None,
        pooled_passage(bank.collection, topic.pk, parse_id(passage)) if passage else None,
    )


def may_decide(user: User, flag: Flag) -> bool:
    """Topic developers may resolve and assign; so may those who opened it or have it, as long as they may
    flag.
    """
    held = roles.role_of(user, flag.bank.collection)
    if held is None or not held.includes(roles.TO_ASSESS):
        return False
    return held.includes(roles.TO_EDIT_BANK) or user.pk in {flag.by_id, flag.assignee_id}


def require_decider(user: User, flag: Flag) -> None:
    if not may_decide(user, flag):
        raise PermissionDenied(
            "Only topic developers resolve or assign flags that others opened; you can do so "
            "with those that you opened or that are assigned to you."
        )
