"""A grader beside people: make a card, show it, its file and its badge."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.calibration import cards as calibration
from rubricweb.calibration.access import card_for
from rubricweb.calibration.documents import agreement
from rubricweb.calibration.forms import CardForm
from rubricweb.calibration.selectors import bias_by_runs, card_document
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.pseudonyms import sees_names

PLACE: dict[str, object] = {"section": "leaderboard", "tab": "sure"}


@require_POST
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Compare a grader with people, now."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = CardForm(request.POST)
    form.offer(collection)
    if not form.is_valid():
        messages.error(request, "This grader has not graded that bank.")
        return redirect(reverse("leaderboards:sure", args=[slug]) + "#cards")
    try:
        made = calibration.make_card(**form.cleaned_data, by=request.user)
    except calibration.TooFewCells as error:
        messages.error(request, str(error))
        return redirect(reverse("leaderboards:sure", args=[slug]) + "#cards")
    return redirect("calibration:card", slug, made.pk)


@require_safe
def card(request: HtmxRequest, slug: str, card_id: int) -> HttpResponse:
    """What was found, on which sample, and what is known since."""
    shown = card_for(request.user, slug, card_id)
    later = calibration.since(shown)
    context = {
        "collection": shown.bank.collection,
        "card": shown,
        "status": calibration.status_of(shown),
        "found": shown.found,
        "since": {"cells": later.cells, "topics": later.topics, **agreement(later)} if later else None,
        "by_runs": bias_by_runs(shown) if sees_names(request.user, shown.bank.collection) else [],
    }
    return render(request, "calibration/card.html", PLACE | context)


@require_safe
def card_file(request: HtmxRequest, slug: str, card_id: int) -> HttpResponse:
    """The card as JSON."""
    shown = card_for(request.user, slug, card_id)
    document = card_document(shown, with_runs=sees_names(request.user, shown.bank.collection))
    response = JsonResponse(document, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="calibration-{shown.pk}.json"'
    return response


@require_safe
def badge(request: HtmxRequest, slug: str, card_id: int) -> HttpResponse:
    """The card in one line, as a picture."""
    shown = card_for(request.user, slug, card_id)
    context = {"status": calibration.status_of(shown), "kappa": shown.found["kappa"]["value"]}
    return render(request, "calibration/badge.svg", context, content_type="image/svg+xml")
