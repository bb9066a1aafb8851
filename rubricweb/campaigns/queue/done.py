"""Tell webhooks of campaigns that are done: closed, or without a turn that somebody has or may take.

This follows from the rows whenever a worker looks, so that of two who hand in the last turns at once neither
has to know, and that assessors wait for nothing.
"""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.urls import reverse

from rubricweb.campaigns.queue.models import Campaign, Turn
from rubricweb.webhooks import outbox
from rubricweb.webhooks.models import Announced, EventType

State = Turn.State


def announce_done() -> int:
    """Tell of each campaign once, and return of how many. For workers, every few seconds."""
    asked = outbox.listened_to(EventType.CAMPAIGN_DONE).items()
    done = [campaign for collection, since in asked for campaign in _done(collection, since)]
    return sum(_announce(campaign) for campaign in done)


def _done(collection_id: int, since: dt.datetime) -> QuerySet[Campaign]:
    """Return what was done after `since` and nobody was told of."""
    turns = Turn.objects.filter(campaign=OuterRef("pk"))
    is_open = turns.filter(state__in=(State.PENDING, State.LEASED), cell__revision__is_secret=False)
    campaigns = Campaign.objects.filter(collection=collection_id, is_standing=False)
    ended = campaigns.annotate(last=Max("turns__done_at")).filter(
        Q(closed_at__gte=since) | (Q(last__gte=since) & ~Exists(is_open))
    )
    told = Announced.objects.filter(collection=collection_id).values_list("subject", flat=True)
    known = [int(subject.partition(" ")[2]) for subject in told if subject.startswith("campaign ")]
    return ended.exclude(pk__in=known).select_related("collection", "bank")


@transaction.atomic
def _announce(campaign: Campaign) -> bool:
    collection = campaign.collection
    _, is_new = Announced.objects.get_or_create(collection=collection, subject=f"campaign {campaign.pk}")
    if is_new:
        named = {"id": campaign.pk, "name": campaign.name, "is_closed": not campaign.is_open}
        page = reverse("campaigns:campaigns", args=[collection.slug])
        details = {"campaign": named, "bank": {"id": campaign.bank_id, "name": campaign.bank.name}}
        api = outbox.api_address("campaign", collection.slug, campaign.pk)
        outbox.write(collection, EventType.CAMPAIGN_DONE, {**details, "page": page, "api": api})
    return is_new
