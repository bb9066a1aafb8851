"""Organizers add, change and remove webhooks; events become messages, which workers deliver.

A message is written in the transaction of what it tells:
what is rolled back is never sent, and what is committed is sent even if the process dies the moment after.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.urls import reverse_lazy
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.jobs import kinds, leases, queue
from rubricweb.webhooks.models import Delivery, Endpoint, EventType, Message, new_secret

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise, _StrPromise as StrPromise

    from rubricweb.jobs.models import Job

EARLIER_SECRET_VALID = dt.timedelta(days=1)
MOST = 20
"""Endpoints of a collection."""
State = Delivery.State


class TooMany(Exception):
    """The collection has as many webhooks as it may; the text is for people."""


class NotOn(Exception):
    """The webhook is turned off; the text is for people."""


@dataclass(frozen=True, slots=True)
class WebhookFields:
    """What an organizer decides of a webhook."""

    address: str
    events: Sequence[str]
    """Values of `EventType`."""
    note: str = ""


@transaction.atomic
def add_webhook(collection: Collection, fields: WebhookFields, *, by: User | None) -> Endpoint:
    """Add a webhook, whose `secret` is shown now and never again. Raises TooMany."""
    if collection.webhooks.count() >= MOST:
        raise TooMany(f"A collection has at most {MOST} webhooks. Remove one first.")
    endpoint: Endpoint = collection.webhooks.create(
        address=fields.address, events=sorted(fields.events), note=fields.note, by=by
    )
    audit.record("webhook added", endpoint, by=by, detail=_detail(endpoint))
    return endpoint


@transaction.atomic
def change_webhook(endpoint: Endpoint, fields: WebhookFields, *, by: User | None) -> Endpoint:
    endpoint.address, endpoint.note = fields.address, fields.note
    endpoint.events = sorted(fields.events)
    endpoint.rests_until = None
    endpoint.save(update_fields=["address", "events", "note", "rests_until"])
    audit.record("webhook changed", endpoint, by=by, detail=_detail(endpoint))
    return endpoint


@transaction.atomic
def rotate_secret(endpoint: Endpoint, *, by: User | None) -> Endpoint:
    """Give it a new secret; for a day messages are signed with both."""
    endpoint.earlier_secret, endpoint.secret = endpoint.secret, new_secret()
    endpoint.earlier_until = timezone.now() + EARLIER_SECRET_VALID
    endpoint.save(update_fields=["secret", "earlier_secret", "earlier_until"])
    audit.record("webhook secret replaced", endpoint, by=by, detail=str(endpoint))
    return endpoint


@transaction.atomic
def turn_on(endpoint: Endpoint, *, by: User | None) -> Endpoint:
    """Have it on with the right of `by`. What was on its way when it was turned off goes on."""
    fresh = {"state": Endpoint.State.ON, "failing_since": None, "failures": 0, "rests_until": None, "by": by}
    off = Endpoint.objects.filter(pk=endpoint.pk).exclude(pk__in=Endpoint.objects.live().values("pk"))
    if off.update(**fresh):
        audit.record("webhook turned on", endpoint, by=by, detail=str(endpoint))
        endpoint.refresh_from_db()
        queue.enqueue(endpoint.deliveries.filter(state=State.QUEUED, not_before__lte=timezone.now()))
    return endpoint


@transaction.atomic
def turn_off(endpoint: Endpoint, *, by: User | None) -> Endpoint:
    """Turn the webhook off: nothing is sent to it, and nothing that happens meanwhile is kept for it."""
    rows = Endpoint.objects.filter(pk=endpoint.pk).exclude(state=Endpoint.State.OFF)
    if rows.update(state=Endpoint.State.OFF):
        audit.record("webhook turned off", endpoint, by=by, detail=str(endpoint))
    endpoint.refresh_from_db()
    return endpoint


@transaction.atomic
def remove_webhook(endpoint: Endpoint, *, by: User | None) -> None:
    """Delete the webhook and its delivery log."""
    audit.record("webhook removed", endpoint, by=by, detail=_detail(endpoint))
    endpoint.delete()


@transaction.atomic
def send_test(endpoint: Endpoint, *, by: User | None) -> Message:
    """Send a message that says nothing but that it is a test. Raises NotOn."""
    _require_on(endpoint)
    message = send(endpoint.collection, EventType.TEST, {"webhook": endpoint.pk}, to=[endpoint])
    audit.record("webhook tested", endpoint, by=by, detail=str(endpoint))
    return message


@transaction.atomic
def replay(delivery: Delivery, *, by: User | None) -> int:
    """Send it again, with the `webhook-id` that it had; 0 where it is on its way. Raises NotOn."""
    return _replay(delivery.endpoint, delivery.endpoint.deliveries.filter(pk=delivery.pk), by)


@transaction.atomic
def replay_failed(endpoint: Endpoint, *, since: dt.datetime, by: User | None) -> int:
    """Send again what failed of the messages since then, and return how many these are. Raises NotOn."""
    failed = endpoint.deliveries.filter(state=State.FAILED, message__at__gte=since)
    return _replay(endpoint, failed, by)


def _replay(endpoint: Endpoint, rows: QuerySet[Delivery], by: User | None) -> int:
    _require_on(endpoint)
    now = timezone.now()
    pks = list(rows.exclude(state__in=Delivery.LIVE).order_by("pk").values_list("pk", flat=True))
    fresh = {"state": State.QUEUED, "attempts": 0, "tries": 0, "ended_at": None, "worker": ""}
    again = Delivery.objects.filter(pk__in=pks).exclude(state__in=Delivery.LIVE)
    count = again.update(**fresh, not_before=now, queued_at=now)
    if count:
        audit.record("webhook messages sent again", endpoint, by=by, detail=f"{endpoint}: {count}")
        queue.enqueue(Delivery.objects.filter(pk__in=pks))
    return count


def _require_on(endpoint: Endpoint) -> None:
    if not endpoint.is_on:
        raise NotOn("This webhook is turned off. Turn it on first.")


def _detail(endpoint: Endpoint) -> str:
    return f"{endpoint.address}: {', '.join(endpoint.events)}"


KEPT = dt.timedelta(days=30)
"""So long a message and its log are kept."""
Details = Mapping[str, Any]  # what JSON holds, and lazy texts


@transaction.atomic
def write(collection: Collection, event: EventType, details: Details) -> Message | None:
    """Have `details` sent to every endpoint that asks for `event`; None where none does.

    They hold ids, names and links only: no item, no passage, and not who rated what.
    """
    endpoints = listening(collection.pk, event)
    return send(collection, event, details, to=endpoints) if endpoints else None


def listening(collection_id: int, event: EventType) -> list[Endpoint]:
    """Return the collection's endpoints that ask for `event`."""
    rows = Endpoint.objects.live().filter(collection=collection_id)
    return [endpoint for endpoint in rows if event in endpoint.events]


