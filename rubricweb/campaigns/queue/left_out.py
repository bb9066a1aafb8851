"""Cells that a campaign has and hands out no more: only runs that are not accepted bring their passages, or
their wording has become secret.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from rubricweb.campaigns.queue.models import Campaign, CampaignCell, Turn
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
    return Exists(CampaignCell.objects.filter(_left_out(campaign.collection), pk=OuterRef("cell")))


def unasked(turns: QuerySet[Turn], collection: Collection) -> QuerySet[Turn]:
    """Those of `turns` that are not done and are handed out no more, so that they leave the total."""
    return _unasked(turns, Q(revision__is_secret=True) | _left_out(collection))


def unasked_secrets(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    """As `unasked`, where every run of the collection is accepted."""
    return _unasked(turns, Q(revision__is_secret=True))


def _unasked(turns: QuerySet[Turn], cells: Q) -> QuerySet[Turn]:
    is_away = Exists(CampaignCell.objects.filter(cells, pk=OuterRef("cell")))
    return turns.filter(is_away, state__in=(Turn.State.PENDING, Turn.State.LEASED))


def _left_out(collection: Collection) -> Q:
    places = Q(pk__in=())
    for topic, passages in collection_pool(collection).left_out.items():
        places |= Q(topic=topic, passage__in=passages)
    return places
