"""Problems of a bank: one list ordered by what moves the board, and the opened one with what ends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import push_url

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.duplicates.actions import start_search
from rubricweb.corpus.duplicates.selectors import last_attempt, latest_search
from rubricweb.corpus.models import Collection
from rubricweb.editor.views.items import items_changed
from rubricweb.grades.raters import raters
from rubricweb.grades.selectors import banks
from rubricweb.review.evidence import count_hidden, evidence
from rubricweb.review.problems import copies, deeds, listing, opened
from rubricweb.review.problems.forms import KINDS, ProblemsForm, ReasonForm, SearchForm, SpansForm
from rubricweb.review.problems.listing import Kind, Problem

PAGE = "review/problems/problems.html"
PAGE_ROWS = 50


@require_http_methods(["GET", "HEAD", "POST"])
def problems(request: HtmxRequest, slug: str) -> HttpResponse:
    """`?problem=` opens one; POST ends one, or takes that back."""
    collection = collection_for(request.user, slug)
    form = ProblemsForm(request.GET, banks(collection))
    if request.method == "POST":
        return _ended(request, form.offered_bank())
    if form.chosen_bank is None:
        context = {"collection": collection, "form": form, "bank": None}
        return page_or_part(request, PAGE, context, part="problems")
    target = (request.htmx.target or "") if request.htmx else ""
    part = {"problem-list": "list", "problem": "opened", "nearest": "nearest"}.get(target, "problems")
    return page_or_part(request, PAGE, _context(request.user, collection, request.GET), part=part)


def _context(
    user: User, collection: Collection, address: QueryDict, typed: QueryDict | None = None
) -> dict[str, object]:
    """Return the list by the parameters of `address`, and the opened problem; `typed` has its spans."""
    form = ProblemsForm(address, banks(collection))
    bank = form.offered_bank()
    rater = form.offer(raters(bank))
    form.offer_bank(bank, collection.topics.all())
    topics = evidence(bank, rater, form.query, user, form.topic_id)
    search = latest_search(collection)
    groups = copies.pooled_groups(collection, search, bank, rater) if search else []
    if form.topic_id:
        groups = [group for group in groups if group.topic.topic_id == form.topic_id]
    listed = listing.problems(bank, topics, rater, form.query, groups)
    offered = listed.set_aside if address.get("aside") else listed.listed
    kept = [problem for problem in offered if form.kind in (None, problem.kind)]
    key = address.get("problem", "") or (kept[0].key if kept else "")
    place = next((n for n, problem in enumerate(kept) if problem.key == key), None)
    number = form.value("page", 1 if place is None else place // PAGE_ROWS + 1)
    page = Paginator(kept, PAGE_ROWS).get_page(number)
    context: dict[str, object] = {
        "collection": collection,
        "bank": bank,
        "form": form,
        "rater": rater,
        "query": form.query,
        "problems": listed,
        "hidden": count_hidden(topics),
        "page": page,
        "rows": (rows := listing.rows(bank, page)),
        "most": max((problem.effect.change for problem in kept if problem.effect), default=0.0),
        "kinds": [(kind, KINDS[kind], count) for kind, count in listed.counts().items()],
        "key": key,
        "is_chosen": "problem" in address,
        "number": None if place is None else place + 1,
        **_neighbours(kept, place),
        "search": search,
        "attempt": last_attempt(collection),
        "search_form": SearchForm(),
        "groups": copies.totals(groups),
        "reason": ReasonForm(),
    }
    if key:
        context["decision"] = next((row.decision for row in rows if row.problem.key == key), None)
        subject = opened.subject_of(user, bank, key)
        if isinstance(subject, opened.APassage) and subject.kind is Kind.COPIES:
            context |= opened.group_of(bank, groups, subject)
        else:
            context |= opened.opened(subject, topics, rater, form.query)
            context |= _nearest(context, typed or address)
    return context


def _neighbours(kept: list[Problem], place: int | None) -> Context:
    if place is None:
        return {"previous": "", "next": kept[0].key if kept else ""}
    before = kept[place - 1].key if place else ""
    return {"previous": before, "next": kept[place + 1].key if place + 1 < len(kept) else before}


def _nearest(context: Mapping[str, Any], typed: QueryDict) -> Context:
    """Return the items closest to the words that are marked in a passage; or why they cannot be read."""
    passage, topic = context.get("passage"), context["topic"]
    if passage is None:
        return {}
    form = SpansForm(passage, typed)
    if not form.is_valid():
        return {"problem": " ".join(map(str, form.errors["spans"]))}
    spans = form.cleaned_data["spans"].spans
    text = " ".join(spans) or passage.text
    near = opened.closest(context["bank"], topic, passage, text, context["rater"])
    return {"spans": spans, "near": near}


def _ended(request: HtmxRequest, bank: Bank) -> HttpResponse:
    """Do what the form asks, and open the next problem; what is refused stays open and says why."""
    key, address = request.POST.get("problem", ""), request.GET.copy()
    subject = opened.subject_of(request.user, bank, key)
    place = reverse("review:problems", args=[bank.collection.slug])
    address["problem"] = key
    refusal = deeds.do(request, bank, subject, undo_at=f"{place}?{address.urlencode()}")
    if refusal is not None:
        context = _context(request.user, bank.collection, address, request.POST)
        context |= refusal.context
        return form_response(request, PAGE, context, part="opened", status=refusal.status)
    if upcoming := request.POST.get("next", ""):
        address["problem"] = upcoming
    else:
        del address["problem"]
    to = f"{place}?{address.urlencode()}" if address else place
    if not request.htmx:
        return redirect(to)
    context = _context(request.user, bank.collection, address) | {"is_ended": True}
    response = page_or_part(request, PAGE, context, part="problems")
    return items_changed(push_url(response, to))


@require_POST
def search(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a worker look for near-duplicate passages."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = SearchForm(request.POST)
    if form.is_valid():
        start_search(collection, threshold=form.cleaned_data["threshold"], by=request.user)
        return redirect(f"{reverse('review:problems', args=[slug])}?{urlencode({'kind': Kind.COPIES})}")
    context = _context(request.user, collection, QueryDict(f"kind={Kind.COPIES}")) | {"search_form": form}
    return form_response(request, PAGE, context, part="problems", status=422)
