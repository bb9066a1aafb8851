"""The page of support: its board, its jobs, and how far people agree with models."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from grading.statistics.linear_estimate import METHOD, MIN_UNITS
from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.jobs.listing import JobLine, Stage, lines_of
from rubricweb.support import actions, labelling
from rubricweb.support.agreement import agreement
from rubricweb.support.board import board as board_of
from rubricweb.support.columns import column_names
from rubricweb.support.estimates import estimates
from rubricweb.support.forms import BoardForm, SettingsForm
from rubricweb.support.listed import LISTING
from rubricweb.support.models import CITATIONS

PAGE = "support/board.html"


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Runs by the labels of one model or of people."""
    collection = collection_for(request.user, slug)
    form = BoardForm(request.GET)
    rater, rule = form.offer(collection)
    context = _place(collection) | {"form": form, "rater": rater, "rule_words": dict(CITATIONS)[rule]}
    context["columns"] = column_names(rater, rule)
    context["query"] = urlencode({"rater": rater.key, "citations": rule})
    context |= {"board": board_of(collection, rater, rule), "agreement": agreement(collection)}
    context |= {
        "estimates": estimates(collection, rater, rule),
        "method": METHOD,
        "min_units": MIN_UNITS,
    }
    context |= {"jobs": _jobs(request, collection)}
    context |= {"settings_form": _settings_form(collection)}
    return page_or_part(request, PAGE, context, part="support")


@require_POST
def choose(request: HtmxRequest, slug: str) -> HttpResponse:
    """What people who label are asked, and what they see first."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _settings_form(collection, request.POST)
    if form.is_valid():
        actions.choose(collection, **form.cleaned_data, by=request.user)
        messages.success(request, gettext("Saved."))
    return redirect(reverse("support:board", args=[slug]) + "#labelling")


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "leaderboard", "tab": "support"}


def _jobs(request: HtmxRequest, collection: Collection) -> list[JobLine]:
    """Those that have not ended; else the latest. None for those who may not open them."""
    if not roles.holds(request.user, collection, roles.TO_SEE_RUNS):
        return []
    lines = [replace(line, acts=()) for line in lines_of(LISTING, LISTING.jobs(collection.pk))]
    return [line for line in lines if line.stage != Stage.ENDED] or lines[:1]


def _settings_form(collection: Collection, sent: Context | None = None) -> SettingsForm:
    chosen = labelling.settings_of(collection)
    initial = {
        "citations": chosen.citations,
        "sample": chosen.sample,
        "shown_judge": chosen.shown_judge_id,
    }
    form = SettingsForm(sent, initial=initial, auto_id="labelling_%s")
    form.fields["shown_judge"].queryset = collection.support_judges.all()  # type: ignore[attr-defined]
    return form
