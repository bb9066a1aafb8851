"""Add, reword, weigh, hide and reorder items, and change answer keys; the page around them is `bank`."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import replace_url, retarget, trigger_client_event

from grading.types import Importance, ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks import access, actions, selectors
from rubricweb.banks.changes import BankError, EditConflict, hide_item, show_item
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import (
    HtmxRequest,
    form_response,
    offer_undo,
    page_or_part,
    parse_id,
    part_or_redirect,
)
from rubricweb.corpus.models import Topic
from rubricweb.editor.draft_inbox import draft_of
from rubricweb.editor.forms import (
    AnswerKeyForm,
    MoveForm,
    NewItemForm,
    SeenForm,
    answer_key_form,
    new_item_form,
    supply_form,
    weigh_form,
    wording_form,
)
from rubricweb.grades.verification import VerificationCounts, change_answer_key

PAGE = "editor/item.html"
NOTES = {
    "answer_key": "The answers that count as right when a grader verifies answers.",
    "edit": "The old wording keeps its grades.",
    "history": "Every wording so far; each keeps its grades.",
    "retire": "Its history and grades stay, and it can come back.",
    "supply": "Its grades came in a file that has only its id.",
    "weigh": "Grades stay as they are.",
}
"""What each form of an item means for its grades."""
KEPT = ("grader", "min_grade")
"""Parameters that stay in the address through a change."""


def editor_url(request: HtmxRequest, bank: Bank, topic: Topic, **more: object) -> str:
    """Return the URL of the editor with the page's parameters; `more` is added."""
    kept = {name: request.GET[name] for name in KEPT if request.GET.get(name)} | more
    return reverse("review:topic", args=[bank.pk, topic.pk]) + (f"?{urlencode(kept)}" if kept else "")


def change_url(request: HtmxRequest, item: Item, change: str) -> str:
    """Return the URL of a change of the item (edit, weigh, retire...), with the page's parameters."""
    kept = request.GET.urlencode()
    return reverse(f"editor:item-{change}", args=[item.bank_id, item.pk]) + (f"?{kept}" if kept else "")


def items_changed(response: HttpResponse) -> HttpResponse:
    """Make this tab refresh its list of items, even if live events do not come through."""
    return trigger_client_event(response, "items-changed", after="settle")


def to_the_row(request: HtmxRequest, item: Item, response: HttpResponse) -> HttpResponse:
    """Swap the item's row in the list, wherever the request came from; in a panel, that closes it."""
    if not request.htmx:
        return response
    if "item=" in (address := request.htmx.current_url_abs_path or ""):
        response = replace_url(response, re.sub(r"[?&]item=\d+", "", address).replace("/&", "/?"))
    return retarget(response, f"#item-{item.pk}")


def after_change(request: HtmxRequest, item: Item) -> HttpResponse:
    to = f"{editor_url(request, item.bank, item.topic)}#item-{item.pk}"
    context = {"row": selectors.item_row(item), "bank": item.bank, "can_edit": True, "is_fresh": True}
    return items_changed(
        to_the_row(request, item, part_or_redirect(request, "editor/_item.html", context, to=to))
    )


