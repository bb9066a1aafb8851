"""Calibration cards for a grader beside people: make one, download it, show its badge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.statistics.diagnostics import families
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_rows
from rubricweb.core.http import HtmxRequest, download
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import sees_names
from rubricweb.graders import calibration_cards as calibration
from rubricweb.graders.calibration_cards import (
    CalibrationStatus,
    agreement,
    hides_numbers,
    since,
    status,
    status_of,
)
from rubricweb.graders.models import CalibrationCard
from rubricweb.graders.rated_cells import shared_cells
from rubricweb.grades import visibility
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import all_banks, graders_of

if TYPE_CHECKING:
    BankChoice = forms.ModelChoiceField[Bank]
    GraderChoice = forms.ModelChoiceField[GraderConfig]
else:
    BankChoice = GraderChoice = forms.ModelChoiceField


Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class CalibratedGrader:
    """A grader that graded items of a bank."""

    bank: Bank
    config: GraderConfig
    status: CalibrationStatus
    cells: int | None
    """Number of cells that the grader and people rated; None for readers from whom cells are hidden."""


def pairs(collection: Collection) -> Iterator[tuple[Bank, GraderConfig]]:
    """Return each bank with each grader that rates its items."""
    for bank in all_banks(collection):
        for config in graders_of(bank, (Purpose.RATE,)):
            yield bank, config


def calibrated(collection: Collection) -> list[CalibratedGrader]:
    """Return each grader of each bank with its card, and the size of a new card's sample."""
    is_hidden = bool(visibility.hidden_count(collection.pk))
    return [
        CalibratedGrader(
            bank, config, status(bank, config), None if is_hidden else len(shared_cells(bank, config))
        )
        for bank, config in pairs(collection)
    ]


def bias_by_runs(card: CalibrationCard) -> list[Json]:
    """Return the card's bias for those families of runs that count now."""
    counting = families(collection_pool(card.bank.collection).run_tags)
    return [row for row in card.result["by_runs"] if row["name"] in counting]


def card_for(user: User, slug: str, card_id: int) -> CalibrationCard:
    """Return the card. Raises Refused for readers from whom cells that it counts are hidden."""
    collection = collection_for(user, slug)
    cards = CalibrationCard.objects.select_related("bank__collection", "config", "by")
    card: CalibrationCard = get_object_or_404(cards, pk=card_id, bank__collection=collection)
    if hides_numbers(card.bank):
        raise visibility.Refused("Calibration cards open for you once you have rated your blind pairs.")
    return card


def opened_card(user: User, slug: str, card_id: int) -> Json:
    """Return a card for "How sure are we": its sample, its numbers, and the agreement since."""
    card = card_for(user, slug, card_id)
    later = since(card)
    return {
        "card": card,
        "status": status_of(card),
        "result": card.result,
        "since": {"cells": later.cells, "topics": later.topics, **agreement(later)} if later else None,
        "by_runs": bias_by_runs(card) if sees_names(user, card.bank.collection) else [],
    }


def card_document(card: CalibrationCard, *, with_runs: bool) -> Json:
    """Return the card for other programs, with bias by runs only for readers who may see their names."""
    config, now = card.config, status_of(card)
    document = {name: value for name, value in card.result.items() if name != "by_runs"}
    return {
        "collection": card.bank.collection.slug,
        "bank": card.bank.name,
        "items": len(card.items),
        "grader": {
            "fingerprint": config.fingerprint,
            "backend": config.backend,
            "llm": config.llm,
            "prompt": config.prompt_class,
        },
        "made": card.at.isoformat(),
        "is_current": now.is_current,
        "items_changed": now.n_changed,
        **document,
        **({"by_runs": bias_by_runs(card)} if with_runs else {}),
    }


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
def card_file(request: HtmxRequest, slug: str, card_id: int) -> HttpResponseBase:
    """Return the card as JSON."""
    card = card_for(request.user, slug, card_id)
    document = card_document(card, with_runs=sees_names(request.user, card.bank.collection))
    text = json.dumps(document, cls=DjangoJSONEncoder, indent=1, ensure_ascii=False)
    return download(text, name=f"calibration-{card.pk}.json", content_type="application/json")


@require_safe
def badge(request: HtmxRequest, slug: str, card_id: int) -> HttpResponse:
    """Return the card's one-line summary as a picture."""
    card = card_for(request.user, slug, card_id)
    context = {"status": calibration.status_of(card), "kappa": card.result["kappa"]["value"]}
    return render(request, "graders/badge.svg", context, content_type="image/svg+xml")
