"""The answer key of a question. Changing it verifies stored answers again."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_http_methods

from rubricweb.accounts import roles
from rubricweb.banks import access
from rubricweb.banks import selectors as banks
from rubricweb.banks.errors import Conflict
from rubricweb.banks.models import Item
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.editor.item_forms import AnswerKeyForm, answer_key_form
from rubricweb.editor.views.items import PAGE, after_change, item_panel
from rubricweb.grades.verification import VerificationCounts, change_answer_key


@require_http_methods(["GET", "HEAD", "POST"])
def item_answer_key(request: HtmxRequest, bank_id: int, item_id: int) -> HttpResponse:
    """Show the accepted answers; topic developers may change them."""
    is_change = request.method == "POST"
    item = (access.item_for_editor if is_change else access.item_for)(request.user, bank_id, item_id)
    if item.kind != Item.Kind.QUESTION or not item.revision.text:
        raise Http404("Only a question with text has an answer key.")
    form = answer_key_form(item, sent=request.POST if is_change else None)
    if not form.is_valid():
        return _shown(request, item, form)
    mine, seen = form.cleaned_data["texts"], form.cleaned_data["seen"]
    try:
        verified = change_answer_key(item, texts=mine, seen=seen, by=request.user)
    except Conflict as conflict:
        return _both_keys(request, conflict.item, mine)
    messages.success(request, _saved(verified))
    return after_change(request, item)


def _shown(
    request: HtmxRequest, item: Item, form: AnswerKeyForm, *, mine: list[str] | None = None
) -> HttpResponse:
    context = item_panel("answer_key", "Answer key", item, form) | {
        "can_edit": roles.may_edit(request.user, item.bank.collection) and not item.is_retired,
        "mine": mine,
        "theirs": banks.last_change(item) if mine is not None else None,
    }
    return form_response(request, PAGE, context, status=0 if mine is None else 409)


def _both_keys(request: HtmxRequest, item: Item, mine: list[str]) -> HttpResponse:
    """The other person's key above the user's own; the form now carries the version seen."""
    return _shown(request, item, answer_key_form(item, mine=mine), mine=mine)


def _saved(verified: VerificationCounts) -> str:
    parts = ["Answer key saved"]
    if verified.answers:
        some = "1 stored answer" if verified.answers == 1 else f"{verified.answers:,} stored answers"
        parts.append(f"{some} checked again, {verified.changed:,} with another verdict")
    if verified.removed:
        some = "1 grade" if verified.removed == 1 else f"{verified.removed:,} grades"
        parts.append(f"{some} by a model that had read the old key removed, which need grading again")
    return "; ".join(parts) + "."
