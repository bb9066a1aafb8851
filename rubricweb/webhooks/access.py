"""Fetch and authorise in one call: webhooks are a collection's organizers' business."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.webhooks.models import Delivery, Endpoint


def webhook_for(user: User, slug: str, webhook_id: int) -> Endpoint:
    """Return a webhook of the collection. Outsiders get 404, and those who do not organize it 403."""
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    endpoint: Endpoint = get_object_or_404(
        collection.webhooks.with_right().select_related("by"), pk=webhook_id
    )
    endpoint.collection = collection
    return endpoint


def delivery_for(user: User, slug: str, webhook_id: int, delivery_id: int) -> Delivery:
    endpoint = webhook_for(user, slug, webhook_id)
    row: Delivery = get_object_or_404(endpoint.deliveries.select_related("message"), pk=delivery_id)
    row.endpoint = endpoint
    return row
