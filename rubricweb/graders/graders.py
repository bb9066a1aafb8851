"""The graders' page: the state of each here, a try on five pairs beside people's grades, and the choice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import OuterRef, QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading import plugins
from grading.errors import GradingError
from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.campaigns.selectors import check_address
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part, parse_id, part_or_redirect
from rubricweb.corpus import actions as corpus
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Run
from rubricweb.graders import dry_runs, prompts
from rubricweb.graders.calibration_cards import hides_numbers
from rubricweb.graders.calls import calls_compared
from rubricweb.graders.choices import (
    CardState,
    GraderCard,
    GraderChoiceForm,
    card_of,
    cards,
    grader_form,
    server_models,
    state_of,
)
from rubricweb.graders.kept import kept_context, replies_form
from rubricweb.graders.models import CalibrationCard
from rubricweb.graders.panels import announced, new_panel_form, panels_context
from rubricweb.graders.rationales import rationales_context
from rubricweb.graders.trials import five_samples, trial_context
from rubricweb.grades.configs import planned_configs
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.missing import asked_cells
from rubricweb.grades.engine.price import price
from rubricweb.grades.engine.progress import expected_rate
from rubricweb.grades.engine.stages import stages
from rubricweb.grades.panel_making import form_panel
from rubricweb.grades.panels import CannotForm
from rubricweb.grades.replies import keep_replies
from rubricweb.jobs.progress import Price

PAGE = "graders/graders.html"


@dataclass(frozen=True, slots=True)
class CardRow:
    """A card in the list."""

    card: GraderCard
    state: CardState
    rate: float | None
    """Pairs per second measured here."""
    kappa: Mapping[str, Any] | None
    """Agreement with people on one bank: value, low, high, cells; None without a calibration card."""
    is_in_use: bool
    check: str
    """The address of a new campaign that checks the grader in use; empty for others."""

    @property
    def rate_words(self) -> str:
        if not self.rate:
            return ""
        return f"about {self.rate:,.0f} pairs/s" if self.rate >= 3 else f"about {self.rate:.1f} pairs/s"


@dataclass(frozen=True, slots=True)
class Consequence:
    """The work that using the grader would take, shown before the choice is made."""

    pairs: int
    graded: int
    price: Price | None
    runs: int
    """Runs that the grades could move; 0 where none is missing."""


@require_safe
def graders(request: HtmxRequest, slug: str) -> HttpResponse:
    """List every grader with its state, opening the chosen one, or the one in use, with its last try."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    return page_or_part(request, PAGE, _context(request, collection), part="grader")


@require_safe
def trial(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the progress of a try."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    page = reverse("graders:graders", args=[slug])
    return part_or_redirect(request, "graders/_trial.html", trial_context(collection, request.GET), to=page)


@require_POST
def attempt(request: HtmxRequest, slug: str) -> HttpResponse:
    """Queue a try on five pairs; none of its results are kept as grades."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = _context(request, collection, request.POST)
    form: GraderChoiceForm = context["form"]
    if not form.is_valid():
        return form_response(request, PAGE, context, part="grader")
    seed = parse_id(request.POST.get("seed", "0") or "0") + 1
    samples = five_samples(collection, form.chosen(), seed)
    if not samples:
        form.add_error(None, "Nothing to try it on yet: import topics and passages, and write a question.")
        return form_response(request, PAGE, context, part="grader")
    tries = [
        dry_runs.start_dry_run(
            collection, prompt, sample, backend=form.backend.name, llm=form.llm, by=request.user
        )
        for prompt, sample in samples
    ]
    query = {"card": context["card"].key, "seed": seed, "tries": ",".join(str(each.pk) for each in tries)}
    query |= {"backend": form.backend.name, "llm": form.llm, "prompt": form.cleaned_data["grader_prompts"]}
    return redirect(f"{reverse('graders:graders', args=[slug])}?{urlencode(query, doseq=True)}")


@require_POST
def use(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade the collection with this grader from now on; earlier grades are kept."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    context = _context(request, collection, request.POST)
    form: GraderChoiceForm = context["form"]
    if not form.is_valid():
        return form_response(request, PAGE, context, part="grader")
    corpus.change_settings(collection, form.settings(collection), by=request.user)
    return redirect(f"{reverse('graders:graders', args=[slug])}?card={context['card'].key}")


@require_POST
def ask_server(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the models of the model server."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    names, problem = server_models()
    if problem:
        messages.error(request, problem)
    else:
        messages.success(request, f"The server answers: {', '.join(names) or 'it does not list its models'}.")
    return redirect(f"{reverse('graders:graders', args=[collection.slug])}?card=server")


@require_POST
def form_new_panel(request: HtmxRequest, slug: str) -> HttpResponse:
    """Make a panel and combine what its members have graded."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = new_panel_form(collection, request.POST)
    if form.is_valid():
        try:
            started = form_panel(collection, form.groups, form.choice, by=request.user)
        except (CannotForm, GradingError) as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, announced(started))
            return redirect(f"{reverse('graders:graders', args=[slug])}#panels")
    return _refused(request, collection, {"panel_form": form})


