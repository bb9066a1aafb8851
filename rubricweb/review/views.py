"""Home, a collection's topics and a topic's grid: all of them only look."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.grades.defaults import banks
from rubricweb.grades.raters import raters
from rubricweb.review import selectors
from rubricweb.review.forms import GridForm, TopicsForm, address_kept, kept_fields
from rubricweb.review.views_saved.selectors import views_of

PAGE_TOPICS = 200


@require_safe
def home(request: HtmxRequest) -> HttpResponse:
    """The collections that the user is a member of."""
    context = {"cards": selectors.cards(request.user)}
    return page_or_part(request, "review/home.html", context, part="collections")


@require_safe
def collection(request: HtmxRequest, slug: str) -> HttpResponse:
    """A collection's topics in one bank, with what their grades say."""
    found = collection_for(request.user, slug)
    form = TopicsForm(request.GET)
    context = {
        "collection": found,
        "section": "topics",
        "counts": selectors.collection_counts(found),
        "form": form,
        **address_kept(request),
        **_topics(banks(found), form),
    }
    return page_or_part(request, "review/collection.html", context, part="topics")


def _topics(banks: list[Bank], form: TopicsForm) -> dict[str, object]:
    """The table's part of the context; without a bank there is none."""
    if not banks:
        return {"banks": banks}
    bank = form.offer_banks(banks)
    rater = form.offer(raters(bank))
    rows = selectors.topic_rows(bank.collection, bank, rater)
    sort = form.value("sort", "topic")
    chosen = selectors.arranged(rows, words=form.value("q", ""), sort=sort)
    page = Paginator(chosen, PAGE_TOPICS).get_page(form.value("page", 1))
    return {
        "banks": banks,
        "bank": bank,
        "rater": rater,
        "page": page,
        "totals": selectors.totals(rows),
        "sort": sort,
    }


@require_safe
def grid(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Passages x items of a topic, a window at a time."""
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
        "views": views_of(request.user, bank.collection),
        **address_kept(request),
    }
    return page_or_part(request, "review/grid.html", context, part="table")
