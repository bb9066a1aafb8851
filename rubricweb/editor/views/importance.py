"""Importances that a model suggests for nuggets, beside the inbox."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST

from rubricweb.accounts import roles
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.drafting import access, importance
from rubricweb.banks.errors import BankError
from rubricweb.core.http import HtmxRequest, parse_ids
from rubricweb.editor.draft_forms import drafting_form
from rubricweb.editor.views.drafts import after_decision, after_request


@require_POST
def importance_request(request: HtmxRequest, bank_id: int, topic_id: int) -> HttpResponse:
    """Ask a model which of the topic's nuggets are vital."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    form = drafting_form(topic, sent=request.POST)

    def ask() -> str:
        options = form.options()
        named = {"backend": options.backend, "llm": options.llm}
        made = importance.request_importance(bank, topic, **named, by=request.user)
        return f"{made.llm} was asked for the importance of the nuggets."

    return after_request(request, (bank, topic), form, ask)


@require_POST
def importance_accept(request: HtmxRequest, bank_id: int, suggestion_id: int) -> HttpResponse:
    suggestion = access.suggestion_for_editor(request.user, bank_id, suggestion_id)
    try:
        item = importance.accept_suggestion(suggestion, by=request.user)
    except BankError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(
            request,
            gettext("“%(item)s” is %(importance)s now.")
            % {"item": item, "importance": suggestion.importance},
        )
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
    """Accept the suggestions that the user saw."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id, needed=roles.TO_EDIT_BANK)
    seen = parse_ids(request.POST.getlist("seen"))
    chosen = [row for row in importance.for_items(bank, topic) if row.pk in seen]
    count = importance.accept_suggestions(chosen, by=request.user)
    messages.success(
        request,
        ngettext("%(count)s suggestion accepted.", "%(count)s suggestions accepted.", count)
        % {"count": count},
    )
    return after_decision(request, bank, topic)
