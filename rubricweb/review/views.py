"""A topic's grid."""

from __future__ import annotations

from functools import partial

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.selectors import neighbours
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.grades.raters import raters
from rubricweb.review import selectors
from rubricweb.review.forms import GridForm, address_kept, kept_fields
from rubricweb.review.saved_views import saved_views


@require_safe
def grid(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show passages x items of a topic, a window at a time."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id)
    form = GridForm(request.GET)
    rater = form.offer(raters(bank))
    form.offer_runs(selectors.run_tags(bank.collection))
    form.offer_versions(bank)
    query = form.query()
    place = {"collection": bank.collection, "section": "topics", "bank": bank, "topic": topic}
    context = place | {
        "form": form,
        "rater": rater,
        "query": query,
        "kept": kept_fields(request.GET),
        "grid": selectors.grid(bank, topic, rater, query, request.user),
        "rates_here": not rater.verifies and roles.holds(request.user, bank.collection, roles.TO_ASSESS),
        "views": saved_views(request.user, bank.collection),
        "neighbours": partial(neighbours, topic),
        **address_kept(request),
    }
    return page_or_part(request, "review/grid.html", context, part="table")
