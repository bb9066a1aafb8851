"""What assessors may not see yet of a cell that they shall rate.

These are other people's ratings and, in a blind campaign, grades.

`grades.visibility` calls `cells_to_rate` wherever ratings are read.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.urls import reverse

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.access import Held
from rubricweb.banks.models import Item
from rubricweb.campaigns.leases import LEASE
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.core.compiled import compiled_once
from rubricweb.grades.human_models import HumanGrade

_RESERVED = Q(state=Turn.State.LEASED, assigned_by=None, rating=None)
"""Turns that are leased, and neither assigned to the person nor rated before."""
_RATED_AND_UNDONE = Q(state=Turn.State.LEASED, rating__isnull=False)


def held_by_rating(person: User, item: Item) -> Held | None:
    """Return what keeps the person from changing the item, for `banks.access`: it is theirs to rate blind."""
    cells = cells_to_rate(person, item.bank.collection_id).filter(is_rated=False, item=item)
    cells = cells.exclude(campaign__mode=Campaign.Mode.ASSISTED)
    if (cell := cells.select_related("campaign").first()) is None:
        return None
    own = Turn.objects.filter(cell=OuterRef("pk"), person=person, state=Turn.State.LEASED)
    named = Campaign.assignees.through.objects.filter(campaign=OuterRef("campaign"), user=person)
    taken = cells.filter(Exists(own.filter(assigned_by=None, comment="")), ~Exists(named))
    place = [item.bank.collection.slug, cell.campaign_id]
    return Held(
        item,
        finish_at=reverse("campaigns:queue", args=place),
        release_at=reverse("campaigns:queue-stop", args=place) if taken.count() == cells.count() else "",
    )


def cells_to_rate(person: User | None, collection_id: int) -> QuerySet[Any]:  # annotated cells
    """Return the cells of open campaigns that the person has, or may be handed, as `grades.visibility` asks.

    Topic developers and organizers see everything except cells that they took or were named for; a cell is
    taken once they begin to rate (`_taken_by`). For a public link (None) nothing counts as rated, since any
    assessor may be reading.
    """
    if not _open(collection_id):
        return _no_cells()  # a page asks several times, and the next query is a long one
    assisted = When(campaign__mode=Campaign.Mode.ASSISTED, then=Value(False))
    place = {"revision": OuterRef("revision"), "passage": OuterRef("passage")}
    rated = Exists(HumanGrade.objects.filter(by=person, is_withdrawn=False, **place))
    cells = CampaignCell.objects.filter(
        campaign__collection=collection_id, campaign__closed_at=None
    ).annotate(
        hides_graders=Case(assisted, default=True, output_field=BooleanField()),
        since=F("campaign__at"),
        is_rated=rated if person is not None else Value(False, output_field=BooleanField()),
    )
    if person is None:
        return cells
    mine = Exists(_taken_by(person).filter(cell=OuterRef("pk")))
    reachable = mine | Exists(
        Campaign.assignees.through.objects.filter(campaign=OuterRef("campaign"), user=person)
    )
    held = roles.role_in(person, collection_id)
    if held and held.includes(roles.TO_RATE) and not held.includes(roles.TO_EDIT_BANK):
        reachable |= Q(campaign__assignees=None, campaign__is_standing=False)
    return cells.filter(reachable)


def _taken_by(person: User) -> QuerySet[Turn]:
    """Return the person's turns, without the cells that an open page only reserves for them.

    A page reserves its first cells, so that nobody else gets them; that hides nothing and stops no edit. They
    are taken with the first rating: from then on everything counts that the person holds, also what was
    leased up to LEASE after that rating, while the page goes on.
    """
    same = Turn.objects.filter(campaign=OuterRef("campaign"), person=person).order_by()
    since = ExpressionWrapper(OuterRef("taken_at") - Value(LEASE), output_field=DateTimeField())
    has_begun = Exists(same.filter(done_at__gte=since)) | Exists(same.filter(_RATED_AND_UNDONE))
    return Turn.objects.filter(~_RESERVED | has_begun, person=person)


@cache
def _no_cells() -> QuerySet[Any]:
    """Return no cells, with what `cells_to_rate` says of each."""
    false = Value(False, output_field=BooleanField())
    cells = CampaignCell.objects.annotate(hides_graders=false, since=F("campaign__at"), is_rated=false)
    return cells.none()


@compiled_once
def _open(collection: int) -> QuerySet[Campaign, int]:
    """Return an open campaign, if there is one."""
    return Campaign.objects.filter(collection=collection, closed_at=None).values_list("pk", flat=True)[:1]
