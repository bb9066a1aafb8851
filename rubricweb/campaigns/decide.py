"""Decide between assessors: the page and its forms."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBadRequest, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.types import MAX_RATING, USUAL_MIN_GRADE
from rubricweb.accounts import roles
from rubricweb.campaigns import access, adjudication
from rubricweb.campaigns.adjudication import DecidedMeanwhile, NeedsReason, NotYourDecision, ratings_by_person
from rubricweb.campaigns.conflicts import (
    ConflictQuery,
    conflicts,
    decide_page,
    in_order,
    meanings,
    next_waiting,
    overruled,
)
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.ratable import Meanings
from rubricweb.core.formatting import counted, rating_words
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import Context, HtmxRequest, offer_undo, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import AddressForm, select_at_once

PAGE = "campaigns/adjudication/decide.html"


class ConflictsForm(ChipForm, AddressForm):
    """The criteria of a conflict, and whether usernames are shown; they stay in the addresses."""

    outdated = ("page",)
    in_toolbar = ("campaign", "distance", "min_grade", "names")

    campaign = select_at_once("Campaign", ())
    names = select_at_once("Assessors", [("", "pseudonyms"), ("1", "names")])
    distance = select_at_once(
        "Ratings differ by more than",
        [(str(number), str(number)) for number in range(MAX_RATING)],
        initial="1",
    )
    min_grade = select_at_once(
        "or lie on both sides of",
        [(str(number), str(number)) for number in range(1, MAX_RATING + 1)],
        initial=str(USUAL_MIN_GRADE),
    )

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        super().__init__(address)
        self.campaigns = {str(campaign.pk): campaign for campaign in collection.campaigns.all()}
        named = [(pk, campaign.name) for pk, campaign in self.campaigns.items()]
        offer_choices(self, "campaign", [("", "any"), *named])

    @property
    def chosen(self) -> Campaign | None:
        return self.campaigns.get(self.value("campaign", ""))

    @property
    def shows_names(self) -> bool:
        return bool(self.value("names", ""))

    @property
    def query(self) -> ConflictQuery:
        return ConflictQuery(
            campaign=self.chosen,
            distance=int(self.value("distance", "1")),
            min_grade=int(self.value("min_grade", USUAL_MIN_GRADE)),
            shows_names=self.shows_names,
        )


class DecideForm(forms.Form):
    """A decision; `seen` is the number of the latest one that the adjudicator saw."""

    rating = forms.TypedChoiceField(coerce=int)
    seen = forms.IntegerField(min_value=0)
    uid = forms.UUIDField()
    reason = forms.CharField(required=False, max_length=2_000)

    def __init__(self, data: QueryDict, meanings: Meanings) -> None:
        super().__init__(data)
        offer_choices(self, "rating", meanings)


@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show a passage with its conflicts; POST decides the one in the address and goes on to the next.

    Assessors, and whoever asks for `mine`, see their own ratings that a decision overruled.
    """
    collection = collection_for(request.user, slug, needed=roles.TO_RATE)
    if request.method == "POST":
        roles.require(request.user, collection, roles.TO_DECIDE)
        return _save(request, collection)
    decides = roles.holds(request.user, collection, roles.TO_DECIDE)
    if "mine" in request.GET or not decides:
        rows = overruled(collection, request.user)
        context = {"collection": collection, "decides": decides, "rows": rows}
        return page_or_part(request, PAGE, context, part="feed")
    return _show(request, collection, at=_place_in(request.GET))


@require_POST
def withdraw(request: HtmxRequest, slug: str, decision_id: int) -> HttpResponse:
    """Withdraw the user's own decision, and show its conflict again."""
    collection, decision = access.decision_for(request.user, slug, decision_id)
    try:
        adjudication.withdraw(decision, by=request.user)
    except NotYourDecision as refusal:
        messages.error(request, str(refusal))
    return _go(request, collection, (decision.revision_id, decision.passage_id))


@require_POST
def accept_unanimous(request: HtmxRequest, slug: str) -> HttpResponse:
    """Accept the ratings that two or more assessors agree on."""
    collection = collection_for(request.user, slug, needed=roles.TO_DECIDE)
    campaign = ConflictsForm(request.GET, collection).chosen
    accepted = adjudication.accept_unanimous(collection, by=request.user, campaign=campaign)
    messages.success(request, f"Accepted {counted(accepted, 'pair')} where people agree.")
    return redirect(f"{reverse('campaigns:decide', args=[slug])}?{_kept(request)}")


def _save(request: HtmxRequest, collection: Collection) -> HttpResponse:
    at = _place_in(request.GET)
    if at is None:
        return HttpResponseBadRequest("Name the pair to decide.")
    collection, place = access.place_for(request.user, collection.slug, *at)
    form = DecideForm(request.POST, meanings(place, ratings_by_person(place)))
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    query = ConflictsForm(request.GET, collection).query
    before = in_order(conflicts(collection, query, request.user))
    try:
        decision = adjudication.decide(place, by=request.user, **form.cleaned_data)
    except DecidedMeanwhile as moved:
        more: Context = {"theirs": moved.now, "mine": form.cleaned_data}
        return _show(request, collection, at=at, more=more, status=409)
    except NeedsReason as refusal:
        return _show(request, collection, at=at, more={"refusal": str(refusal)}, status=422)
    undo_at = (
        f"{reverse('campaigns:decision-withdraw', args=[collection.slug, decision.pk])}?{_kept(request)}"
    )
    offer_undo(request, f"Decided {rating_words(decision.rating)}.", undo_at)
    after = next_waiting(conflicts(collection, query, request.user), before, place, request.user)
    return _go(request, collection, after[1:] if after else None)


def _go(request: HtmxRequest, collection: Collection, at: tuple[int, int] | None) -> HttpResponse:
    address = f"{reverse('campaigns:decide', args=[collection.slug])}?{_kept(request, at)}"
    if not request.htmx:
        return redirect(address)
    response = _show(request, collection, at=at)
    response["HX-Push-Url"] = address
    return response


def _show(
    request: HtmxRequest,
    collection: Collection,
    *,
    at: tuple[int, int] | None,
    more: Context | None = None,
    status: int = 200,
) -> HttpResponse:
    form = ConflictsForm(request.GET, collection)
    context = {
        "collection": collection,
        "form": form,
        "page": decide_page(collection, form.query, request.user, at),
        "kept": _kept(request),
        "to": f"{here}&at=" if (here := f"?{_kept(request)}") != "?" else "?at=",
        "most": adjudication.MOST_AT_ONCE,
        "decides": True,
        **(more or {}),
    }
    response = page_or_part(request, PAGE, context, part="case")
    response.status_code = status
    return response


def _place_in(address: QueryDict) -> tuple[int, int] | None:
    """Return the (revision, passage) that the address names."""
    revision, _, passage = address.get("at", "").partition("-")
    place = (parse_id(revision), parse_id(passage))
    return (place[0], place[1]) if place[0] and place[1] else None


def _kept(request: HtmxRequest, at: tuple[int, int] | None = None) -> str:
    """Return the filters of the address, with another place."""
    address = request.GET.copy()
    address.pop("at", None)
    if at:
        address["at"] = f"{at[0]}-{at[1]}"
    return address.urlencode()
