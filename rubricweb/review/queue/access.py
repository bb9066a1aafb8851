"""Fetch and authorise in one call, always through the collection."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.access import collection_for
from rubricweb.review.queue.models import Campaign, CampaignCell


def campaign_for(user: User, slug: str, campaign_id: int, *, needed: Role = roles.TO_ASSESS) -> Campaign:
    """A campaign of the collection; who was not named where people were may not work on it."""
    collection = collection_for(user, slug, needed=needed)
    campaign: Campaign = get_object_or_404(
        collection.campaigns.select_related("collection", "bank"), pk=campaign_id
    )
    held = roles.role_of(user, collection)
    if held is not None and not held.includes(roles.TO_ORGANIZE) and not is_named(user, campaign):
        raise PermissionDenied("This campaign is for other assessors.")
    return campaign


def is_named(user: User, campaign: Campaign) -> bool:
    """Everybody is where nobody is named; in the standing campaign, who has cells there."""
    if campaign.is_standing:
        return campaign.turns.filter(person=user).exists()
    named = list(campaign.people.values_list("pk", flat=True))
    return not named or user.pk in named


def cell_for(user: User, slug: str, campaign_id: int, cell_id: int) -> CampaignCell:
    """A cell of a campaign that the user may work on."""
    campaign = campaign_for(user, slug, campaign_id)
    rows = campaign.cells.select_related("topic", "item__revision", "revision", "passage", "config")
    cell: CampaignCell = get_object_or_404(rows, pk=cell_id)
    cell.campaign = campaign
    return cell
