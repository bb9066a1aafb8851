"""Uncovered passages of a bank: the list, and one passage with the way from a span to an item."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.urls import reverse
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
from rubricweb.review.evidence_form import LookForm
from rubricweb.review.uncovered import access, selectors
from rubricweb.review.uncovered.access import UncoveredPassage
from rubricweb.review.uncovered.forms import DraftItemForm, SpansForm, draft_form, named_item, rewording

PAGE_ROWS = 50


@require_safe
def uncovered(request: HtmxRequest, bank_id: int) -> HttpResponse:
    bank = bank_for(request.user, bank_id)
    form = LookForm(request.GET)
    rater = form.offer(raters(bank))
    form.offer_bank(bank, bank.collection.topics.all())
    gaps = selectors.gaps(evidence(bank, rater, form.look, request.user, form.topic_id), form.look)
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
    """One passage; POST saves the item that was drafted from it, or goes on drafting."""
    is_change = request.method == "POST"
    desk_for = access.desk_for_editor if is_change else access.desk_for
    desk = desk_for(request.user, bank_id, topic_id, passage_id)
    if not is_change:
        return _page(request, desk, draft_form(desk))
    if "find" in request.POST or "reword" in request.POST:
        return _drafting(request, desk)
    form = draft_form(desk, sent=request.POST)
    return _commit(request, desk, form) if form.is_valid() else _page(request, desk, form)


@require_POST
def nearest(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int) -> HttpResponse:
    """The items nearest to the spans as they stand. It writes nothing."""
    desk = access.desk_for_editor(request.user, bank_id, topic_id, passage_id)
    return _page(request, desk, draft_form(desk), part="nearest", more=_near(desk, request.POST))


def _page(
    request: HtmxRequest,
    desk: UncoveredPassage,
    form: DraftItemForm,
    *,
    part: str = "draft",
    status: int = 0,
    more: Context | None = None,
) -> HttpResponse:
    item = named_item(desk, form["item"].value())
    context = _place(desk) | _standing(request, desk) | {"form": form, "rewords": item, **(more or {})}
    return form_response(request, "review/uncovered/passage.html", context, part=part, status=status)


def _standing(request: HtmxRequest, desk: UncoveredPassage) -> dict[str, object]:
    """Where the passage stands among the uncovered ones: `place` is computed where the template names it."""
    form = LookForm(request.GET)
    rater = form.offer(raters(desk.bank))
    form.offer_bank(desk.bank, desk.bank.collection.topics.all())

    def place() -> selectors.Position:
        topics = evidence(desk.bank, rater, form.look, request.user, form.topic_id)
        return selectors.place(selectors.gaps(topics, form.look), desk)

    return {"look": form.look, "place": place}


def _place(desk: UncoveredPassage) -> dict[str, object]:
    collection = desk.bank.collection
    place = {"bank": desk.bank, "topic": desk.topic, "passage": desk.passage, "collection": collection}
    return place | {"section": "review", "tab": "uncovered"}


def _near(desk: UncoveredPassage, sent: QueryDict) -> Context:
    """What the spans quote, and the items nearest to them; or why they cannot be read."""
    form = SpansForm(desk.passage, sent)
    if not form.is_valid():
        return {"problem": " ".join(map(str, form.errors["spans"]))}
    spans = form.cleaned_data["spans"].spans
    return {"spans": spans, "near": selectors.nearest_items(desk, spans)}


def _drafting(request: HtmxRequest, desk: UncoveredPassage) -> HttpResponse:
    """Not saving yet: the words of an item to reword, or the items nearest to the spans."""
    sent = request.POST
    item = named_item(desk, sent.get("reword", ""))
    kept = {name: sent.get(name, "") for name in ("spans", "kind", "facet_id", "text")}
    form = draft_form(desk, initial=rewording(item, sent.get("spans", "")) if item else kept)
    if item:
        form.fields["text"].widget.attrs["autofocus"] = True
    return _page(request, desk, form, more=_near(desk, sent))


def _commit(request: HtmxRequest, desk: UncoveredPassage, form: DraftItemForm) -> HttpResponse:
    try:
        item = _save(request, desk, form)
    except Conflict as conflict:
        mine, item = form.cleaned_data["text"], conflict.item
        again = draft_form(desk, initial=rewording(item, request.POST.get("spans", ""), mine=mine))
        both = {"theirs": last_change(item), "mine": mine, "item": item}
        return _page(request, desk, again, status=409, more=both)
    except BankError as refusal:
        form.add_error("text", str(refusal))
        return _page(request, desk, form)
    kept = request.GET.urlencode()
    to = reverse("review:uncovered-passage", args=[desk.bank.pk, desk.topic.pk, desk.passage.pk])
    context = _place(desk) | {"form": draft_form(desk), "done": item}
    page = "review/uncovered/passage.html#draft"
    return items_changed(after_post(request, page, context, to=f"{to}?{kept}" if kept else to))


def _save(request: HtmxRequest, desk: UncoveredPassage, form: DraftItemForm) -> Item:
    words = form.cleaned_data
    kind, facet_id = ItemKind(words["kind"]), words["facet_id"]
    said = {"text": words["text"], "origin": words["spans"], "by": request.user}
    if not words["item"]:
        added = actions.add_item(desk.bank, desk.topic, kind=kind, facet_id=facet_id, **said)
        messages.success(request, f"{kind.capitalize()} added.")
        return added
    item = named_item(desk, words["item"])
    if item is None:
        raise BankError("That item was retired meanwhile. Write a new one, or choose another.")
    actions.revise_item(item, seen=words["seen"] or 0, **said)
    messages.success(request, f"{item.get_kind_display().capitalize()} reworded.")
    return item
