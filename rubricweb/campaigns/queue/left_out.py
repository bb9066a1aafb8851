"""Cells that a campaign has and nobody rates now: only runs that are not accepted bring their passages."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q

from rubricweb.campaigns.queue.models import Campaign, CampaignCell
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pools import collection_pool


def has_absent_runs(collection: str) -> Exists:
    """Whether runs of the row's collection, at this path, are not accepted; if none is, no cell is left out.

    It spares the queries of each rating the look at the pool.
    """
    return Exists(Run.objects.not_accepted().filter(collection=OuterRef(collection)))


def is_left_out(cell: Any, collection: Collection) -> bool:  # Any: a cell with `has_absent_runs`
    """Whether the passage of the annotated cell counts no more."""
    return bool(cell.has_absent_runs) and collection_pool(collection).is_left_out(
        cell.topic_id, cell.passage_id
    )


def left_out_turns(campaign: Campaign) -> Exists:
    """Turns of passages that count no more, since only runs that are not accepted bring them."""
    places = Q(pk__in=())
    for topic, passages in collection_pool(campaign.collection).left_out.items():
        places |= Q(topic=topic, passage__in=passages)
    return Exists(CampaignCell.objects.filter(places, pk=OuterRef("cell")))
