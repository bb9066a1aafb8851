"""Search, and the topics of a collection."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.core.http import HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards
from rubricweb.editor.start import start_of
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks
from rubricweb.home import search as searching
from rubricweb.home import topics
from rubricweb.home.forms import SearchForm, TopicsForm
from rubricweb.review.forms import address_kept

PAGE_TOPICS = 200


@require_safe
def search(request: HtmxRequest) -> HttpResponse:
    """Find a screen, collection, topic, run or item; `of` names the collection that the user is in."""
    form = SearchForm(request.GET)
    of = Collection.objects.visible_to(request.user).filter(slug=form.value("of", "")).first()
    text = form.value("q", "")
    context = {"form": form, "text": text, "of": of, "hits": searching.search(request.user, text, of)}
    return page_or_part(request, "home/search.html", context, part="results")


@require_safe
def collections(request: HtmxRequest) -> HttpResponse:
    """List the user's collections, for the menu of the bar."""
    listed = Collection.objects.visible_to(request.user).order_by("name")
    return render(request, "home/collections.html", {"collections": listed})


@require_safe
def collection(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show a collection's topics in one bank, with a summary of their grades."""
    shown = collection_for(request.user, slug)
    form = TopicsForm(request.GET)
    context = {
        "collection": shown,
        "counts": topics.collection_counts(shown),
        "form": form,
        **address_kept(request),
        **_topics(banks(shown), form),
    }
    bank = context.get("bank")
    if roles.may_edit(request.user, shown):
        context["start"] = start_of(shown, bank if isinstance(bank, Bank) else None)
    if bank is None:
        context["topics"] = shown.topics.order_by("position", "pk")[:PAGE_TOPICS]
        if roles.holds(request.user, shown, roles.TO_SEE_RUNS):
            context["official"] = [(board, _best_first(board)) for board in official_boards(shown)]
    return page_or_part(request, "home/collection.html", context, part="topics")


def _best_first(board: Official) -> list[tuple[str, float]]:
    return sorted(board.values.items(), key=lambda row: row[1], reverse=not board.is_rank)


def _topics(banks: list[Bank], form: TopicsForm) -> dict[str, object]:
    """The table's part of the context; empty without a bank."""
    if not banks:
        return {"banks": banks}
    bank = form.offer_banks(banks)
    rater = form.offer(raters(bank))
    rows = topics.topic_rows(bank.collection, bank, rater)
    sort = form.value("sort", "topic")
    chosen = topics.arranged(rows, words=form.value("q", ""), sort=sort)
    page = Paginator(chosen, PAGE_TOPICS).get_page(form.value("page", 1))
    return {
        "banks": banks,
        "bank": bank,
        "rater": rater,
        "page": page,
        "totals": topics.totals(rows),
        "sort": sort,
    }
