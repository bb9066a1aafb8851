"""Drafts of a topic: request some, decide about each or all, and go on to the next topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import trigger_client_event

from rubricweb.accounts import roles
from rubricweb.banks import draft_models, drafting
from rubricweb.banks.access import (
    bank_topic_for,
    draft_for_editor,
    item_for_editor,
    request_for_editor,
    suggestion_for_editor,
)
from rubricweb.banks.changes import BankError, CannotDraft
from rubricweb.banks.models import Bank
from rubricweb.core.formatting import counted
from rubricweb.core.http import (
    HtmxRequest,
    form_response,
    offer_undo,
    page_or_part,
    parse_ids,
    part_or_redirect,
)
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Topic
from rubricweb.editor import draft_inbox, items
from rubricweb.editor.bank import TOPIC_PAGE, topic_frame
from rubricweb.editor.draft_inbox import (
    AcceptDraftsForm,
    DraftInbox,
    DraftingForm,
    RefusedDraft,
    drafting_form,
)
from rubricweb.editor.start import start_of
from rubricweb.grades.selectors import banks


@require_safe
def drafts(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Show what waits for one topic in an inbox that refreshes itself; `editing` names rows to keep."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id)
    inbox = draft_inbox.inbox(bank, topic, opened=parse_ids(request.GET.getlist("editing")))
    context = inbox_context(request, bank, topic, inbox)
    if not request.htmx:
        start = start_of(bank.collection, bank)
        context["start"] = start if start and (start.drafting or start.lacking.places) else None
    return page_or_part(request, TOPIC_PAGE, context, part="inbox")


@require_safe
def review_drafts(request: HtmxRequest, slug: str) -> HttpResponse:
    """Go to the first topic of `?bank=` with drafts; htmx gets how far a model is with all topics."""
    collection = collection_for(request.user, slug)
    by_pk = {str(bank.pk): bank for bank in banks(collection)}
    bank = by_pk.get(request.GET.get("bank", ""), next(iter(by_pk.values()), None))
    if request.htmx.target == "start":
        can_edit = roles.may_edit(request.user, collection)
        start = start_of(collection, bank, request.GET.dict()) if can_edit else None
        context = {"start": start, "collection": collection, "bank": bank, "can_edit": can_edit}
        return page_or_part(request, TOPIC_PAGE, context, part="start")
    if bank is None:
        return redirect(collection)
    topic = draft_inbox.first_topic(bank)
    return redirect("editor:drafts", bank.pk, topic.pk) if topic else redirect(collection)


@require_http_methods(["GET", "HEAD", "POST"])
def drafts_request(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Request drafts from a model."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    form = drafting_form(topic, posted=request.POST if request.method == "POST" else None)

    def ask() -> str:
        made = drafting.request_drafts(bank, topic, form.options(), by=request.user)
        return f"{made.llm} was asked for {made.kind}s. They will appear as drafts."

    return after_request(request, (bank, topic), form, ask)


def after_request(
    request: HtmxRequest, place: tuple[Bank, Topic], form: DraftingForm, ask: Callable[[], str]
) -> HttpResponse:
    """Send a request to a model.

    `ask` makes it, and returns what to tell the user. A refusal is shown in the form.
    """
    bank, topic = place
    if form.is_valid():
        try:
            message = ask()
        except CannotDraft as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, message)
            context = inbox_context(request, bank, topic, None) | {"form": drafting_form(topic, after=form)}
            answer = part_or_redirect(request, f"{TOPIC_PAGE}#form", context, to=inbox_url(bank, topic))
            return trigger_client_event(answer, "drafts-changed", after="settle")
    inbox = draft_inbox.inbox(bank, topic)
    context = inbox_context(request, bank, topic, inbox) | {"form": form}
    return form_response(request, TOPIC_PAGE, context)


@require_POST
def draft_accept(request: HtmxRequest, bank_id: int, draft_id: int) -> HttpResponse:
    """Accept a draft as it is, or with the text that was sent."""
    draft = draft_for_editor(request.user, bank_id, draft_id)
    form = AcceptDraftsForm(request.POST)
    if not form.is_valid():
        return _refuse(request, draft, str(form["text"].errors[0]))
    try:
        item = drafting.accept_draft(draft, text=form.cleaned_data["text"], by=request.user)
    except BankError as refusal:
        return _refuse(request, draft, str(refusal))
    bank, topic = draft.request.bank, draft.request.topic
    message = f"{item.get_kind_display().capitalize()} added from a draft."
    offer_undo(request, message, reverse("editor:drafts-reopen", args=[bank.pk, topic.pk]), drafts=draft.pk)
    return after_decision(request, bank, topic, decided=draft.pk)


@require_POST
def draft_reject(request: HtmxRequest, bank_id: int, draft_id: int) -> HttpResponse:
    draft = draft_for_editor(request.user, bank_id, draft_id)
    try:
        drafting.reject_draft(draft, by=request.user)
    except BankError as refusal:
        return _refuse(request, draft, str(refusal))
    bank, topic = draft.request.bank, draft.request.topic
    _offer_reopening(request, (bank, topic), "Draft rejected.", [draft])
    return after_decision(request, bank, topic, decided=draft.pk)


@require_POST
def drafts_accept(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Accept the drafts that the user saw; marked ones only if `marked` is sent."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    seen, inbox = parse_ids(request.POST.getlist("seen")), draft_inbox.inbox(bank, topic)
    rows = inbox.rows if request.POST.get("marked") else inbox.plain
    accepted = drafting.accept_drafts([row.draft for row in rows if row.draft.pk in seen], by=request.user)
    messages.success(request, f"{counted(len(accepted.items), 'draft')} accepted.")
    if accepted.left:
        messages.warning(
            request,
            f"{counted(accepted.left, 'draft')} not accepted: the rubric already asks this, "
            "or somebody else decided.",
        )
    return after_decision(request, bank, topic)


@require_POST
def drafts_reject(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Reject the drafts that the user saw."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    seen = parse_ids(request.POST.getlist("seen"))
    rejected = drafting.reject_drafts(draft_inbox.waiting(bank, topic).filter(pk__in=seen), by=request.user)
    message = f"{counted(len(rejected), 'draft')} rejected."
    _offer_reopening(request, (bank, topic), message, rejected)
    return after_decision(request, bank, topic)


@require_POST
def drafts_reopen(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Undo decisions: the drafts wait again; an item that came from one is retired."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    chosen = parse_ids(request.POST.get("drafts", "").split(","))
    drafts = list(draft_inbox.drafts_of(bank, topic).filter(pk__in=chosen))
    for pk in [draft.item_id for draft in drafts if draft.item_id]:
        item_for_editor(request.user, bank.pk, pk)
    count = drafting.reopen_drafts(drafts, by=request.user)
    messages.success(request, f"{counted(count, 'draft')} brought back.")
    return after_decision(request, bank, topic, decided=min(chosen, default=1) - 1)


@require_POST
def request_again(request: HtmxRequest, bank_id: int, request_id: int) -> HttpResponse:
    draft_request = request_for_editor(request.user, bank_id, request_id)
    try:
        drafting.ask_again(draft_request, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"Asking {draft_request.llm} again.")
    return after_decision(request, draft_request.bank, draft_request.topic)


@require_POST
def request_cancel(request: HtmxRequest, bank_id: int, request_id: int) -> HttpResponse:
    draft_request = request_for_editor(request.user, bank_id, request_id)
    drafting.cancel_request(draft_request, by=request.user)
    return after_decision(request, draft_request.bank, draft_request.topic)


@require_POST
def request_dismiss(request: HtmxRequest, bank_id: int, request_id: int) -> HttpResponse:
    draft_request = request_for_editor(request.user, bank_id, request_id)
    drafting.dismiss_request(draft_request, by=request.user)
    return after_decision(request, draft_request.bank, draft_request.topic)


def inbox_context(
    request: HtmxRequest, bank: Bank, topic: Topic, inbox: DraftInbox | None
) -> dict[str, object]:
    roles.require(request.user, bank.collection, roles.TO_VIEW)
    context = topic_frame(bank, topic, "drafts") | {"inbox": inbox, "form": partial(drafting_form, topic)}
    context["writers"] = draft_inbox.writers(bank.collection)
    context["topics_left"] = draft_inbox.topics_to_review(bank, topic)
    if inbox:
        context["current"] = next((row.draft.pk for row in inbox.rows if not row.is_open), 0)
    return context


def after_decision(request: HtmxRequest, bank: Bank, topic: Topic, *, decided: int = 0) -> HttpResponse:
    """Render the inbox; the cursor goes to the draft after the decided one."""
    inbox = draft_inbox.inbox(bank, topic, opened=parse_ids(request.POST.getlist("editing")) - {decided})
    waiting = [row.draft.pk for row in inbox.rows if not row.is_open]
    context = inbox_context(request, bank, topic, inbox) | {"is_fresh": True}
    context["focus"] = context["current"] = next(
        (pk for pk in waiting if pk > decided), waiting[-1] if waiting else 0
    )
    to = inbox_url(bank, topic)
    return items.items_changed(part_or_redirect(request, f"{TOPIC_PAGE}#inbox", context, to=to))


def _refuse(request: HtmxRequest, draft: draft_models.Draft, reason: str) -> HttpResponse:
    """Render the draft with the text that was sent, and why it was refused."""
    bank, topic = draft.request.bank, draft.request.topic
    wording = request.POST.get("text", "") or draft.text
    refused: Mapping[int, RefusedDraft] = {draft.pk: RefusedDraft(wording, reason)}
    opened = parse_ids(request.POST.getlist("editing")) - {draft.pk}
    inbox = draft_inbox.inbox(bank, topic, opened=opened, refused=refused)
    if all(row.draft.pk != draft.pk for row in inbox.rows):  # decided by somebody else
        messages.error(request, reason)
        return after_decision(request, bank, topic, decided=draft.pk)
    context = inbox_context(request, bank, topic, inbox)
    response = page_or_part(request, TOPIC_PAGE, context, part="inbox")
    response.status_code = 422
    return response


def _offer_reopening(
    request: HtmxRequest, place: tuple[Bank, Topic], message: str, rejected: Sequence[draft_models.Draft]
) -> None:
    """Say `message` with an Undo; without it if nothing was rejected."""
    if not rejected:
        messages.success(request, message)
        return
    address = reverse("editor:drafts-reopen", args=[row.pk for row in place])
    offer_undo(request, message, address, drafts=",".join(str(draft.pk) for draft in rejected))


def inbox_url(bank: Bank, topic: Topic) -> str:
    return reverse("editor:drafts", args=[bank.pk, topic.pk])


@require_POST
def importance_request(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Ask a model which of the topic's nuggets are vital."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    form = drafting_form(topic, posted=request.POST)

    def ask() -> str:
        options = form.options()
        named = {"backend": options.backend, "llm": options.llm}
        made = drafting.request_importance(bank, topic, **named, by=request.user)
        return f"{made.llm} was asked for the importance of the nuggets."

    return after_request(request, (bank, topic), form, ask)


@require_POST
def importance_accept(request: HtmxRequest, bank_id: int, suggestion_id: int) -> HttpResponse:
    suggestion = suggestion_for_editor(request.user, bank_id, suggestion_id)
    try:
        item = drafting.accept_suggestion(suggestion, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"“{item}” is {suggestion.importance} now.")
    return after_decision(request, suggestion.request.bank, suggestion.request.topic)


@require_POST
def importance_leave(request: HtmxRequest, bank_id: int, suggestion_id: int) -> HttpResponse:
    suggestion = suggestion_for_editor(request.user, bank_id, suggestion_id)
    try:
        drafting.leave_suggestion(suggestion, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    return after_decision(request, suggestion.request.bank, suggestion.request.topic)


@require_POST
def importances_accept(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Accept the suggestions that the user saw."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    seen = parse_ids(request.POST.getlist("seen"))
    chosen = [row for row in drafting.for_items(bank, topic) if row.pk in seen]
    count = drafting.accept_suggestions(chosen, by=request.user)
    messages.success(request, f"{counted(count, 'suggestion')} accepted.")
    return after_decision(request, bank, topic)
