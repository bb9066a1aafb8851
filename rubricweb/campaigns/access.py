"""Fetch and authorise in one call, always through the collection."""

from __future__ import annotations

from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import Membership, User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns import adjudication, ratable
from rubricweb.campaigns.models import Campaign, CampaignCell, Decision, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.access import collection_for, pooled_passage
from rubricweb.corpus.models import Collection
from rubricweb.grades.visibility import hidden_of_cell

Rows = TypeVar("Rows", bound=QuerySet[Any])


def campaign_for(user: User, slug: str, campaign_id: int, *, needed: roles.Role = roles.TO_RATE) -> Campaign:
    """Return a campaign of the collection; where people were named, others may not work on it."""
    for campaign in _campaign_with_access(user.pk, slug, campaign_id):
        _require(campaign, campaign, user, needed)
        return campaign
    collection_for(user, slug, needed=needed)
    raise Http404("No such campaign.")


@compiled_once
def _campaign_with_access(user: int, slug: str, campaign: int) -> QuerySet[Campaign, Campaign]:
    rows = Campaign.objects.select_related("collection", "bank").filter(collection__slug=slug, pk=campaign)
    return _with_access(rows.order_by(), user, campaign="pk", collection="collection")


def cell_for(user: User, slug: str, campaign_id: int, cell_id: int) -> CampaignCell:
    """Return a cell of a campaign that the user may work on.

    Nobody works on cells of secret items, and of passages that no accepted run brings any more.
    """
    for cell in _cell_with_access(user.pk, campaign_id, cell_id):
        if cell.campaign.collection.slug == slug and not ratable.is_left_out(cell, cell.campaign.collection):
            _require(cell, cell.campaign, user, roles.TO_RATE)
            return cell
    campaign_for(user, slug, campaign_id)
    raise Http404("No such pair.")


@compiled_once
def _cell_with_access(user: int, campaign: int, cell: int) -> QuerySet[CampaignCell]:
    rows = CampaignCell.objects.select_related("campaign__collection", "config").order_by()
    rows = rows.filter(campaign=campaign, pk=cell, revision__is_secret=False)
    rows = rows.annotate(has_absent_runs=ratable.has_absent_runs("campaign__collection"))
    return _with_access(rows, user, campaign="campaign", collection="campaign__collection")


def _with_access(rows: Rows, user: int, *, campaign: str, collection: str) -> Rows:
    """Add to each row the user's role, and whether the campaign is open to them.

    A campaign without named people is open to everybody; the standing campaign to those who have cells in it.
    """
    held = Membership.objects.filter(user=user, collection=OuterRef(collection)).values("role")
    named = Campaign.assignees.through.objects.filter(campaign=OuterRef(campaign))
    turns = Turn.objects.filter(campaign=OuterRef(campaign), person=user)
    return rows.annotate(
        held=Subquery(held[:1]),
        has_turns=Exists(turns),
        is_named=Q(~Exists(named) | Exists(named.filter(user=user))),
    )


def _require(row: Any, campaign: Campaign, user: User, needed: roles.Role) -> None:
    """Raise PermissionDenied unless the user may work on the campaign; `row` is one of `_with_access`."""
    roles.remember(user, campaign.collection_id, row.held)
    held = roles.require(user, campaign.collection, needed)
    may_work = row.has_turns if campaign.is_standing else row.is_named
    if not may_work and not held.includes(roles.TO_ORGANIZE):
        raise PermissionDenied("This campaign is for other assessors.")


def place_for(
    user: User, slug: str, revision_id: int, passage_id: int
) -> tuple[Collection, adjudication.CellKey]:
    collection = collection_for(user, slug, needed=roles.TO_DECIDE)
    revisions = ItemRevision.objects.filter(topic__collection=collection).select_related("topic")
    revision = get_object_or_404(revisions, pk=revision_id)
    pooled_passage(collection, revision.topic_id, passage_id)
    if hidden_of_cell(user, revision.topic, revision.pk, passage_id).ratings:
        raise PermissionDenied("Rate this pair before you see other people's ratings.")
    return collection, adjudication.CellKey(revision.topic_id, revision.pk, passage_id)


def decision_for(user: User, slug: str, decision_id: int) -> tuple[Collection, Decision]:
    collection = collection_for(user, slug, needed=roles.TO_DECIDE)
    return collection, get_object_or_404(Decision, pk=decision_id, topic__collection=collection)
