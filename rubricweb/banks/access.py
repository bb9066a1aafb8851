"""Fetch and authorise in one call, always through the parent."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Topic


def bank_for(user: User, bank_id: int, *, needed: Role = roles.TO_VIEW) -> Bank:
    bank = Bank.objects.select_related("collection").filter(pk=bank_id).first()
    if bank is None:
        raise Http404("No such bank.")
    roles.require(user, bank.collection, needed)
    return bank


def bank_topic_for(
    user: User, bank_id: int, topic_id: int, *, needed: Role = roles.TO_VIEW
) -> tuple[Bank, Topic]:
    bank = bank_for(user, bank_id, needed=needed)
    return bank, get_object_or_404(bank.collection.topics, pk=topic_id)


def item_for(user: User, bank_id: int, item_id: int, *, needed: Role = roles.TO_VIEW) -> Item:
    bank = bank_for(user, bank_id, needed=needed)
    item: Item = get_object_or_404(
        bank.items.select_related("revision", "topic", "bank__collection"), pk=item_id
    )
    return item


def item_for_editor(user: User, bank_id: int, item_id: int) -> Item:
    return item_for(user, bank_id, item_id, needed=roles.TO_EDIT_BANK)
