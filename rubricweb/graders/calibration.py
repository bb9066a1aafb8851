"""Calibration cards for a grader beside people: make one, download it, show its badge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_rows
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import sees_names
from rubricweb.graders import calibration_cards as calibration
from rubricweb.graders.access import card_for
from rubricweb.graders.calibration_selectors import card_document, pairs
from rubricweb.grades.models import GraderConfig

if TYPE_CHECKING:
    BankChoice = forms.ModelChoiceField[Bank]
    GraderChoice = forms.ModelChoiceField[GraderConfig]
else:
    BankChoice = GraderChoice = forms.ModelChoiceField


class CardForm(forms.Form):
    """Choice of a bank of the collection, and of a grader with grades of its items."""

    bank = BankChoice(Bank.objects.none())
    config = GraderChoice(GraderConfig.objects.none())

    def offer(self, collection: Collection) -> None:
        self._pairs = {(bank.pk, config.pk) for bank, config in pairs(collection)}
        offer_rows(self, "bank", collection.banks.select_related("collection"))
        offer_rows(self, "config", GraderConfig.objects.filter(pk__in=[pk for _, pk in self._pairs]))

    def clean(self) -> dict[str, object]:
        chosen = self.cleaned_data
        if not self.errors and (chosen["bank"].pk, chosen["config"].pk) not in self._pairs:
            raise forms.ValidationError("no grades")
        return chosen


@require_POST
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Compare a grader with people as of now."""
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
    """Return the card as JSON."""
    card = card_for(request.user, slug, card_id)
    document = card_document(card, with_runs=sees_names(request.user, card.bank.collection))
    response = JsonResponse(document, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="calibration-{card.pk}.json"'
    return response


@require_safe
def badge(request: HtmxRequest, slug: str, card_id: int) -> HttpResponse:
    """Return the card's one-line summary as a picture."""
    card = card_for(request.user, slug, card_id)
    context = {"status": calibration.status_of(card), "kappa": card.found["kappa"]["value"]}
    return render(request, "graders/badge.svg", context, content_type="image/svg+xml")