@require_http_methods(["GET", "HEAD", "POST"])
def item_add(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    bank, topic = access.bank_topic_for_editor(request.user, bank_id, topic_id)
    form = new_item_form(topic, posted=_posted(request))
    context = {"form": form, "bank": bank, "topic": topic, "collection": bank.collection}
    context |= {"panel": "editor/_item_add.html", "title": "Add a question or nugget"}
    if not (form.is_valid() and _added(form, bank, topic, request.user)):
        return form_response(request, PAGE, context)
    messages.success(request, f"{form.cleaned_data['kind'].capitalize()} added.")
    context |= {"form": new_item_form(topic, after=form), "is_fresh": True}
    to = f"{editor_url(request, bank, topic)}#new-item"
    return items_changed(part_or_redirect(request, "editor/_item_add.html", context, to=to))


def _added(form: NewItemForm, bank: Bank, topic: Topic, by: User) -> bool:
    """Return False if the bank refuses; the form then says why."""
    fields = form.cleaned_data
    kind = ItemKind(fields["kind"])
    try:
        actions.add_item(bank, topic, kind=kind, text=fields["text"], facet_id=fields["facet_id"], by=by)
    except BankError as refusal:
        form.add_error("text", str(refusal))
    return form.is_valid()


@require_http_methods(["GET", "HEAD", "POST"])
def item_edit(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Reword an item; `?wording=N` starts from its version N."""
    try:
        item = access.item_for_editor(request.user, bank_id, item_id)
    except access.Held as held:
        if request.method == "POST":
            raise
        return page_or_part(request, PAGE, _rewording(held.item, None) | {"held": held}, part="form")
    form = wording_form(item, posted=_posted(request), text=_earlier_words(request, item))
    if form.is_valid():
        fields, before = form.cleaned_data, item.revision.text
        try:
            actions.revise_item(item, text=fields["text"], seen=fields["seen"], by=request.user)
        except EditConflict as conflict:
            return _both_wordings(request, conflict, fields["text"])
        except BankError as refusal:
            form.add_error("text", str(refusal))
        else:
            message = f"{item.get_kind_display().capitalize()} saved."
            if item.is_retired:  # somebody did that meanwhile
                message += " It is still retired: restore it to have it counted."
            if before and before != item.revision.text:
                offer_undo(
                    request, message, change_url(request, item, "edit"), seen=item.version, text=before
                )
            else:
                messages.success(request, message)
            return after_change(request, item)
    return form_response(request, PAGE, _rewording(item, form))


def _posted(request: HtmxRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _earlier_words(request: HtmxRequest, item: Item) -> str:
    number = request.GET.get("wording", "")
    if not number:
        return ""
    return get_object_or_404(item.changes, number=parse_id(number)).revision.text


def item_panel(panel: str, title: str, item: Item, form: object) -> dict[str, object]:
    """Return the context of one form of an item: beside the topic's list, or on `item.html`."""
    bank = item.bank
    return {
        "panel": f"editor/_item_{panel}.html",
        "title": title,
        "note": NOTES[panel],
        "item": item,
        "form": form,
        "bank": bank,
        "topic": item.topic,
        "collection": bank.collection,
        "can_edit": True,
    }


def _rewording(item: Item, form: object) -> dict[str, object]:
    return item_panel("edit", f"Reword a {item.get_kind_display()}", item, form)


def _both_wordings(request: HtmxRequest, conflict: EditConflict, mine: str) -> HttpResponse:
    """Show the other person's wording next to the user's own; the form now has the version seen."""
    item = conflict.item
    latest = selectors.last_change(item)
    form = wording_form(item, text=mine)
    context = _rewording(item, form) | {"theirs": latest, "mine": mine}
    return form_response(request, PAGE, context, status=409)


@require_http_methods(["GET", "HEAD", "POST"])
def item_weigh(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Set the importance and weight of an item."""
    item = access.item_for_editor(request.user, bank_id, item_id)
    form = weigh_form(item, posted=_posted(request))
    context = item_panel("weigh", f"Weigh a {item.get_kind_display()}", item, form)
    if not form.is_valid():
        return form_response(request, PAGE, context)
    cleaned = form.cleaned_data
    importance = Importance(cleaned["importance"])
    before = {"importance": item.importance, "weight": item.weight}
    try:
        actions.weigh_item(
            item, importance=importance, weight=cleaned["weight"], seen=cleaned["seen"], by=request.user
        )
    except EditConflict as conflict:
        context |= {"form": weigh_form(conflict.item), "theirs": selectors.last_change(item)}
        return form_response(request, PAGE, context, status=409)
    offer_undo(request, "Weight saved.", change_url(request, item, "weigh"), seen=item.version, **before)
    return after_change(request, item)


@require_http_methods(["GET", "HEAD", "POST"])
def item_supply(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = access.item_for_editor(request.user, bank_id, item_id)
    form = supply_form(item, posted=_posted(request))
    if form.is_valid():
        try:
            actions.supply_text(item, text=form.cleaned_data["text"], by=request.user)
        except BankError as refusal:
            form.add_error("text", str(refusal))
        else:
            messages.success(request, "Text supplied; the grades stay with it.")
            return after_change(request, item)
    return form_response(request, PAGE, item_panel("supply", "Supply the text", item, form))


@require_POST
def item_move(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = access.item_for_editor(request.user, bank_id, item_id)
    form = MoveForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A position in the list is a number from 0.")
        return after_change(request, item)
    before = list(item.bank.items.fellows_of(item).values_list("pk", flat=True))
    try:
        order = actions.move_item(item, **form.cleaned_data, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        if order != before:
            fields = {"place": before.index(item.pk), "seen": ",".join(map(str, order))}
            offer_undo(request, "Item moved.", change_url(request, item, "move"), **fields)
    return after_change(request, item)


@require_POST
def item_hide(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    return _secrecy_changed(request, (bank_id, item_id), hide_item, "The item is secret now.")


@require_POST
def item_show(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    return _secrecy_changed(request, (bank_id, item_id), show_item, "The item is public again.")


def _secrecy_changed(
    request: HtmxRequest, place: tuple[int, int], change: Callable[..., Item], done: str
) -> HttpResponse:
    item = access.item_for(request.user, *place, needed=roles.TO_SEE_SECRETS)
    form = SeenForm(request.POST)
    try:
        change(item, seen=form.cleaned_data["seen"] if form.is_valid() else 0, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
        item.refresh_from_db()
    else:
        messages.success(request, done)
    return after_change(request, item)


def open_panel(request: HtmxRequest, bank: Bank, item_id: int) -> dict[str, object] | None:
    """Return what the panel shows of the item that the bank's address names: its wording, or its history."""
    if not item_id:
        return None
    item = bank.items.select_related("revision", "topic", "bank__collection").filter(pk=item_id).first()
    if item is None:
        return None
    panel: dict[str, object] = {"item": item, "changes": selectors.history(item), "draft": draft_of(item)}
    if item.is_retired or not item.revision.text or not roles.may_edit(request.user, bank.collection):
        return panel
    try:
        access.item_for_editor(request.user, bank.pk, item_id)
    except access.Held as held:
        return panel | {"held": held}
    return panel | {"form": wording_form(item)}


@require_safe
def item_history(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    item = access.item_for(request.user, bank_id, item_id)
    context = item_panel("history", f"History of a {item.get_kind_display()}", item, None)
    context["can_edit"] = roles.may_edit(request.user, item.bank.collection)
    context |= {"changes": selectors.history(item), "draft": draft_of(item)}
    return page_or_part(request, PAGE, context, part="form")


@require_http_methods(["GET", "HEAD", "POST"])
def item_answer_key(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Show the accepted answers; topic developers may change them."""
    is_change = request.method == "POST"
    item = (access.item_for_editor if is_change else access.item_for)(request.user, bank_id, item_id)
    if item.kind != Item.Kind.QUESTION or not item.revision.text:
        raise Http404("Only a question with text has an answer key.")
    form = answer_key_form(item, posted=request.POST if is_change else None)
    if not form.is_valid():
        return _answer_key_page(request, item, form)
    mine, seen = form.cleaned_data["texts"], form.cleaned_data["seen"]
    try:
        verified = change_answer_key(item, texts=mine, seen=seen, by=request.user)
    except EditConflict as conflict:
        return _answer_key_page(request, conflict.item, answer_key_form(conflict.item, mine=mine), mine=mine)
    messages.success(request, _saved(verified))
    return after_change(request, item)


def _answer_key_page(
    request: HtmxRequest, item: Item, form: AnswerKeyForm, *, mine: list[str] | None = None
) -> HttpResponse:
    context = item_panel("answer_key", "Answer key", item, form) | {
        "can_edit": roles.may_edit(request.user, item.bank.collection) and not item.is_retired,
        "mine": mine,
        "theirs": selectors.last_change(item) if mine is not None else None,
    }
    return form_response(request, PAGE, context, status=0 if mine is None else 409)


def _saved(verified: VerificationCounts) -> str:
    parts = ["Answer key saved"]
    if verified.answers:
        some = "1 stored answer" if verified.answers == 1 else f"{verified.answers:,} stored answers"
        parts.append(f"{some} checked again, {verified.changed:,} with another verdict")
    if verified.removed:
        some = "1 grade" if verified.removed == 1 else f"{verified.removed:,} grades"
        parts.append(f"{some} by a model that had read the old key removed, which need grading again")
    return "; ".join(parts) + "."
