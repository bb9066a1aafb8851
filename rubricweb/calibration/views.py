"""A grader beside people: make a card, its file and its badge. "How sure are we" shows it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.calibration import cards as calibration
from rubricweb.calibration.access import card_for
from rubricweb.calibration.forms import CardForm
from rubricweb.calibration.selectors import card_document
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.pseudonyms import sees_names


@require_POST
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Compare a grader with people, now."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = CardForm(request.POST)
    form.offer(collection)
    if not form.is_valid():
        messages.error(request, "This grader has not graded that rubric.")
        return redirect(reverse("leaderboards:sure", args=[slug]) + "#cards")
    try:
        made = calibration.make_card(**form.cleaned_data, by=request.user)
    except calibration.TooFewCells as error:
        messages.error(request, str(error))
        return redirect(reverse("leaderboards:sure", args=[slug]) + "#cards")
    return redirect(f"{reverse('leaderboards:sure', args=[slug], query={'card': made.pk})}#card")


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
