"""A new campaign: three questions and a live preview; everything else has an answer, under Details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import roles
from rubricweb.banks.models import Bank
from rubricweb.campaigns.errors import UnfitCampaign
from rubricweb.campaigns.queue import actions, preview, selectors
from rubricweb.campaigns.queue.forms import CampaignForm, members_who_rate
from rubricweb.campaigns.queue.models import Campaign
from rubricweb.campaigns.queue.selectors import LEAST_SECONDS
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import banks

if TYPE_CHECKING:
    from django.http import QueryDict

PAGE = "campaigns/queue/campaign_new.html"
SAMPLE = 400
QUESTIONS = {
    "right": "Is the grader right? A random sample over all grades and topics.",
    "runs": "Settle close runs: first the grades whose errors could swap neighbouring runs.",
    "gaps": "Fill gaps: pairs where the grader failed or was unsure.",
}
PRESETS: dict[str, dict[str, Any]] = {
    "right": {"cells": Campaign.Cells.ALL, "order": Campaign.Order.RANDOM, "random_percent": 100},
    "runs": {"cells": Campaign.Cells.ALL, "order": Campaign.Order.LEADERBOARD, "random_percent": 20},
    "gaps": {"cells": Campaign.Cells.UNSURE, "order": Campaign.DEFAULT_ORDER, "random_percent": 20},
}
"""What each question says of the cells; Details may say otherwise."""
MODES = {
    Campaign.Mode.BLIND: "Blind: people see the grade only after their own. Needed to judge the grader.",
    Campaign.Mode.ASSISTED: "Assisted: people see the grade. A third faster, but they tend to follow it.",
    Campaign.Mode.MIXED: "Mixed: half and half at random. Measures how far the grade sways people.",
}
AS_ASKED = ("", "as chosen in question 1")


def _sample_label(cells: int) -> str:
    """The time at the least pace, and the widest 95 % interval of a share of so many cells."""
    minutes, points = cells * LEAST_SECONDS / 60, 98 / cells**0.5
    time = f"{minutes:.0f} min" if minutes < 60 else f"{minutes / 60:.1f} h"
    return f"{cells} pairs: {time}, shares to within {points:.0f} points"


class NewCampaignForm(CampaignForm):
    """The three questions; what is left empty under Details follows from them."""

    question = forms.ChoiceField(
        label="What do you want to know?",
        choices=list(QUESTIONS.items()),
        initial="right",
        required=False,
        widget=forms.RadioSelect,
    )
    sample = forms.TypedChoiceField(
        label="Sample",
        choices=[(cells, _sample_label(cells)) for cells in (100, 200, SAMPLE, 800)],
        coerce=int,
        empty_value=None,
        initial=SAMPLE,
        required=False,
        widget=forms.RadioSelect,
    )
    hours = forms.FloatField(
        label="Hours each",
        min_value=0.1,
        max_value=1_000,
        required=False,
        help_text="Optional. The sample shrinks to what fits, at 15 s a rating.",
    )

    def __init__(self, collection: Collection, banks: list[Bank], sent: QueryDict | None = None) -> None:
        super().__init__(collection, banks, sent)
        self.collection = collection
        for name in ("cells", "order", "random_percent"):
            self.fields[name].required = False
        for name in ("cells", "order"):
            field = self.fields[name]
            field.choices = [AS_ASKED, *field.choices]  # type: ignore[attr-defined]
            field.widget = forms.Select(choices=field.choices)  # type: ignore[attr-defined]
        for name in ("cells", "order", "random_percent", "size"):
            self.fields[name].initial = None
        if sent is None:
            self.fields["name"].initial = self._free_name()
        self.fields["size"].help_text = "Instead of the sample above."
        self.fields["mode"].label = "Blind or not?"
        self.fields["mode"].choices = list(MODES.items())  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        question = cleaned.get("question") or "right"
        for name, value in PRESETS[question].items():
            if name not in self.errors and cleaned.get(name) in (None, ""):
                cleaned[name] = value
        if not set(self.errors) - {"name"}:
            cleaned["size"] = self._size(cleaned)
        return super().clean()

    def _size(self, cleaned: dict[str, Any]) -> int | None:
        size: int | None = cleaned["size"] or cleaned["sample"]
        if not cleaned["hours"]:
            return size
        people = len(cleaned["people"]) or members_who_rate(self.collection).count()
        fits = int(cleaned["hours"] * 3_600 / LEAST_SECONDS * people / cleaned["assessors"])
        return max(1, min(size or fits, fits))

    def _free_name(self) -> str:
        """Return a name that no campaign has yet; the page sends it, so that sent twice it opens one."""
        base = f"Check of {timezone.localdate():%-d %B}"
        taken = set(self.collection.campaigns.values_list("name", flat=True))
        names = (base, *(f"{base} ({number})" for number in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)


@require_http_methods(["GET", "HEAD", "POST"])
def campaign_new(request: HtmxRequest, slug: str) -> HttpResponse:
    """Ask the three questions; POST opens the campaign."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = NewCampaignForm(collection, banks(collection), request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            campaign = actions.open_campaign(form.choice, form.plan, by=request.user)
        except UnfitCampaign as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Campaign opened: {counted(campaign.cells.count(), 'pair')}.")
            return redirect("campaigns:campaign", slug, campaign.pk)
    return form_response(request, PAGE, {"collection": collection, "form": form})


@require_POST
def campaign_preview(request: HtmxRequest, slug: str) -> HttpResponse:
    """Say what the campaign would ask of people and settle, as far as its form is filled in."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = NewCampaignForm(collection, banks(collection), request.POST)
    context: dict[str, Any] = {"collection": collection, "form": form}
    if form.can_preview():
        everybody = members_who_rate(collection).count()
        seconds = form.cleaned_data.get("seconds")
        context |= {
            "preview": preview.preview(form.choice, form.plan, everybody=everybody, seconds=seconds),
            "drawn": selectors.drawn_rows(collection, form.drawn_topics()),
            "follows_grader": form.cleaned_data["question"] == "right"
            and form.cleaned_data["mode"] != Campaign.Mode.BLIND,
        }
    return render(request, "campaigns/queue/_preview.html" if request.htmx else PAGE, context)
