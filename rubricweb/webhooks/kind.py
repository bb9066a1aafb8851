"""Deliveries of webhooks as a kind of background work."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.jobs import kinds, leases
from rubricweb.webhooks.models import Delivery, Endpoint


class Deliveries(kinds.Kind[Delivery]):
    """A worker that is lost while it sends has another send the same message with the same `webhook-id`."""

    name = "webhook"
    collection = "endpoint.collection_id"
    model = Delivery
    related = ("endpoint__collection", "message")
    is_retried = True
    is_timed = True

    def run(self, lease: leases.Lease[Delivery]) -> None:
        from rubricweb.webhooks import deliveries  # httpx: commands and web processes start without it

        deliveries.deliver(lease)

    def claimable(self) -> QuerySet[Delivery]:
        """Return what is due, to live endpoints that do not rest."""
        is_awake = Q(rests_until=None) | Q(rests_until__lte=Now())
        awake = Endpoint.objects.live().filter(is_awake, pk=OuterRef("endpoint"))
        return Delivery.objects.filter(Exists(awake), not_before__lte=Now())

    def label(self, work: Delivery) -> str:
        return f"webhook message {work.message.uid}"

    def on_ended(self, work: Delivery, *, error: str) -> None:
        Delivery.objects.filter(pk=work.pk).update(error=error, ended_at=Now())
