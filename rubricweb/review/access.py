"""Fetch and authorise in one call, always through the parents."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts.models import User
from rubricweb.banks.access import item_for
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Passage


def cell_for(
    user: User, bank_id: int, topic_id: int, *, passage_id: int, item_id: int
) -> tuple[Item, Passage]:
    """A member's item of the topic, and a passage of the topic's pool."""
    item = item_for(user, bank_id, item_id)
    if item.topic_id != topic_id:
        raise Http404("No such item of this topic.")
    pooled = get_object_or_404(item.topic.pool.select_related("passage"), passage=passage_id)
    return item, pooled.passage
