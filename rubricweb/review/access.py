"""Fetch and authorise in one call, always through the parents."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_topic_for, item_for
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import parse_id
from rubricweb.corpus import access, pseudonyms
from rubricweb.corpus.models import Collection, Passage, Response
from rubricweb.grades.in_context import occurrences
from rubricweb.review.models import Flag, Subject


def cell_for(
    user: User,
    where: tuple[int, int],
    cell: tuple[int, int],
    address: QueryDict,
    *,
    needed: roles.Role = roles.TO_VIEW,
) -> tuple[Item, Passage]:
    """Return an item of (bank, topic) and a passage of `passage_for`, by `cell`: (passage, item).

    When the address names a version of the bank, the item has the wording of that version.
    """
    (bank_id, topic_id), (passage_id, item_id) = where, cell
    item = item_for(user, bank_id, item_id, needed=needed)
    if item.topic_id != topic_id:
        raise Http404("No such item of this topic.")
    passage = passage_for(item.bank.collection, topic_id, passage_id)
    if number := parse_id(address.get("version", "")):
        version = get_object_or_404(item.bank.versions, number=number)
        entries = version.entries.select_related("revision")
        item.revision = get_object_or_404(entries, item=item).revision
    return item, passage


def passage_for(collection: Collection, topic_id: int, passage_id: int) -> Passage:
    """Return a passage of the topic's pool, or one of an answer of an accepted run that is in no pool."""
    try:
        return access.pooled_passage(collection, topic_id, passage_id)
    except Http404:
        passage: Passage = get_object_or_404(collection.passages, pk=passage_id)
        if not occurrences(collection, topic_id, passage):
            raise
        return passage


def flag_for(user: User, slug: str, flag_id: int, *, needed: roles.Role = roles.TO_VIEW) -> Flag:
    collection = access.collection_for(user, slug, needed=needed)
    flag: Flag = get_object_or_404(Flag.objects.of(collection).ready(), pk=flag_id)
    return flag


def subject_for(
    user: User, place: tuple[int, int], *, item: str, passage: str, needed: roles.Role = roles.TO_VIEW
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
        passage_for(bank.collection, topic.pk, parse_id(passage)) if passage else None,
    )


def may_decide(user: User, flag: Flag) -> bool:
    """Return whether the user may resolve and assign the flag.

    Topic developers may; so may who opened it or has it, as long as they may flag.
    """
    held = roles.role_of(user, flag.bank.collection)
    if held is None or not held.includes(roles.TO_COMMENT):
        return False
    return held.includes(roles.TO_RESOLVE) or user.pk in {flag.by_id, flag.assignee_id}


def require_decider(user: User, flag: Flag) -> None:
    if not may_decide(user, flag):
        raise PermissionDenied(
            "Only topic developers resolve or assign flags that others opened; you can do so "
            "with those that you opened or that are assigned to you."
        )


def response_for(user: User, bank_id: int, topic_id: int, run_id: int) -> tuple[Bank, Response]:
    """Return the bank to grade by, and the response with its run under the name that the reader may see.

    Nobody gets the response of a run that is not accepted.
    """
    bank, topic = bank_topic_for(user, bank_id, topic_id)
    accepted = bank.collection.runs.accepted()
    rows = Response.objects.select_related("run", "topic").filter(run__in=accepted)
    response: Response = get_object_or_404(rows, run=run_id, topic=topic)
    (response.run.run_tag,) = pseudonyms.shown_names(bank.collection_id, (response.run.run_tag,))
    return bank, response
