"""The side of the inbox where a model says how much nuggets matter."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.drafting import access, importance, selectors
from rubricweb.banks.drafting.errors import CannotDraft
from rubricweb.banks.drafting.forms import drafting_form
from rubricweb.banks.drafting.views import PAGE, after_decision, inbox_context, inbox_url, pks
from rubricweb.banks.errors import BankError
from rubricweb.core.http import HtmxRequest, after_post, form_response


@require_POST
def importance_request(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Ask a model which of the topic's nuggets are vital."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    form = drafting_form(topic, sent=request.POST)
    if form.is_valid():
        wanted = form.wanted()
        try:
            made = importance.request_importance(
                bank, topic, backend=wanted.backend, llm=wanted.llm, by=request.user
            )
        except CannotDraft as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"{made.llm} is asked how much the nuggets matter.")
            context = inbox_context(request, bank, topic, None) | {"form": drafting_form(topic, after=form)}
            answer = after_post(request, f"{PAGE}#form", context, to=inbox_url(request, bank, topic))
            return trigger_client_event(answer, "drafts-changed", after="settle")
    inbox = selectors.inbox(bank, topic)
    return form_response(request, PAGE, inbox_context(request, bank, topic, inbox) | {"form": form})


@require_POST
def importance_accept(request: HtmxRequest, bank_id: int, suggestion_id: int) -> HttpResponse:
    suggestion = access.suggestion_for_editor(request.user, bank_id, suggestion_id)
    try:
        item = importance.accept_suggestion(suggestion, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"\u201c{item}\u201d is {suggestion.importance} now.")
    return after_decision(request, suggestion.request.bank, suggestion.request.topic)


@require_POST
def importance_leave(request: HtmxRequest, bank_id: int, suggestion_id: int) -> HttpResponse:
    suggestion = access.suggestion_for_editor(request.user, bank_id, suggestion_id)
    try:
        importance.leave_suggestion(suggestion, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    return after_decision(request, suggestion.request.bank, suggestion.request.topic)


@require_POST
def importances_accept(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Those that the person saw."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    seen = pks(request.POST.getlist("seen"))
    chosen = [row for row in importance.for_items(bank, topic) if row.pk in seen]
    count = importance.accept_suggestions(chosen, by=request.user)
    messages.success(request, f"{count} suggestion{'' if count == 1 else 's'} accepted.")
    return after_decision(request, bank, topic)
