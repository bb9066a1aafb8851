"""Campaigns, their progress, and the assessor's queue."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest, HttpResponseForbidden, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import CONTRADICTS
from rubricweb.accounts import roles
from rubricweb.campaigns import access, actions, leases, progress, selectors
from rubricweb.campaigns.actions import NothingToUndo, NotYours
from rubricweb.campaigns.models import Campaign, CampaignCell
from rubricweb.campaigns.ratable import Meanings, meanings_of
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import RatedMeanwhile

MAX_COMMENT = 2_000
REASONS = ("the passage cannot be read", "the item is unclear", "not my field", "another reason")


@require_safe
def campaigns(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the collection's campaigns: where the user may rate, and the progress of each."""
    collection = collection_for(request.user, slug)
    context = {"collection": collection, "rows": progress.campaign_rows(collection, request.user)}
    return page_or_part(request, "campaigns/queue/campaigns.html", context, part="campaigns")


@require_safe
def campaign(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Open a campaign in the list: who did how much, who holds which cell, and what was skipped."""
    opened = access.campaign_for(request.user, slug, campaign_id, needed=roles.TO_ORGANIZE)
    context = {
        "collection": opened.collection,
        "rows": progress.campaign_rows(opened.collection, request.user),
        "campaign": opened,
        "progress": progress.progress(opened, request.user),
        "topics": progress.topic_rows(opened),
    }
    return page_or_part(request, "campaigns/queue/campaigns.html", context, part="campaigns")


@require_POST
def campaign_state(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Close the campaign, or open it again: what the button said, however often it is pressed."""
    campaign = access.campaign_for(request.user, slug, campaign_id, needed=roles.TO_ORGANIZE)
    is_to_open = request.POST.get("state") == "open"
    if is_to_open != campaign.is_open:
        change = actions.reopen_campaign if is_to_open else actions.close_campaign
        change(campaign, by=request.user)
    messages.success(request, "Campaign opened again." if is_to_open else "Campaign closed.")
    return redirect("campaigns:campaign", slug, campaign_id)


class RateForm(forms.Form):
    """A rating; `seen` is the number of the person's latest event for the cell."""

    rating = forms.TypedChoiceField(coerce=int)
    seen = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    comment = forms.CharField(required=False, max_length=MAX_COMMENT)

    def __init__(self, data: QueryDict, meanings: Meanings) -> None:
        super().__init__(data)
        offer_choices(self, "rating", meanings)


class CommentForm(forms.Form):
    comment = forms.CharField(required=False, max_length=MAX_COMMENT)


class SkipForm(forms.Form):
    reason = forms.CharField(max_length=200)
    uid = forms.UUIDField()


class UndoForm(forms.Form):
    uid = forms.UUIDField()


@require_safe
def queue(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Show the cell to rate, and the one after it; without any, a button for the next ones."""
    campaign = access.campaign_for(request.user, slug, campaign_id)
    return _queue_page(request, campaign)


@require_POST
def queue_next(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Lease the next cell to the user, and the one after it."""
    campaign = access.campaign_for(request.user, slug, campaign_id)
    return _after(request, campaign)


@require_http_methods(["GET", "HEAD", "POST"])
def queue_cell(request: HtmxRequest, slug: str, campaign_id: int, cell_id: int) -> HttpResponse:
    """Show a cell that the user has or had; POST rates it."""
    cell = access.cell_for(request.user, slug, campaign_id, cell_id)
    if request.method != "POST":
        return _queue_page(request, cell.campaign, selectors.Looking(cell), mine=_rating_of(request))
    form = RateForm(request.POST, meanings_of(cell.config))
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    try:
        turn = actions.rate(cell, by=request.user, **form.cleaned_data)
    except RatedMeanwhile:
        looking = selectors.Looking(cell)
        return _queue_page(request, cell.campaign, looking, mine=form.cleaned_data["rating"], status=409)
    leases.take_missing(cell.campaign, request.user)
    is_first_look = turn.event is not None and turn.event.how == HumanGrade.How.BLIND
    shows_it = request.htmx or is_first_look
    return _show(request, cell.campaign, cell if shows_it else None, rating=turn.event)


@require_POST
def queue_skip(request: HtmxRequest, slug: str, campaign_id: int, cell_id: int) -> HttpResponse:
    """Give a cell up, with a reason."""
    cell = access.cell_for(request.user, slug, campaign_id, cell_id)
    form = SkipForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    try:
        actions.skip(cell, by=request.user, **form.cleaned_data)
    except NotYours as refusal:
        messages.warning(request, str(refusal))
    return _after(request, cell.campaign)


@require_POST
def queue_comment(request: HtmxRequest, slug: str, campaign_id: int, cell_id: int) -> HttpResponse:
    """Save the comment on a cell that the user has, rated or not."""
    cell = access.cell_for(request.user, slug, campaign_id, cell_id)
    form = CommentForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    try:
        actions.comment(cell, text=form.cleaned_data["comment"], by=request.user)
    except NotYours as refusal:
        return HttpResponseForbidden(str(refusal))
    if request.htmx:
        return HttpResponse(status=204)
    return redirect("campaigns:queue-cell", slug, campaign_id, cell_id)


@require_POST
def queue_undo(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Undo the user's latest action, and go back to its cell."""
    campaign = access.campaign_for(request.user, slug, campaign_id)
    form = UndoForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    try:
        turn = actions.undo(campaign, by=request.user, uid=form.cleaned_data["uid"])
    except NothingToUndo as refusal:
        messages.warning(request, str(refusal))
        return _after(request, campaign)
    return _after(request, campaign, turn.cell)


@require_POST
def queue_beat(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Renew the leases of the open page."""
    campaign = access.campaign_for(request.user, slug, campaign_id)
    leases.renew(campaign, request.user)
    return HttpResponse(status=204)


@require_POST
def queue_stop(request: HtmxRequest, slug: str, campaign_id: int) -> HttpResponse:
    """Give back the cells that are not rated, so that others may take them."""
    campaign = access.campaign_for(request.user, slug, campaign_id)
    leases.hand_back(campaign, request.user)
    to = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure()):
        return redirect(to)
    return redirect("home:work", slug)


def _rating_of(request: HtmxRequest) -> int | None:
    """Return the rating in the address, refused because another window had rated the cell."""
    rating = request.GET.get("mine", "")
    return int(rating) if rating in {*"012345", str(CONTRADICTS)} else None


def _cells_on_page(request: HtmxRequest) -> frozenset[int]:
    """Return the keys of the cells that the page has already, as its script says."""
    return frozenset(int(key) for key in request.POST.get("known", "").split(",") if key.isdecimal())


def _after(request: HtmxRequest, campaign: Campaign, cell: CampaignCell | None = None) -> HttpResponse:
    leases.top_up(campaign, request.user)
    return _show(request, campaign, cell)


def _show(
    request: HtmxRequest,
    campaign: Campaign,
    cell: CampaignCell | None = None,
    *,
    rating: HumanGrade | None = None,
) -> HttpResponse:
    """Render the queue, or redirect to it; `rating` is the user's latest rating of `cell`, if known."""
    if request.htmx:
        return _queue_page(request, campaign, selectors.Looking(cell, rating, _cells_on_page(request)))
    leases.renew(campaign, request.user)  # no heartbeat does it without scripts
    if cell is not None:
        return redirect("campaigns:queue-cell", campaign.collection.slug, campaign.pk, cell.pk)
    return redirect(reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk]))


def _queue_page(
    request: HtmxRequest,
    campaign: Campaign,
    looking: selectors.Looking = selectors.NOWHERE,
    *,
    mine: int | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "collection": campaign.collection,
        "campaign": campaign,
        "queue": selectors.queue_page(campaign, request.user, looking),
        "looked_at": None if looking.rating else looking.cell,
        "mine": mine,
        "reasons": REASONS,
    }
    response = page_or_part(request, "campaigns/queue/queue.html", context, part="queue")
    response.status_code = status
    return response
