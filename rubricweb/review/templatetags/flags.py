"""Flags where other rooms show an item."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest

from rubricweb.banks.models import Item
from rubricweb.review.flags import selectors
from rubricweb.review.flags.selectors import OpenCounts, open_counts

register = template.Library()


@register.simple_tag(takes_context=True)
def open_flags(context: dict[str, Any], item: Item) -> int:
    """Count the item's open flags; one query a request serves a whole topic."""
    request: HttpRequest = context["request"]
    counts: dict[tuple[int, int], OpenCounts] = request.__dict__.setdefault("_open_flags", {})
    place = (item.bank_id, item.topic_id)
    if place not in counts:
        counts[place] = open_counts(*place)
    return counts[place].items.get(item.pk, 0)


@register.simple_tag(takes_context=True)
def own_flags(context: dict[str, Any], bank_id: int) -> str:
    """Return the keys of what the reader has flagged in the bank: "spurious-12 uncovered-7"."""
    flags = selectors.own_flags(bank_id, context["user"])
    return " ".join(f"{kind}-{passage if item is None else item}" for kind, item, passage in flags)
