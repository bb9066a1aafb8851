"""Conflicts between assessors: the list, one case, and a person's overruled ratings."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseBadRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.campaigns.adjudication import access, actions, selectors
from rubricweb.campaigns.adjudication.decisions import ratings_by_person
from rubricweb.campaigns.adjudication.forms import ConflictsForm, DecideForm
from rubricweb.campaigns.agreement.latest_ratings import CellKey
from rubricweb.campaigns.errors import DecidedMeanwhile, NotYourDecision
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.core.undo import offer_undo
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection

PAGE_ROWS = 50


@require_safe
def adjudication(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the cells on which assessors disagree."""
    collection = collection_for(request.user, slug, needed=access.TO_ADJUDICATE)
    form = ConflictsForm(request.GET, collection)
    inbox = selectors.inbox(collection, form.query, request.user)
    page = Paginator(inbox.rows, PAGE_ROWS).get_page(request.GET.get("page"))
    context = {
        "collection": collection,
        "section": "review",
        "tab": "adjudication",
        "form": form,
        "inbox": inbox,
        "page": page,
        "most": actions.MOST_AT_ONCE,
        "address": request.GET.urlencode(),
    }
    return page_or_part(request, "campaigns/adjudication/adjudication.html", context, part="inbox")


@require_http_methods(["GET", "HEAD", "POST"])
def case(request: HtmxRequest, slug: str, revision_id: int, passage_id: int) -> HttpResponse:
    """Show one cell; POST decides it and goes on to the next."""
    collection, place = access.place_for(request.user, slug, revision_id, passage_id)
    if request.method != "POST":
        return _case(request, collection, place)
    form = DecideForm(request.POST, selectors.meanings(place, ratings_by_person(place)))
    if not form.is_valid():
        return HttpResponseBadRequest(form.errors.as_text())
    after = _next(request, collection, place)
    try:
        decision = actions.decide(place, by=request.user, **form.cleaned_data)
    except DecidedMeanwhile as moved:
        conflict = _case(request, collection, place, {"theirs": moved.now, "mine": form.cleaned_data})
        conflict.status_code = 409
        return conflict
    undo_at = f"{reverse('campaigns:decision-withdraw', args=[slug, decision.pk])}?{request.GET.urlencode()}"
    offer_undo(request, f"Decided: {decision.rating}.", undo_at)
    return _go(request, collection, after, has_decided=True)


@require_POST
def withdraw(request: HtmxRequest, slug: str, decision_id: int) -> HttpResponse:
    """Withdraw the user's own decision."""
    collection, decision = access.decision_for(request.user, slug, decision_id)
    try:
        actions.withdraw(decision, by=request.user)
    except NotYourDecision as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, gettext("Decision withdrawn."))
    return _go(request, collection, CellKey(decision.topic_id, decision.revision_id, decision.passage_id))


@require_POST
def accept_unanimous(request: HtmxRequest, slug: str) -> HttpResponse:
    """Accept the ratings that two or more assessors agree on."""
    collection = collection_for(request.user, slug, needed=access.TO_ADJUDICATE)
    campaign = ConflictsForm(request.GET, collection).chosen
    accepted = actions.accept_unanimous(collection, by=request.user, campaign=campaign)
    messages.success(
        request,
        ngettext("%(count)s unanimous cell accepted.", "%(count)s unanimous cells accepted.", accepted)
        % {"count": accepted},
    )
    return redirect(f"{reverse('campaigns:adjudication', args=[slug])}?{request.GET.urlencode()}")


@require_safe
def overruled(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the user's ratings that decisions contradict."""
    collection = collection_for(request.user, slug, needed=roles.TO_ASSESS)
    rows = selectors.overruled(collection, request.user)
    context = {"collection": collection, "section": "review", "tab": "adjudication", "rows": rows}
    return page_or_part(request, "campaigns/adjudication/overruled.html", context, part="feed")


def _next(request: HtmxRequest, collection: Collection, place: CellKey) -> CellKey | None:
    """Return the case after this one in the list; call it before the decision removes this one."""
    query = ConflictsForm(request.GET, collection).query
    places = [row.place for row in selectors.inbox(collection, query, request.user).rows]
    after = places.index(place) + 1 if place in places else 0
    rest = [other for other in (*places[after:], *places[:after]) if other != place]
    return rest[0] if rest else None


def _go(
    request: HtmxRequest, collection: Collection, to: CellKey | None, *, has_decided: bool = False
) -> HttpResponse:
    if to is None:
        address = reverse("campaigns:adjudication", args=[collection.slug])
        leave = redirect(f"{address}?{request.GET.urlencode()}")
        return HttpResponse(headers={"HX-Redirect": leave.url}) if request.htmx else leave
    address = reverse("campaigns:case", args=[collection.slug, to.revision, to.passage])
    if not request.htmx:
        return redirect(f"{address}?{request.GET.urlencode()}")
    response = _case(request, collection, to, {"has_decided": has_decided})
    response["HX-Push-Url"] = f"{address}?{request.GET.urlencode()}"
    return response


def _case(
    request: HtmxRequest, collection: Collection, place: CellKey, more: dict[str, object] | None = None
) -> HttpResponse:
    form = ConflictsForm(request.GET, collection)
    listed = selectors.inbox(collection, form.query, request.user).rows
    context = {
        "collection": collection,
        "section": "review",
        "tab": "adjudication",
        "case": selectors.case(collection, place, form.query, listed),
        "address": request.GET.urlencode(),
        **(more or {}),
    }
    response = page_or_part(request, "campaigns/adjudication/case.html", context, part="case")
    response.status_code = 409 if "theirs" in context else 200
    return response
