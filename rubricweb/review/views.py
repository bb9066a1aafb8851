"""A topic's grid."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.models import Topic
from rubricweb.editor.bank import bank_page, topic_frame
from rubricweb.grades.raters import Rater, raters
from rubricweb.review import selectors
from rubricweb.review.forms import GridForm, address_kept, kept_fields
from rubricweb.review.item_card import item_card
from rubricweb.review.saved_views import saved_views
from rubricweb.review.selectors.grid_query import GridQuery

PAGE, INSET = "review/grid.html", "review/inset.html"
"""The grid, and what stands in its page instead of it."""


@require_safe
def topic(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show a topic as its grid, as the list of its items, or both side by side: `?view=`."""
    if request.GET.get("view") in ("grid", "both"):
        return _grid(request, *bank_topic_for(request.user, bank_id, topic_id))
    return bank_page(request, *bank_topic_for(request.user, bank_id, topic_id))


def _grid(request: HtmxRequest, bank: Bank, topic: Topic) -> HttpResponse:
    """Show passages x items, a window at a time; beside them a cell, an item, or all items."""
    form = GridForm(request.GET)
    rater, query = _chosen(form, bank)
    card = request.GET.get("card")
    context = topic_frame(bank, topic, request.GET["view"]) | {
        "form": form,
        "rater": rater,
        "query": query,
        **address_kept(request),
        "can_edit": roles.may_edit(request.user, bank.collection),
        "card": item_card(bank, topic, rater, query, name=card, reader=request.user) if card else None,
    }
    if request.htmx.target == "panel":
        return page_or_part(request, PAGE, context, part="card")
    context |= {
        "kept": kept_fields(request.GET),
        "grid": selectors.grid(bank, topic, rater, query, request.user),
        "rates_here": not rater.verifies and roles.holds(request.user, bank.collection, roles.TO_ASSESS),
        "views": saved_views(request.user, bank.collection),
    }
    return page_or_part(request, PAGE, context, part="table")


def inset_frame(request: HtmxRequest, bank: Bank, topic: Topic) -> dict[str, object]:
    """Return the context of the grid's page around what stands in it instead of the grid."""
    return topic_frame(bank, topic, "grid") | address_kept(request)


def _chosen(form: GridForm, bank: Bank) -> tuple[Rater, GridQuery]:
    """Offer the form what the bank has to choose from, and return what is chosen."""
    rater = form.offer(raters(bank))
    form.offer_runs(selectors.run_tags(bank.collection))
    form.offer_versions(bank)
    return rater, form.query()
