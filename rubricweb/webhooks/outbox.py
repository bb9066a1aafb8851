"""The outbox of events, which are written in the transaction of what they tell.

What is rolled back is never sent, and what is committed is sent even if the process dies the moment after.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse_lazy
from django.utils import timezone

from rubricweb.corpus.models import Collection
from rubricweb.jobs import queue
from rubricweb.webhooks.models import Delivery, Endpoint, EventType, Message

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise
    from django.utils.functional import _StrPromise as StrPromise

    from rubricweb.jobs.models import Job

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
    _forget_old(collection)
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


def _forget_old(collection: Collection) -> None:
    """Delete messages that are long over."""
    live: Iterable[str] = Delivery.LIVE
    on_its_way = Delivery.objects.filter(message=OuterRef("pk"), state__in=live)
    old = collection.webhook_messages.filter(~Exists(on_its_way), at__lt=timezone.now() - KEPT)
    old.delete()