@require_POST
def replies(request: HtmxRequest, slug: str) -> HttpResponse:
    """Set how long replies are kept; a worker drops older ones."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = replies_form(collection, request.POST)
    if not form.is_valid():
        return _refused(request, collection, {"replies_form": form})
    keep_replies(collection, form.cleaned_data["days"], by=request.user)
    messages.success(request, "Saved.")
    return redirect("graders:graders", slug)


def _refused(request: HtmxRequest, collection: Collection, filled_in: Context) -> HttpResponse:
    """Show the page again, with a form of it as it was filled in and what is wrong."""
    context = {**_context(request, collection), **filled_in}
    return form_response(request, PAGE, context, part="grader", status=422)


def _context(request: HtmxRequest, collection: Collection, submitted: Any = None) -> Context:
    query = request.GET if submitted is None else submitted
    card = next((each for each in cards() if each.key == query.get("card")), card_of(collection))
    workers = monitor.workers().beats
    fields = submitted if submitted is not None else _tried(query)
    form = grader_form(collection, card, workers, fields, preset=query.get("preset", ""))
    has_sent = form.is_bound and submitted is None
    rows = _rows(collection, workers)
    context = {
        "collection": collection,
        "rows": rows,
        "faulty": [each for each in plugins.loaded() if each.problem],
        "card": card,
        "card_state": next(row.state for row in rows if row.card == card),
        "form": form,
        "is_own": card == card_of(collection),
        "recommended": _recommended(card),
        "seed": query.get("seed", "0"),
        **trial_context(collection, query),
        **prompts.listed(collection),
        **kept_context(collection),
        **panels_context(collection),
        **({} if request.htmx else rationales_context(collection)),
        "compared_calls": [] if request.htmx else calls_compared(collection),
    }
    if not form.is_bound or (has_sent and form.is_valid()):
        context["consequence"] = _consequence(collection, form, workers)
    return context


def _tried(query: Any) -> dict[str, Any] | None:
    """Return the fields of the last try as submitted; None without a try."""
    if not query.get("tries"):
        return None
    return {
        "grader_backend": query.get("backend", ""),
        "grader_llm": query.get("llm", ""),
        "grader_prompts": query.getlist("prompt"),
    }


def _rows(collection: Collection, workers: Sequence[Any]) -> list[CardRow]:
    in_use = card_of(collection)
    llms = [collection.grader_llm if card == in_use else card.llm for card in cards()]
    calibrated = {card.config.llm: card for card in _latest_cards(collection.pk, tuple(llms))}
    return [
        CardRow(
            card,
            state_of(card, workers),
            kappa=_kappa(calibrated.get(llm)),
            is_in_use=card == in_use,
            **_measured(collection, card, llm, is_in_use=card == in_use),
        )
        for card, llm in zip(cards(), llms, strict=True)
    ]


def _measured(collection: Collection, card: GraderCard, llm: str, *, is_in_use: bool) -> dict[str, Any]:
    drafts = planned_configs(_supposed(collection, card.backends[0], llm)) if llm else []
    rates = (rate.cells for rate in map(expected_rate, drafts) if not rate.is_guess)
    rating = next((config for config in drafts if config.purpose == Purpose.RATE), None)
    check = check_address(collection, rating) if is_in_use and rating and rating.pk > 0 else ""
    return {"rate": next(rates, None), "check": check}


def _supposed(collection: Collection, backend: str, llm: str) -> Collection:
    if backend == collection.grader_backend and llm == collection.grader_llm:
        return collection
    supposed = copy(collection)
    supposed.grader_backend, supposed.grader_llm = backend, llm
    supposed.grader_prompts, supposed.grader_options = [], {}
    return supposed


def _kappa(card: CalibrationCard | None) -> Mapping[str, Any] | None:
    """Return kappa from the card, if the reader has nothing left to rate blind."""
    if card is None or hides_numbers(card.bank) or card.result["kappa"]["value"] is None:
        return None
    return {**card.result["kappa"], "cells": card.result["sample"]["cells"]}


@compiled_once
def _latest_cards(collection: int, llms: tuple[str, ...]) -> QuerySet[CalibrationCard]:
    """Return the latest calibration card of each model."""
    here = CalibrationCard.objects.filter(bank__collection=collection, config__llm__in=llms)
    same = CalibrationCard.objects.filter(bank__collection=collection, config__llm=OuterRef("config__llm"))
    return here.filter(pk=same.values("pk")[:1]).select_related("bank", "config")


def _recommended(card: GraderCard) -> list[str]:
    """Return short labels of the back-end's own rating prompts: "How far ..., 0 to 5"."""
    own = (prompt for prompt in card.backend.choices if prompt.prompt_class in card.backend.prompt_classes)
    return [
        f"{re.split('[,;:]', prompt.summary)[0]}{', {} to {}'.format(*prompt.scale) if prompt.scale else ''}"
        for prompt in own
        if prompt.purpose is not Purpose.EXTRACT
    ]


def _consequence(collection: Collection, form: GraderChoiceForm, workers: Sequence[Any]) -> Consequence:
    if form.is_bound:
        collection = form.applied(collection)
    else:
        backend, llm = (str(form[name].value()) for name in ("grader_backend", "grader_llm"))
        collection = _supposed(collection, backend, llm or form.initial["grader_llm"])
    configs = planned_configs(collection)
    plan = stages(collection, configs)
    rating = [config for config in configs if config.purpose != Purpose.EXTRACT] or configs
    missing = sum(each.cells for each in plan.all if each.config in rating)
    every = sum(each.cells for each in asked_cells(collection, rating))
    runs = len(_accepted_runs(collection.pk)) if missing else 0
    time = price(collection, plan.all, list(workers)) if missing else None
    return Consequence(missing, max(0, every - missing), time, runs)


@compiled_once
def _accepted_runs(collection: int) -> QuerySet[Run, int]:
    return Run.objects.accepted().filter(collection=collection).order_by().values_list("pk", flat=True)
