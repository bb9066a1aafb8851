"""The settings of a collection, and its stream of live events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from asgiref.sync import sync_to_async
from django import forms
from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from rubricweb.accounts import roles
from rubricweb.core import streams
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus import access, actions
from rubricweb.corpus.models import Collection

SWITCHES = (
    *("public_counts_blind", "shows_run_tags", "requires_calibration"),
    *("assessors_edit", "assessors_grade"),
)


class CollectionSettingsForm(forms.Form):
    """Name, description, relevance level, and what assessors and boards may."""

    name = forms.CharField(max_length=200)
    description = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    min_relevant = forms.IntegerField(
        label="Relevance cutoff for human labels",
        min_value=1,
        max_value=10,
        help_text="Judgments at or above this value count as relevant. TREC DL and LLMJudge use 2.",
    )
    blind_sums = forms.ChoiceField(
        label="Boards and files for people with pairs to rate blind",
        choices=Collection.BlindSums.choices,
        required=False,
        help_text="Each pair appears once they have rated it. All other pages leave these pairs out.",
    )
    public_counts_blind = forms.BooleanField(
        label="Public boards count pairs that are still to be rated blind",
        required=False,
        help_text="Assessors can read public boards too, and could infer grades.",
    )
    shows_run_tags = forms.BooleanField(
        label="Assessors and viewers see the names of runs",
        required=False,
        help_text="Otherwise each run has a fixed pseudonym.",
    )
    requires_calibration = forms.BooleanField(
        label="Publish only calibrated boards",
        required=False,
        help_text="A board then needs a current calibration card, which compares its grader with people.",
    )
    assessors_edit = forms.BooleanField(
        label="Assessors may edit questions and nuggets",
        required=False,
        help_text="Except those that they still have to rate blind.",
    )
    assessors_grade = forms.BooleanField(label="Assessors may start grading", required=False)
    assessors_grade_up_to = forms.DecimalField(
        label="Limit per job started by an assessor, in US dollars",
        min_value=0,
        max_digits=8,
        decimal_places=2,
        required=False,
        help_text="Compared with the estimate beside Grade. Assessors cannot use models without a price.",
    )

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    """The digest of the settings that the writer started from."""

    def settings(self, collection: Collection) -> actions.CollectionSettings:
        """Return the settings of the valid form; what it does not have is as it was."""
        fields = self.cleaned_data
        return replace(
            actions.settings_of(collection),
            name=fields["name"],
            min_relevant=fields["min_relevant"],
            description=fields["description"].strip(),
            blind_sums=fields["blind_sums"] or Collection.BlindSums.LEFT_OUT,
            assessors_grade_up_to=fields["assessors_grade_up_to"] or Decimal(0),
            **{name: fields[name] for name in SWITCHES},
        )


def settings_form(collection: Collection, posted: Mapping[str, Any] | None = None) -> CollectionSettingsForm:
    """Return the form with what was posted, or with the present settings."""
    names = [name for name in CollectionSettingsForm.base_fields if name != "seen"]
    initial: dict[str, Any] = {name: getattr(collection, name) for name in names}
    return CollectionSettingsForm(posted, initial={**initial, "seen": actions.settings_digest(collection)})


@require_safe
async def collection_events(request: HtmxRequest, slug: str) -> StreamingHttpResponse:
    """Stream the names of the collection's events to its members.

    `since` is when the page was requested: if nothing happened since, the page need not refresh.
    """
    user = await request.auser()
    collection = await sync_to_async(access.collection_for)(user, slug)
    return streams.stream(collection.channel, since=seconds(request.GET.get("since", "")))


def seconds(text: str) -> float | None:
    """Return a Unix time as an address has it; None for anything else."""
    return float(text) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text) else None


@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = settings_form(collection, request.POST or None)
    if form.is_bound and form.is_valid():
        try:
            actions.change_settings(
                collection, form.settings(collection), by=request.user, seen=form.cleaned_data["seen"]
            )
        except actions.SettingsChanged:
            return _conflicting_settings(request, slug)
        messages.success(request, "Settings saved.")
        return redirect("corpus:settings", slug)
    return _settings_page(request, collection, form)


def _conflicting_settings(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show what was posted over the present settings, with their digest, so that it can be saved again."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    posted = request.POST.copy()
    posted["seen"] = actions.settings_digest(collection)
    response = _settings_page(request, collection, settings_form(collection, posted), has_conflict=True)
    response.status_code = 409
    return response


def _settings_page(
    request: HtmxRequest, collection: Collection, form: CollectionSettingsForm, *, has_conflict: bool = False
) -> HttpResponse:
    context = {"has_conflict": has_conflict, "collection": collection, "settings_form": form, "form": form}
    return form_response(request, "corpus/settings.html", context)
