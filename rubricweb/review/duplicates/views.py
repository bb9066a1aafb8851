"""The near-duplicates of a collection, and the search for them."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.duplicates.actions import start_search
from rubricweb.corpus.duplicates.selectors import last_attempt, latest_search
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import banks
from rubricweb.grades.raters import raters
from rubricweb.review.duplicates import selectors
from rubricweb.review.duplicates.forms import DuplicatesForm, SearchForm

PAGE = "review/duplicates/duplicates.html"
PAGE_GROUPS = 10


@require_safe
def duplicates(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the groups in pools with their grades side by side."""
    collection = collection_for(request.user, slug)
    context = {**_listed(request, collection), "search_form": SearchForm()}
    return page_or_part(request, PAGE, context, part="duplicates")


@require_POST
def duplicates_search(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a worker look for near-duplicates."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = SearchForm(request.POST)
    if not form.is_valid():
        context = {**_listed(request, collection), "search_form": form, "form": form}
        return form_response(request, PAGE, context, part="duplicates")
    start_search(collection, threshold=form.cleaned_data["threshold"], by=request.user)
    return redirect("review:duplicates", slug)


def _listed(request: HtmxRequest, collection: Collection) -> Context:
    form, search = DuplicatesForm(request.GET, banks(collection)), latest_search(collection)
    bank = form.chosen_bank
    offered = raters(bank) if bank else ()
    rater = form.offer(offered) if offered else None
    context = {"collection": collection, "section": "review", "tab": "duplicates", "look": form}
    context |= {"bank": bank, "rater": rater, "search": search, "attempt": last_attempt(collection)}
    if search is None:
        return context
    groups = selectors.pooled_groups(collection, search, bank, rater)
    page = Paginator(groups, PAGE_GROUPS).get_page(form.value("page", 1))
    context |= {"page": page, "totals": selectors.totals(groups), "marked": search.members.count()}
    return context | {"groups": selectors.shown_groups(collection, bank, page)}
