"""Uncovered passages of a bank: the list, and one passage where spans become an item."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.types import ItemKind
from rubricweb.banks import actions
from rubricweb.banks.access import bank_for
from rubricweb.banks.errors import BankError, Conflict
from rubricweb.banks.models import Item
from rubricweb.banks.selectors import last_change
from rubricweb.core.http import Context, HtmxRequest, after_post, form_response, page_or_part
from rubricweb.editor.views.items import items_changed
from rubricweb.grades.raters import raters
from rubricweb.review.evidence import evidence
from rubricweb.review.evidence_form import EvidenceForm
from rubricweb.review.uncovered import access, selectors
from rubricweb.review.uncovered.access import OpenedPassage
from rubricweb.review.uncovered.forms import DraftItemForm, SpansForm, draft_form, named_item, rewording

PAGE_ROWS = 50


@require_safe
def uncovered(request: HtmxRequest, bank_id: int) -> HttpResponse:
    bank = bank_for(request.user, bank_id)
    form = EvidenceForm(request.GET)
    rater = form.offer(raters(bank))
    form.offer_bank(bank, bank.collection.topics.all())
    gaps = selectors.uncovered_of(evidence(bank, rater, form.query, request.user, form.topic_id), form.query)
    page = Paginator(gaps.uncovered, PAGE_ROWS).get_page(form.value("page", 1))
    context = {
        "bank": bank,
        "collection": bank.collection,
        "section": "review",
        "tab": "uncovered",
        "form": form,
        "rater": rater,
        "page": page,
        "rows": selectors.rows(bank, page),
        "ungraded": len(gaps.ungraded),
        "hidden": len(gaps.hidden),
    }
    return page_or_part(request, "review/uncovered/uncovered.html", context, part="passages")


@require_http_methods(["GET", "HEAD", "POST"])
def passage(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int) -> HttpResponse:
    """Show one passage; POST saves the item drafted from it, or continues the draft."""
    is_change = request.method == "POST"
    fetch = access.passage_for_editor if is_change else access.passage_for
    opened = fetch(request.user, bank_id, topic_id, passage_id)
    if not is_change:
        return _page(request, opened, draft_form(opened))
    if "find" in request.POST or "reword" in request.POST:
        return _drafting(request, opened)
    form = draft_form(opened, sent=request.POST)
    return _commit(request, opened, form) if form.is_valid() else _page(request, opened, form)


@require_POST
def nearest(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int) -> HttpResponse:
    """Return the items nearest to the spans; nothing is saved."""
    opened = access.passage_for_editor(request.user, bank_id, topic_id, passage_id)
    return _page(request, opened, draft_form(opened), part="nearest", more=_near(request, opened))


def _page(
    request: HtmxRequest,
    opened: OpenedPassage,
    form: DraftItemForm,
    *,
    part: str = "draft",
    status: int = 0,
    more: Context | None = None,
) -> HttpResponse:
    item = named_item(opened, form["item"].value())
    context = _place(opened) | _standing(request, opened) | {"form": form, "rewords": item}
    context |= more or {"near": _ranked(request, opened, opened.passage.text)}
    return form_response(request, "review/uncovered/passage.html", context, part=part, status=status)


def _standing(request: HtmxRequest, opened: OpenedPassage) -> dict[str, object]:
    """`place` is a function: the template calls it only in the part that needs it."""
    form = EvidenceForm(request.GET)
    rater = form.offer(raters(opened.bank))
    form.offer_bank(opened.bank, opened.bank.collection.topics.all())

    def place() -> selectors.Position:
        topics = evidence(opened.bank, rater, form.query, request.user, form.topic_id)
        return selectors.place(selectors.uncovered_of(topics, form.query), opened)

    return {"query": form.query, "place": place}


def _place(opened: OpenedPassage) -> dict[str, object]:
    collection = opened.bank.collection
    place = {"bank": opened.bank, "topic": opened.topic, "passage": opened.passage, "collection": collection}
    return place | {"section": "review", "tab": "uncovered"}


def _near(request: HtmxRequest, opened: OpenedPassage) -> Context:
    """The quoted spans and the items nearest to them; or why the spans cannot be read."""
    form = SpansForm(opened.passage, request.POST)
    if not form.is_valid():
        return {"problem": " ".join(map(str, form.errors["spans"]))}
    spans = form.cleaned_data["spans"].spans
    text = " ".join(spans) or opened.passage.text
    return {"spans": spans, "near": _ranked(request, opened, text)}


def _ranked(request: HtmxRequest, opened: OpenedPassage, text: str) -> list[selectors.NearItem]:
    rater = EvidenceForm(request.GET).offer(raters(opened.bank))
    return selectors.ranked_items(opened, text, rater.by_kind)


def _drafting(request: HtmxRequest, opened: OpenedPassage) -> HttpResponse:
    """Continue the draft: load an item to reword, or look up the items nearest to the spans."""
    sent = request.POST
    item = named_item(opened, sent.get("reword", ""))
    kept = {name: sent.get(name, "") for name in ("spans", "kind", "facet_id", "text")}
    form = draft_form(opened, initial=rewording(item, sent.get("spans", "")) if item else kept)
    if item:
        form.fields["text"].widget.attrs["autofocus"] = True
    return _page(request, opened, form, more=_near(request, opened))


def _commit(request: HtmxRequest, opened: OpenedPassage, form: DraftItemForm) -> HttpResponse:
    try:
        item = _save(request, opened, form)
    except Conflict as conflict:
        mine, item = form.cleaned_data["text"], conflict.item
        again = draft_form(opened, initial=rewording(item, request.POST.get("spans", ""), mine=mine))
        both = {"theirs": last_change(item), "mine": mine, "item": item}
        return _page(request, opened, again, status=409, more=both)
    except BankError as refusal:
        form.add_error("text", str(refusal))
        return _page(request, opened, form)
    kept = request.GET.urlencode()
    to = reverse("review:uncovered-passage", args=[opened.bank.pk, opened.topic.pk, opened.passage.pk])
    context = _place(opened) | {"form": draft_form(opened), "done": item}
    context["near"] = _ranked(request, opened, opened.passage.text)
    page = "review/uncovered/passage.html#draft"
    return items_changed(after_post(request, page, context, to=f"{to}?{kept}" if kept else to))


def _save(request: HtmxRequest, opened: OpenedPassage, form: DraftItemForm) -> Item:
    words = form.cleaned_data
    kind, facet_id = ItemKind(words["kind"]), words["facet_id"]
    change = {"text": words["text"], "origin": words["spans"], "by": request.user}
    if not words["item"]:
        added = actions.add_item(opened.bank, opened.topic, kind=kind, facet_id=facet_id, **change)
        messages.success(request, gettext("%(capitalize)s added.") % {"capitalize": kind.capitalize()})
        return added
    item = named_item(opened, words["item"])
    if item is None:
        raise BankError("That item has been retired. Write a new one, or choose another.")
    actions.revise_item(item, seen=words["seen"] or 0, **change)
    messages.success(
        request,
        gettext("%(get_kind_display)s reworded.")
        % {"get_kind_display": item.get_kind_display().capitalize()},
    )
    return item
