"""What the pages of webhooks show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, Prefetch, Q, QuerySet

from rubricweb.corpus.models import Collection
from rubricweb.webhooks.deliveries import headers_of
from rubricweb.webhooks.models import Delivery, DeliveryAttempt, Endpoint

LISTED = 50
"""Deliveries on a page of the log."""


def webhooks(collection: Collection) -> QuerySet[Endpoint]:
    """Return the collection's webhooks, with `delivered`, `failed` and `last_at` of what is in the log."""
    rows: QuerySet[Endpoint] = collection.webhooks.with_right().select_related("collection")
    return rows.annotate(
        delivered=Count("deliveries", filter=Q(deliveries__state=Delivery.State.DONE)),
        failed=Count("deliveries", filter=Q(deliveries__state=Delivery.State.FAILED)),
        last_at=Max("deliveries__message__at"),
    )


def log_of(endpoint: Endpoint, *, state: str = "", page: str | None = None) -> Page[Any]:
    """Return deliveries, latest first, with their attempts as `latest`; of one state where that is given."""
    rows = endpoint.deliveries.select_related("message").order_by("-message__at", "-pk")
    if state:
        rows = rows.filter(state=state)
    latest = Prefetch("log", DeliveryAttempt.objects.order_by("-pk"), to_attr="latest")
    found = Paginator(rows.prefetch_related(latest), LISTED).get_page(page)
    for delivery in found:
        delivery.endpoint = endpoint
    return found


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One attempt as it went out and what came back."""

    attempt: DeliveryAttempt
    headers: Mapping[str, str]
    """Without the signature, which a secret of then made."""


def requests_of(delivery: Delivery) -> list[SentRequest]:
    """Return the attempts of a delivery, latest first."""
    rows = delivery.log.order_by("-pk")
    return [SentRequest(attempt, _headers(delivery, attempt)) for attempt in rows]


def _headers(delivery: Delivery, attempt: DeliveryAttempt) -> dict[str, str]:
    known = headers_of(delivery.message, delivery.endpoint, attempt.at)
    return {name: value for name, value in known.items() if name != "webhook-signature"}