def listened_to(event: EventType) -> dict[int, dt.datetime]:
    """Return for each collection with an endpoint that asks for `event` since when one does."""
    rows = Endpoint.objects.live().order_by("-created_at")
    chosen = rows.values_list("collection", "events", "created_at")
    return {collection: since for collection, events, since in chosen if event in events}


def send(collection: Collection, event: EventType, details: Details, *, to: Sequence[Endpoint]) -> Message:
    """Write the message, with a delivery to each endpoint. Called in a transaction."""
    at = timezone.now()
    document = {
        "collection": {"id": collection.pk, "slug": collection.slug, "name": collection.name},
        **details,
    }
    whole = {"type": event.value, "timestamp": at.isoformat(), "data": document}
    body = json.dumps(whole, ensure_ascii=False, cls=DjangoJSONEncoder)
    message: Message = collection.webhook_messages.create(event=event, body=body, at=at)
    deliveries = Delivery.objects.bulk_create(
        Delivery(endpoint=endpoint, message=message, not_before=at) for endpoint in to
    )
    queue.enqueue(deliveries)
    live: Iterable[str] = Delivery.LIVE
    on_its_way = Delivery.objects.filter(message=OuterRef("pk"), state__in=live)
    old = collection.webhook_messages.filter(~Exists(on_its_way), at__lt=timezone.now() - KEPT)
    old.delete()
    return message


def job_ended(
    job: Job, collection: Collection, *, kind: str, page: StrOrPromise, api: StrOrPromise | None = None
) -> None:
    """Tell that `job` ended, in the transaction that ends it.

    `page` and `api` are the addresses where it is shown. They are lazy, because whoever looks up the first
    address of a process loads every page, which takes a second or more.
    """
    details = {"job": {"id": job.pk, "kind": kind, "state": str(job.state)}, "page": page}
    write(collection, EventType.JOB_ENDED, details if api is None else {**details, "api": api})


def api_address(name: str, *arguments: object) -> StrPromise:
    """Return the path of a resource of the API, which is a room above; it is looked up when it is read."""
    return reverse_lazy(f"api:{name}", args=arguments)


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
