"""Spurious items of a bank: the list, one item in detail, and the two remedies."""

from __future__ import annotations

from collections.abc import Callable

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.types import ItemKind
from rubricweb.banks import actions
from rubricweb.banks.access import bank_for, item_for, item_for_editor
from rubricweb.banks.errors import BankError, Conflict
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.selectors import last_change
from rubricweb.core.http import Context, HtmxRequest, after_post, form_response, page_or_part
from rubricweb.core.undo import offer_undo_on_page
from rubricweb.editor.item_forms import SeenForm, wording_form
from rubricweb.editor.views.items import items_changed
from rubricweb.editor.what_if import what_if
from rubricweb.grades.raters import raters
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.review.evidence import count_hidden, evidence
from rubricweb.review.spurious import selectors
from rubricweb.review.spurious.forms import SuspectsForm

PAGE_ROWS = 25


@require_safe
def suspects(request: HtmxRequest, bank_id: int) -> HttpResponse:
    """The live list; the browser keeps what was opened in a row."""
    bank = bank_for(request.user, bank_id)
    form = SuspectsForm(request.GET)
    rater = form.offer(raters(bank))
    form.offer_bank(bank, bank.collection.topics.all())
    topics = evidence(bank, rater, form.query, request.user, form.topic_id)
    suspects = selectors.suspects(topics, form.query, form.value("sort", "count"))
    page = Paginator(suspects, PAGE_ROWS).get_page(form.value("page", 1))
    context = _place(bank) | {"form": form, "rater": rater, "page": page}
    context["hidden"] = count_hidden(topics)
    context["rows"] = selectors.rows(bank, page, rater, form.query)
    return page_or_part(request, "review/spurious/suspects.html", context, part="suspects")


@require_safe
def suspect(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """The passages of one item, and what to do about it."""
    item = item_for(request.user, bank_id, item_id)
    context = _detail(request, item)
    return page_or_part(request, "review/spurious/suspect.html", context, part="work")


def _detail(request: HtmxRequest, item: Item) -> dict[str, object]:
    form = SuspectsForm(request.GET)
    rater = form.offer(raters(item.bank))
    form.offer_bank(item.bank, ())
    config = rater.by_kind.get(ItemKind(item.kind))
    least = rater.min_grade_of(ItemKind(item.kind), form.query.min_grade)
    topics = evidence(item.bank, rater, form.query, request.user, item.topic_id)
    spurious, passages = selectors.suspect(item, topics, form.query)
    rewording = wording_form(item)
    rewording.fields["text"].widget.attrs.pop("autofocus")  # one comes to read the passages first
    return _place(item.bank) | {
        "item": item,
        "topic": item.topic,
        "query": form.query,
        "spurious": spurious,
        "passages": passages,
        "hidden": count_hidden(topics),
        "what_if": what_if(item, config, MeasureSpec(min_grade=least)) if config else None,
        "form": rewording,
    }


@require_POST
def reword(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = item_for_editor(request.user, bank_id, item_id)
    form = wording_form(item, sent=request.POST)
    if not form.is_valid():
        return _refused(request, item, {"form": form}, status=422)
    mine, before = form.cleaned_data["text"], item.revision.text
    try:
        actions.revise_item(item, text=mine, seen=form.cleaned_data["seen"], by=request.user)
    except Conflict as conflict:
        both = {"form": wording_form(conflict.item, text=mine), "mine": mine, "theirs": last_change(item)}
        return _refused(request, conflict.item, both, status=409)
    except BankError as refusal:
        form.add_error("text", str(refusal))
        return _refused(request, item, {"form": form}, status=422)
    return _done(request, item, "reworded", "reword", text=before)


@require_POST
def retire(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = item_for_editor(request.user, bank_id, item_id)
    return _decided(request, item, actions.retire_item, "retired", "restore")


@require_POST
def restore(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = item_for_editor(request.user, bank_id, item_id)
    return _decided(request, item, actions.restore_item, "restored", "retire")


def _decided(
    request: HtmxRequest, item: Item, change: Callable[..., Item], done: str, inverse: str
) -> HttpResponse:
    form = SeenForm(request.POST)
    if not form.is_valid():
        return _refused(request, item, {"refusal": "Say which version of the item you saw."}, status=422)
    try:
        change(item, seen=form.cleaned_data["seen"], by=request.user)
    except Conflict as refusal:
        shown = {"refusal": refusal, "changed": last_change(refusal.item)}
        return _refused(request, refusal.item, shown, status=409)
    except BankError as refusal:
        return _refused(request, item, {"refusal": refusal}, status=422)
    return _done(request, item, done, inverse)


def _refused(request: HtmxRequest, item: Item, shown: Context, *, status: int) -> HttpResponse:
    context = {**_detail(request, item), **shown}
    return form_response(request, "review/spurious/suspect.html", context, part="work", status=status)


def _done(request: HtmxRequest, item: Item, done: str, inverse: str, **before: str) -> HttpResponse:
    """The list refreshes itself; without JavaScript, redirect to it."""
    kept = f"?{request.GET.urlencode()}" if request.GET else ""
    undo_at = reverse(f"review:suspect-{inverse}", args=[item.bank_id, item.pk]) + kept
    words = f"{item.get_kind_display().capitalize()} {done}."
    offer_undo_on_page(request, words, undo_at, seen=item.version, **before)
    to = reverse("review:spurious", args=[item.bank_id]) + kept
    context = {"item": item, "bank": item.bank}
    return items_changed(after_post(request, "review/spurious/suspect.html#done", context, to=to))


def _place(bank: Bank) -> dict[str, object]:
    return {"bank": bank, "collection": bank.collection, "section": "review", "tab": "spurious"}
