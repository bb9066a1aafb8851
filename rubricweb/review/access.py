"""Fetch and authorise in one call, always through the parents."""

from __future__ import annotations

from django.http import Http404, QueryDict
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.access import item_for
from rubricweb.banks.models import Item
from rubricweb.core.http import parse_id
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Passage


def cell_for(
    user: User,
    where: tuple[int, int],
    cell: tuple[int, int],
    address: QueryDict,
    *,
    needed: Role = roles.TO_VIEW,
) -> tuple[Item, Passage]:
    """Return an item of (bank, topic) and a passage of the topic's pool, by `cell`: (passage, item).

    When the address names a version of the bank, the item has the wording of that version.
    """
    (bank_id, topic_id), (passage_id, item_id) = where, cell
    item = item_for(user, bank_id, item_id, needed=needed)
    if item.topic_id != topic_id:
        raise Http404("No such item of this topic.")
    passage = pooled_passage(item.bank.collection, topic_id, passage_id)
    if number := parse_id(address.get("version", "")):
        version = get_object_or_404(item.bank.versions, number=number)
        entries = version.entries.select_related("revision")
        item.revision = get_object_or_404(entries, item=item).revision
    return item, passage
